"""The runs of a store as tables: compared with what is known, instance by instance; and as CSV."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dlsched.api.comparing import as_comparison
from dlsched.api.records import result_from_data
from dlsched.display.table import COLUMNS, Row, compared_columns
from dlsched.registry.labels import distinguish
from dlsched.results import performance_profiles as profiles
from dlsched.results.result import Result
from dlsched.schema.files import replace_file
from dlsched.sweeps.simulations import reading_record, simulation_rows
from dlsched.sweeps.store import Store

if TYPE_CHECKING:
    import pandas

    from dlsched.display.comparison import Comparison

TABLE = "results.csv"
_PLACE = ("instance", "instance_sha256", "source")
_FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""First characters of formulas in a spreadsheet (OWASP, "CSV injection")."""
_ROWS = 5000
"""Rows that are converted to CSV at a time."""


def evaluate_rows(rows: Iterable[Row]) -> list[Row]:
    """Compare every run with the best bound known for its instance, in the sweep or the library.

    Records are taken out of the rows, which get all columns of `dlsched.display.table.COLUMNS`.

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
    with reading_record(row):
        return result_from_data(json.loads(row["record"]))


def stored_runs(store: Store, more: Sequence[Row] = ()) -> Comparison:
    """Return all runs but simulations in the order of the plan, as `evaluate_rows` has them.

    A record is read for the evaluation of its instance, and then forgotten; 100,000 rows are never
    there as dicts. `more` rows stand below.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    import pandas as pd

    columns: dict[str, list[Any]] = defaultdict(list)
    positions: list[float] = []

    def put(row: Row, position: float) -> None:
        for name, value in row.items():
            columns[name] += [None] * (len(positions) - len(columns[name]))
            # Versions, machine, reasons: many rows have the same.
            columns[name].append(sys.intern(value) if type(value) is str else value)
        positions.append(position)

    for _, group in itertools.groupby(store.by_instance(), itemgetter("instance_sha256")):
        rows = list(group)
        at = [row.pop("position") for row in rows]
        for row, position in zip(evaluate_rows(rows), at, strict=True):
            put(row, position)
    named = zip(*(columns[name] for name in _PLACE), strict=True)
    places = [dict(zip(_PLACE, place, strict=True)) for place in named]
    columns["instance"] = [row["instance"] for row in distinguish(places)]
    for row in more:
        put(row, math.inf)
    order = list(COLUMNS)
    ordered = sorted(columns, key=lambda n: order.index(n if n in COLUMNS else "<level>"))
    frame = pd.DataFrame({name: pd.Series(columns.pop(name)) for name in ordered})
    sequence = pd.Series(positions).argsort(kind="stable")
    return as_comparison(frame.iloc[sequence].reset_index(drop=True))


def write_table(store: Store) -> pandas.DataFrame:
    """Write the table of all runs that are made, and return it."""
    frame = stored_runs(store, simulation_rows(store.simulations()))
    with store.clear_errors():
        replace_file(store.folder / TABLE, csv_parts(frame))
    return frame


def csv_bytes(frame: pandas.DataFrame) -> bytes:
    """Return a table as CSV. A text that a spreadsheet would take for a formula starts with ``'``.

    Numbers, and texts that are numbers as ``-1.5``, are unchanged.
    """
    return b"".join(csv_parts(frame))


def csv_parts(frame: pandas.DataFrame) -> Iterator[bytes]:
    """Yield what `csv_bytes` returns in parts, so that a large table is never in memory as text."""
    texts = [i for i, kind in enumerate(frame.dtypes) if kind.kind not in "biuf"]
    for begin in range(0, max(1, len(frame)), _ROWS):
        safe = frame.iloc[begin : begin + _ROWS].astype(object)
        safe.iloc[:, texts] = safe.iloc[:, texts].map(_safe)
        text: str = safe.rename(columns=_safe).to_csv(index=False, header=begin == 0)
        yield text.encode(errors="backslashreplace")


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    if "\r" in cell:  # a single one would start a new row
        cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
