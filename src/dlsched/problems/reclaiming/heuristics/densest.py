"""A heuristic of this library: least preempted weight for the servers that it empties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.definition.schema import Instance, Solution, solution_of
from dlsched.problems.reclaiming.heuristics import densest_loops
from dlsched.problems.reclaiming.heuristics.densest_loops import empty, ruin
from dlsched.problems.reclaiming.heuristics.even_loads import even_loads, preempt_first
from dlsched.problems.reclaiming.structures.job_arrays import Layout, layout_of
from dlsched.registry.own import method
from dlsched.run import Run
from dlsched.solvers.compilation import compiled
from dlsched.solvers.preparation import prepare

_FEW_JOBS = 2_000
"""Up to this many jobs one pass takes less time as Python (.24 s at 1,458 jobs) than to load its
compiled loops (.5 s); to compile them takes 7 s."""
_FEW_PAIRS = 12_500
"""The same for pairs of servers of a job: with 32,000, of 2,000 scattered jobs on 520 servers, a
pass takes 6.8 s as Python and .05 s compiled; with 12,292, of 691 jobs on as many, .11 s."""
_DOUBLINGS, _DOUBLINGS_OF_SMALL, _DOUBLINGS_OF_FEW = 2, 3, (2, 6)
"""Base-2 logarithms of the exponents: 4 on a large fleet, 8 there for a small demand, and the
better of 4 and 64 on a small fleet."""
_SMALL_DEMAND = 100
"""Up to this demand the exponent is 8: with 4 two of 80 fleets were 10 and 14 % above the optimum.
For larger ones it is 4: .15 % above the optimum on average on 40 fleets, .21 with 8."""
_SWEEPS = 10
"""Sweeps of `even_loads`: on 79 drawn fleets 20 were no better than 10, and 5 a tenth worse."""
_FEW_SERVERS = 100
"""Up to this many servers a pass takes less time than what is around it (.16 of .42 ms at 100)."""
_RUINED = 0.3
"""The largest share of the demand whose servers one round makes busy again."""


def few_jobs(instance: Instance) -> bool:
    """Return whether an instance is too small for its loops to be compiled."""
    pairs = sum(len(servers) ** 2 for servers in instance.base_servers)
    return len(instance.jobs) <= _FEW_JOBS and pairs <= _FEW_PAIRS


@method(
    "reclaiming",
    kind="heuristic",
    preload=(".heuristics.even_loads", ".heuristics.densest_loops"),
    small=few_jobs,
)
def densest(instance: Instance, run: Run, rounds: int = 0) -> Solution:
    """Preempt the jobs of the server with the least weight for what that empties, and repeat.

    A heuristic of this library, not the paper's. What preempting all jobs of a server s empties is
    the sum, over all servers t, of (weight of the running jobs on both / weight of the running jobs
    on t) ** p, counted up to the servers that are still missing. (Lyra's cost of 1 / servers
    assumes that every server of a job will be returned.) At each step it is also noted what it
    would cost to end with the lightest server that empties all that are missing, and the best of
    these ends is taken. Jobs that need not be preempted are then resumed, those of most weight per
    server that is lost first. At last jobs are exchanged: 1, 2, 4 and 8 servers more than the
    demand are emptied in the same way, and jobs are resumed until the demand is left; what does not
    lower the weight is undone. Of the idle servers those with the most GPUs of preempted jobs are
    returned.

    Up to 100 servers the better of p = 4 and p = 64 counts. On more servers p is 8 up to a demand
    of 100, else 4, and the loop begins with the jobs on servers of low load, where each job divides
    its weight so that the loads are even (`even_loads`). Of the sets of such servers that have
    about the least weight for their size, it is the largest one up to the demand.

    Parameters
    ----------
    rounds
        Rounds of ruin and recreate: up to 0.3 of the demand's servers, neighbours of each other,
        get their jobs back; then the same loop, with an exponent from 2 to 64, meets the demand
        again. What is not worse is kept. A time limit ends them early.
    """
    if not isinstance(rounds, int) or rounds < 0:
        raise OptionError(f"rounds={rounds!r} must be a whole number from 0")
    layout, demand = layout_of(instance), instance.demand
    order = np.argsort(-layout.weight, kind="stable")
    found = [
        (empty(layout, demand, doublings, order, start), start)
        for start, doublings in _starts(layout, demand)
    ]
    least = min(weight for weight, _ in found)
    lightest = {start.tobytes(): start for weight, start in found if weight == least}
    choices = (_Choice.of(layout, demand, least, start) for start in lightest.values())
    best = min(choices, key=_Choice.objective)
    if rounds and demand:
        with run.paused():
            prepare(densest_loops.__name__)
        with compiled():
            best = _improved(best, layout, demand, rounds, run)
    return solution_of(instance, sorted(best.servers))


def _starts(layout: Layout, demand: int) -> Iterator[tuple[Any, int]]:
    """Yield jobs to preempt first, and the logarithm of the exponent with which to go on."""
    free = layout.weight == 0
    if len(layout.jobs_at) - 1 <= _FEW_SERVERS:
        yield from ((free.copy(), doublings) for doublings in _DOUBLINGS_OF_FEW)
        return
    rising = np.argsort(even_loads(layout, _SWEEPS), kind="stable")
    first = free.copy()
    preempt_first(layout, demand, rising, first)
    yield first, _DOUBLINGS_OF_SMALL if demand <= _SMALL_DEMAND else _DOUBLINGS


def _improved(best: _Choice, layout: Layout, demand: int, rounds: int, run: Run) -> _Choice:
    """Return the best choice of rounds of ruin and recreate; see `densest`."""
    kept = best
    for _ in range(rounds):
        if run.stop_reason():
            break
        weight, preempted = _round(layout, demand, kept.preempted, run.rng)
        if weight <= kept.weight:
            kept = _Choice.of(layout, demand, weight, preempted)
            best = min(best, kept, key=_Choice.objective)
    return best


class _Choice(NamedTuple):
    """Preempted jobs, and the servers that are returned."""

    weight: float
    collateral: int
    preempted: Any
    servers: list[int]

    @classmethod
    def of(cls, layout: Layout, demand: int, weight: float, preempted: Any) -> _Choice:
        """Return the idle servers with the most GPUs of preempted jobs."""
        n, m = len(layout.jobs_at) - 1, len(preempted)
        hosted = np.repeat(np.arange(m), np.diff(layout.hosts_at))
        holder = np.repeat(np.arange(m), np.diff(layout.held_at))
        heavy = (layout.weight > 0)[holder]
        gone = layout.gpus * (preempted[holder] & heavy)
        vacated = np.bincount(layout.held, gone, minlength=n).astype(np.float64)
        if not heavy.all():  # jobs of weight 0 stop only if one of their servers is returned
            total = np.bincount(holder, layout.gpus, minlength=m)
            free = (layout.weight == 0)[hosted]
            based = np.isin(holder * n + layout.held, hosted * n + layout.hosts)
            vacated -= np.bincount(layout.hosts, total[hosted] * free, minlength=n)
            vacated += np.bincount(layout.held, layout.gpus * (based & ~heavy), minlength=n)
        vacated[layout.hosts[~preempted[hosted]]] = -np.inf
        servers = np.argsort(-vacated, kind="stable")[:demand]
        chosen = np.zeros(n, dtype=np.bool_)
        chosen[servers] = True
        stopped = np.zeros(m, dtype=np.bool_)
        stopped[hosted[chosen[layout.hosts]]] = True
        elsewhere = stopped[holder] & ~chosen[layout.held]
        return cls(weight, int(layout.gpus[elsewhere].sum()), preempted, servers.tolist())

    def objective(self) -> tuple[float, int]:
        """Return both levels."""
        return self.weight, self.collateral


def _round(layout: Layout, demand: int, start: Any, rng: np.random.Generator) -> tuple[float, Any]:
    """Ruin and recreate a solution; return its preempted weight and jobs."""
    preempted = start.copy()
    count = int(rng.integers(1, max(1, int(_RUINED * demand)) + 1))
    ruin(layout, preempted, count, rng.random((count, 2)))
    order = np.argsort(-layout.weight * (0.5 + rng.random(len(preempted))), kind="stable")
    doublings = int(rng.integers(1, 7))
    return empty(layout, demand, doublings, order, preempted), preempted
