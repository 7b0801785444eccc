"""The runs of a store, evaluated some instances at a time: a sweep may have 100,000 runs."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from dlsched.registry.labels import distinguish
from dlsched.sweeps.statistics import EvaluatedRun, evaluate_rows
from dlsched.sweeps.store import Store

_EVALUATED = 500
"""Runs that are evaluated at once, if not more are of one instance."""


def stored_runs(store: Store) -> list[EvaluatedRun]:
    """Return all runs but simulations in the order of the plan, as `evaluate_rows` would.

    Their rows have no record: it is read for the evaluation of its instance, and then forgotten.

    Raises
    ------
    InstanceError
        If a record is damaged; it names the run.
    """
    places = store.places()
    names = [row["instance"] for row in distinguish(places)]
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, place in enumerate(places):
        groups[place["instance_sha256"]].append(i)
    keys = [place["key"] for place in places]
    del places
    runs: dict[int, EvaluatedRun] = {}
    for members in _together(groups.values()):
        rows = store.rows_of([keys[i] for i in members])
        for i, row in zip(members, rows, strict=True):
            row["instance"] = names[i]
        for i, run in zip(members, evaluate_rows(rows), strict=True):
            del run.row["record"]
            for name, value in run.row.items():
                if type(value) is str:  # versions, machine, reasons: many rows have the same
                    run.row[name] = sys.intern(value)
            runs[i] = run
    return [runs[i] for i in range(len(keys))]


def _together(groups: Iterable[list[int]]) -> Iterator[list[int]]:
    """Yield the members of one or several groups: each is a query, and few are fast."""
    members: list[int] = []
    for group in groups:
        members += group
        if len(members) >= _EVALUATED:
            yield members
            members = []
    if members:
        yield members
