"""A placement with what follows from it, as arrays that the searches keep up to date."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement.kernels import local_search
from dlsched.problems.placement.structures.arrays import Data
from dlsched.solvers.arrays import FloatCube, Floats, Ints

COST, INFEASIBILITY, MOVED, AT_HOME, STORAGE_EXCESS, CPU_EXCESS = range(6)
"""In ``sums``: the cost; the broken limits, as a sum of shares; bytes moved; GPU hours at home;
bytes above capacities; CPU hours above quotas."""


class State(NamedTuple):
    """A placement of tables, each with a home, and its sums.

    Attributes
    ----------
    home, best
        By table: its region; and that in the best placement that annealing found.
    job_region, near
        By job: where it runs, -1 for nowhere; and the bytes that it reads there.
    demand
        R x K x P: GPU hours in units.
    part, gpu
        By region and type: the part of (2); and by region their weighted sum.
    stored, cpu
        Bytes by region; CPU hours by region and application.
    sums
        See `COST`.
    """

    home: Ints
    best: Ints
    job_region: Ints
    near: Floats
    demand: FloatCube
    part: Floats
    gpu: Floats
    stored: Floats
    cpu: Floats
    sums: Floats
    packed: tuple[Any, Any]
    """The data and these arrays for the loops, which take both."""


def state_of(data: Data, home: Any) -> State:
    """Return the state of a placement."""
    regions, kinds = data.supply_share.shape
    tables, jobs = np.zeros((2, len(data.size)), np.int64), np.zeros(len(data.ml), np.int64)
    tables[0] = home
    demand = np.zeros((regions, *data.wanted.shape))
    part, cpu = np.zeros(regions * kinds), np.zeros(data.cpu_quota.size)
    gpu, stored = np.zeros((2, regions))
    kept = (*tables, jobs, np.zeros(len(jobs)), demand, part, gpu, stored, cpu, np.zeros(6))
    state = State(*kept, (local_search.Data(data), local_search.State(*kept)))
    local_search.recompute(*state.packed)
    return state
