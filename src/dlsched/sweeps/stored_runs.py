"""The runs of a store, compared with what is known, some instances at a time."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dlsched.api.comparing import as_comparison
from dlsched.api.records import result_from_data
from dlsched.display.table import COLUMNS, Row, compared_columns
from dlsched.errors import InstanceError, describe
from dlsched.registry.labels import distinguish
from dlsched.results import performance_profiles as profiles
from dlsched.results.result import Result
from dlsched.sweeps.store import Store

if TYPE_CHECKING:
    from dlsched.display.comparison import Comparison

_EVALUATED = 500
"""Runs that are evaluated at once, if not more are of one instance."""


def evaluate_rows(rows: Iterable[Row]) -> list[Row]:
    """Compare every run with the best bound known for its instance, in the sweep or the library.

    Parameters
    ----------
    rows
        Rows of the store, with their records.

    Returns
    -------
    list
        The rows without the records, with all columns of `dlsched.display.table.COLUMNS`.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    rows = list(rows)
    groups: dict[tuple[str | None, ...], list[tuple[int, Result]]] = defaultdict(list)
    for i, row in enumerate(rows):
        result = _result(row)
        if result is not None:
            model = result.variant and result.variant.model_sha256
            groups[row["instance_sha256"], row.get("variant_sha256"), model].append((i, result))
    columns: dict[int, Row] = {}
    for group in groups.values():
        labels = [profiles.label_of(rows[i]) for i, _ in group]
        found = compared_columns([result for _, result in group], labels)
        columns |= {i: line for (i, _), line in zip(group, found, strict=True)}
    failed = {"at_optimum": False, "refuted": ""}
    return [
        {name: value for name, value in row.items() if name != "record"} | columns.get(i, failed)
        for i, row in enumerate(rows)
    ]


def _result(row: Row) -> Result | None:
    if not row["record"]:
        return None
    try:
        return result_from_data(json.loads(row["record"]))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        where = f"the run of {row['method']} on {row['instance']}"
        what = f"has a damaged record ({describe(error)})"
        raise InstanceError("the sweep's results", where, what, "run it again") from None


def stored_runs(store: Store, more: Sequence[Row] = ()) -> Comparison:
    """Return all runs but simulations in the order of the plan, as `evaluate_rows` has them.

    A record is read for the evaluation of its instance, and then forgotten; 100,000 rows are never
    there as dicts.

    Parameters
    ----------
    store
        The results.
    more
        Rows below these.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    import pandas as pd

    places = store.places()
    names = [row["instance"] for row in distinguish(places)]
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, place in enumerate(places):
        groups[place["instance_sha256"]].append(i)
    keys = [place["key"] for place in places]
    del places
    columns: dict[str, list[Any]] = {}

    def put(i: int, row: Row) -> None:
        for name, value in row.items():
            if name not in columns:
                columns[name] = [None] * (len(keys) + len(more))
            # Versions, machine, reasons: many rows have the same.
            columns[name][i] = sys.intern(value) if type(value) is str else value

    for members in _together(groups.values()):
        rows = store.rows_of([keys[i] for i in members])
        for i, row in zip(members, evaluate_rows(rows), strict=True):
            put(i, row | {"instance": names[i]})
    for i, row in enumerate(more, start=len(keys)):
        put(i, row)
    order = list(COLUMNS)
    ordered = sorted(columns, key=lambda n: order.index(n if n in COLUMNS else "<level>"))
    frame = pd.DataFrame({name: pd.Series(columns.pop(name)) for name in ordered})
    return as_comparison(frame)


def _together(groups: Iterable[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the members of one or several groups: each is a query, and few are fast."""
    members: list[int] = []
    for group in groups:
        members += group
        if len(members) >= _EVALUATED:
            yield members
            members = []
    if members:
        yield members
