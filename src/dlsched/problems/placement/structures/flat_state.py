"""Data and a placement's state in two flat arrays, one of whole numbers and one of doubles.

Compiled functions take these two and a `Layout`, the positions in them: two arrays and a tuple of
numbers compile in a tenth of the time that forty arrays take.
"""

from __future__ import annotations

from collections import namedtuple
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement.structures.arrays import Data
from dlsched.solvers.compilation import FloatCube, Floats, Ints, Real, Whole

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
_FIRST_INT = Layout._fields.index("home")
_FIRST_NUM = Layout._fields.index("size")
_FIRST_SCALAR = Layout._fields.index("bytes_total")
_INTS = Layout._fields[_FIRST_INT:_FIRST_NUM]
_NUMS = Layout._fields[_FIRST_NUM:_FIRST_SCALAR]
_SCALARS = Layout._fields[_FIRST_SCALAR:]
Layout.__annotations__ = {
    **dict.fromkeys(Layout._fields[:_FIRST_SCALAR], Whole),
    **dict.fromkeys(_SCALARS, Real),
}
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

    layout: Layout
    ints: Ints
    nums: Floats
    home: Ints
    best: Ints
    job_region: Ints
    demand: FloatCube
    stored: Floats
    sums: Floats

    @property
    def packed(self) -> tuple[Layout, Ints, Floats]:
        """The first three, which every compiled function takes."""
        return self.layout, self.ints, self.nums


def pack(data: Data, home: Any) -> State:
    """Return the state of a placement, with its sums at 0."""
    tables = len(data.size)
    jobs = len(data.ml)
    regions = len(data.capacity)
    kinds, priorities = data.wanted.shape
    apps = data.cpu_quota.shape[1]
    cells = regions * kinds
    lengths = (
        (tables, "log_table log_home listed best"),
        (jobs, "job_region log_job log_region seen near log_near"),
        (regions, "changed votes gpu stored log_gpu"),
        (cells, "marked part log_part"),
        (cells * priorities, "demand"),
        (regions * apps, "cpu"),
        (6, "sums log_sums"),
        (2, "counts"),
    )
    parts = {name: np.zeros(length) for length, names in lengths for name in names.split()}
    parts["home"] = np.asarray(home, dtype=np.int64).reshape(tables)
    parts["today"] = data.home
    parts["by_size"] = np.argsort(-data.size, kind="stable")
    whole, first_int = _joined(data, parts, _INTS)
    nums, first_num = _joined(data, parts, _NUMS)
    scalars = [getattr(data, name) for name in _SCALARS]
    sizes = (tables, jobs, regions, kinds, priorities, apps)
    layout = Layout(*sizes, *first_int.values(), *first_num.values(), *scalars)
    ints = whole.astype(np.int64)

    def part(flat: Any, name: str) -> Any:
        first = getattr(layout, name)
        return flat[first : first + len(parts[name])]

    return State(
        layout,
        ints,
        nums,
        home=part(ints, "home"),
        best=part(ints, "best"),
        job_region=part(ints, "job_region"),
        demand=part(nums, "demand").reshape(regions, kinds, priorities),
        stored=part(nums, "stored"),
        sums=part(nums, "sums"),
    )


def _joined(
    data: Data, parts: dict[str, Any], names: tuple[str, ...]
) -> tuple[Floats, dict[str, int]]:
    """Return arrays put end to end, and where each begins."""
    arrays = {name: np.ravel(parts.get(name, getattr(data, name, 0))) for name in names}
    ends = accumulate(map(len, arrays.values()), initial=0)
    joined = np.concatenate(list(arrays.values())).astype(np.float64)
    return joined, dict(zip(names, ends, strict=False))
