"""A placement with what follows from it, as arrays that the searches keep up to date."""

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


def state_of(data: Data, homes: Any) -> State:
    """Return the state of a placement."""
    regions, kinds = data.supply_share.shape
    home, best = np.zeros((2, len(data.size)), dtype=np.int64)
    home[:] = homes
    job_region, near = np.zeros(len(data.ml), dtype=np.int64), np.zeros(len(data.ml))
    demand, part = np.zeros((regions, *data.wanted.shape)), np.zeros(regions * kinds)
    gpu, stored = np.zeros((2, regions))
    kept = home, best, job_region, near, demand, part, gpu, stored, np.zeros(data.cpu_quota.size)
    sums = np.zeros(6)
    packed = local_search.Data(data), local_search.State(*kept, sums)
    local_search.recompute(*packed)
    return State(*kept, sums, packed)
