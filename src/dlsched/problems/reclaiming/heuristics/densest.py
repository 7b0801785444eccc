"""A heuristic of this library: least preempted weight for the servers that it empties."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.definition.schema import Instance, Solution, solution_of
from dlsched.problems.reclaiming.kernels.densest import empty, ruin
from dlsched.problems.reclaiming.structures.job_arrays import Layout, layout_of
from dlsched.registry.own import method
from dlsched.run import Run

_DOUBLINGS, _DOUBLINGS_OF_FEW = (2, 3), (2, 6)
"""Base-2 logarithms of the exponents, of which the better one counts: 4 and 8, on a small fleet 4
and 64. On 140 fleets of 520 servers 4 alone was .22 % above the optimum on average, 8 alone .30,
the better of both .16."""


@method("reclaiming", kind="heuristic")
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

    The better of p = 4 and p = 8 counts, up to 100 servers that of p = 4 and p = 64.

    Parameters
    ----------
    rounds
        Rounds of ruin and recreate: up to 0.3 of the demand's servers, neighbours of each other,
        get their jobs back; then the same loop, with an exponent from 2 to 64, meets the demand
        again. What is not worse is kept. A time limit ends them early.
    """
    if rounds < 0:
        raise OptionError(f"rounds={rounds!r} must be a whole number from 0")
    layout, demand = layout_of(instance), instance.demand
    order = np.argsort(-layout.weight, kind="stable")
    few = len(layout.jobs_at) - 1 <= 100
    found = []
    for doublings in _DOUBLINGS_OF_FEW if few else _DOUBLINGS:
        preempted = layout.weight == 0
        weight = empty(layout, demand, doublings, order, preempted.view(np.uint8))
        found.append((weight, preempted))
    least = min(weight for weight, _ in found)
    lightest = {jobs.tobytes(): jobs for weight, jobs in found if weight == least}
    choices = (_Choice.of(layout, demand, least, jobs) for jobs in lightest.values())
    best = min(choices, key=_Choice.objective)
    if rounds and demand:
        best = _improved(best, layout, demand, rounds, run)
    return solution_of(instance, sorted(best.servers))


def _improved(best: _Choice, layout: Layout, demand: int, rounds: int, run: Run) -> _Choice:
    """Return the best choice of rounds of ruin and recreate; see `densest`."""
    kept, rng = best, run.rng
    for _ in range(rounds):
        if run.stop_reason():
            break
        preempted = kept.preempted.copy()
        count = int(rng.integers(1, max(1, int(0.3 * demand)) + 1))
        ruin(layout, preempted.view(np.uint8), count, rng.random((count, 2)))
        order = np.argsort(-layout.weight * (0.5 + rng.random(len(preempted))), kind="stable")
        doublings = int(rng.integers(1, 7))
        weight = empty(layout, demand, doublings, order, preempted.view(np.uint8))
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
