"""Data and a placement's state in two flat arrays, one of whole numbers and one of doubles.

Compiled functions take these two and a `Layout`, the positions in them: two arrays and a tuple of
numbers compile in a tenth of the time that forty arrays take.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement.structures.arrays import Data
from dlsched.solvers.compilation import Real, Whole

Layout = namedtuple(
    "Layout",
    "tables jobs regions kinds priorities apps "
    "home today job_start job_tables table_start table_jobs ml hours_start hours_kind priority app "
    "by_size job_region log_table log_home log_job log_region counts listed seen changed marked "
    "votes best "
    "size capacity capacity_share job_bytes hours urgent load_unit supply_load supply_share wanted "
    "priority_weight cpu_hours cpu_quota near demand part gpu stored cpu sums log_near log_part "
    "log_gpu log_sums "
    "bytes_total bytes_read quota cpu_total threshold slope traffic_weight gpu_weight "
    "storage_weight",
)
_FIRST = [Layout._fields.index(name) for name in ("home", "size", "bytes_total")]
_INTS, _NUMS = Layout._fields[_FIRST[0] : _FIRST[1]], Layout._fields[_FIRST[1] : _FIRST[2]]
_SCALARS = Layout._fields[_FIRST[2] :]
POSITIONS, SCALARS = _FIRST[2], len(_SCALARS)
"""Whole numbers in a `Layout`, and doubles after them."""
Layout.__annotations__ = dict.fromkeys(Layout._fields[:POSITIONS], Whole) | dict.fromkeys(
    _SCALARS, Real
)
"""Numbers of tables etc., where each array begins in its flat array, and the scalars of `Data`.

``by_size``: tables, largest first. ``job_region``: of each job, -1 for none. ``near``: bytes that a
job reads in its region. ``demand`` (R x K x P): GPU hours in units. ``part`` (R x K): a region's
and a type's part of (2), and ``gpu`` (R) their weighted sums. ``best``: homes of the best placement
that annealing found.

The rest describes the last change: ``log_table`` and ``log_home``, its tables and their homes, new
ones before it and old ones after it; ``log_job``, the readers for which it makes a difference, with
their old ``log_region`` and ``log_near``; ``changed``, whether it reaches a region, whose
``log_part`` and ``log_gpu`` are the old ones; ``log_sums``; ``counts``, how many tables and readers
are listed. ``listed``, ``seen``, ``marked`` and ``votes`` are scratch memory, 0 between changes.
"""

COST, INFEASIBILITY, MOVED, AT_HOME, STORAGE_EXCESS, CPU_EXCESS = range(6)
"""In ``sums``: the cost; the broken limits, as a sum of shares; bytes moved; GPU hours at home;
bytes above capacities; CPU hours above quotas."""
TABLES, READERS = range(2)
"""In ``counts``."""


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
    cells = regions * kinds
    lengths = {
        "job_region": jobs, "log_table": tables, "log_home": tables, "log_job": jobs,
        "log_region": jobs, "counts": 2, "listed": tables, "seen": jobs, "changed": regions,
        "marked": cells, "votes": regions, "best": tables, "near": jobs,
        "demand": cells * priorities, "part": cells, "gpu": regions, "stored": regions,
        "cpu": regions * apps, "sums": 6, "log_near": jobs, "log_part": cells, "log_gpu": regions,
        "log_sums": 6,
    }  # fmt: skip
    parts = {name: np.zeros(length) for name, length in lengths.items()}
    parts |= {"home": np.asarray(home, dtype=np.int64).reshape(tables), "today": data.home}
    parts["by_size"] = np.argsort(-data.size, kind="stable")
    ints, whole = _joined(data, parts, _INTS)
    nums, real = _joined(data, parts, _NUMS)
    layout = Layout(
        tables, jobs, regions, kinds, priorities, apps, *whole.values(), *real.values(),
        *(getattr(data, scalar) for scalar in _SCALARS),
    )  # fmt: skip
    ints, nums = ints.astype(np.int64), nums.astype(np.float64)

    def part(flat: Any, name: str, *shape: int) -> Any:
        first = getattr(layout, name)
        return flat[first : first + len(parts[name])].reshape(shape or -1)

    return State(
        layout, ints, nums, part(ints, "home"), part(ints, "best"), part(ints, "job_region"),
        part(nums, "demand", regions, kinds, priorities), part(nums, "stored"), part(nums, "sums"),
    )  # fmt: skip


def _joined(
    data: Data, parts: dict[str, Any], names: tuple[str, ...]
) -> tuple[Any, dict[str, int]]:
    """Return arrays put end to end, and where each begins."""
    rows = [np.ravel(parts.get(name, getattr(data, name, 0))) for name in names]
    starts = [0, *np.cumsum([len(row) for row in rows[:-1]]).tolist()]
    return np.concatenate(rows), dict(zip(names, starts, strict=True))
