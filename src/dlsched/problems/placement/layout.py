"""Data and a placement's state in two flat arrays, one of whole numbers and one of doubles.

Compiled functions take these two and a `Layout`, the positions in them: two arrays and a tuple of
numbers compile in a tenth of the time that forty arrays take.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from dlsched.compilation import Real, Whole
from dlsched.problems.placement.arrays import Data

Layout = namedtuple(
    "Layout",
    "tables jobs regions kinds priorities apps "
    "home today job_start job_tables table_start table_jobs ml hours_start hours_kind priority app "
    "job_region tables_here changed new_region log_table log_home best "
    "size capacity capacity_share job_bytes hours urgent load_unit supply_load supply_share wanted "
    "priority_weight cpu_hours cpu_quota bytes_here demand stored cpu sums "
    "bytes_total bytes_read quota cpu_total threshold slope traffic_weight gpu_weight "
    "storage_weight",
)
Layout.__annotations__ = dict.fromkeys(Layout._fields[:42], Whole) | dict.fromkeys(
    Layout._fields[42:], Real
)
"""Numbers of tables etc., where each array begins in its flat array, and the scalars of `Data`.

``job_region``: of each job, -1 for none. ``tables_here``, ``bytes_here`` (J x R): tables of a job
in a region, and their bytes. ``demand`` (R x K x P): GPU hours in units. ``best``: homes of the
best placement that annealing found. ``changed``, ``new_region``, ``log_table`` and ``log_home`` are
scratch memory.
"""
_INTS, _NUMS, _SCALARS = Layout._fields[6:24], Layout._fields[24:42], Layout._fields[42:]
POSITIONS, SCALARS = 42, len(_SCALARS)
"""Whole numbers in a `Layout`, and doubles after them."""

COST, INFEASIBILITY, MOVED, AT_HOME, STORAGE_EXCESS, CPU_EXCESS = range(6)
"""In ``sums``: the cost; the broken limits, as a sum of shares; bytes moved; GPU hours at home;
bytes above capacities; CPU hours above quotas."""


class State(NamedTuple):
    """What follows from a placement; the arrays are parts of the two flat ones."""

    layout: Any
    ints: Any
    nums: Any
    home: Any
    best: Any
    job_region: Any
    demand: Any
    stored: Any
    sums: Any

    @property
    def packed(self) -> tuple[Any, Any, Any]:
        """The first three, which every compiled function takes."""
        return self.layout, self.ints, self.nums


def pack(data: Data, home: Any) -> State:
    """Return the state of a placement, with its sums at 0."""
    tables, jobs, regions = len(data.size), len(data.ml), len(data.capacity)
    (kinds, priorities), apps = data.wanted.shape, data.cpu_quota.shape[1]
    most_tables = max(2, int(np.diff(data.job_start).max(initial=0)))
    lengths = {
        "job_region": jobs, "tables_here": jobs * regions, "changed": regions,
        "new_region": int(np.diff(data.table_start).max(initial=0)), "log_table": most_tables,
        "log_home": most_tables, "best": tables, "bytes_here": jobs * regions,
        "demand": regions * kinds * priorities, "stored": regions, "cpu": regions * apps, "sums": 6,
    }  # fmt: skip
    parts = {name: np.zeros(length) for name, length in lengths.items()}
    parts |= {"home": np.asarray(home, dtype=np.int64).reshape(tables), "today": data.home}
    parts = {name: np.ravel(parts.get(name, getattr(data, name, 0))) for name in (*_INTS, *_NUMS)}
    layout = Layout(
        tables, jobs, regions, kinds, priorities, apps,
        *_starts(parts, _INTS), *_starts(parts, _NUMS), *(getattr(data, s) for s in _SCALARS),
    )  # fmt: skip
    ints = np.concatenate([parts[name] for name in _INTS]).astype(np.int64)
    nums = np.concatenate([parts[name] for name in _NUMS]).astype(np.float64)

    def part(flat: Any, name: str, *shape: int) -> Any:
        first = getattr(layout, name)
        return flat[first : first + len(parts[name])].reshape(shape or -1)

    return State(
        layout, ints, nums, part(ints, "home"), part(ints, "best"), part(ints, "job_region"),
        part(nums, "demand", regions, kinds, priorities), part(nums, "stored"), part(nums, "sums"),
    )  # fmt: skip


def _starts(parts: dict[str, Any], names: tuple[str, ...]) -> list[int]:
    """Return where each part begins when they are put end to end."""
    return [0, *np.cumsum([len(parts[name]) for name in names[:-1]]).tolist()]
