"""`frontier` on three library instances: every nondominated point of two levels.

    python benchmarks/frontiers.py [INSTANCE ...]

Prints markdown and writes it to benchmarks/figures/frontiers.md; docs/charts.py draws the
points. Times are processor seconds of one process, building included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import dlsched

LEVELS = {
    "reclaiming-520-130": ("preempted", "collateral"),
    "workers-192": ("placed", "opened"),
    "elastic-80": ("launched", "reduction"),
}
"""Instances and levels."""


def points_of(name: str) -> Iterator[str]:
    """Yield the table of an instance's points."""
    began = time.process_time()
    points = dlsched.frontier(name, LEVELS[name])
    spent = time.process_time() - began
    first, second = LEVELS[name]
    proved = int((points["status"] == "optimal").sum())
    yield f"{len(points)} points in {spent:.1f} s; {proved} are proved to be nondominated.\n"
    yield f"| {first} | {second} | status |\n|---|---|---|"
    for row in points.itertuples(index=False):
        yield f"| {row[0]:.15g} | {row[1]:.15g} | {row[2]} |"


SECTIONS = {name: partial(points_of, name) for name in LEVELS}
