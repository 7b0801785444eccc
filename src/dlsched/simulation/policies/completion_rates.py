"""A round of Lyra that values what is left of each job: most completions per second.

A job that keeps its workers completes at the rate 1 / (its running time with them). The round
maximises the sum of the rates,

    max sum over jobs j of 1 / time_j(n_j),   sum over jobs of gpus_j(n_j) <= capacity of each pool,

where n_j is 0 or from min to max workers for a pending job and from min to max for a running one.
Where time falls as 1 / workers, a rate is workers * gpus_per_worker / (the GPU-seconds left), so
that a GPU is worth the same to a job whatever it has: it goes to the jobs with the least area left.
With a loss of added workers these are worth less than a base worker, and on two pools a worker is
worth its GPU's speed. The section "Completion rates" of the card of
``elastic`` has what is optimal about it.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    gpus_of,
    running_time,
    splits,
)
from dlsched.problems.elastic.definition.schema import Instance
from dlsched.problems.elastic.programs.knapsack_search import KnapsackSearch
from dlsched.problems.elastic.structures.knapsack import assemble
from dlsched.problems.elastic.structures.undominated_choices import Choice
from dlsched.results.result import Claim
from dlsched.run import Run

_BITS = 60
"""Bits of the sum of all gains in whole units: the tables add them in 64 bits."""


class _Gain(NamedTuple):
    """A choice of a job: its GPUs by capacity, and the rate that it adds to that of its base."""

    job: int
    workers: Workers
    gpus: Workers
    rate: Fraction


def completion_rates(instance: Instance, run: Run) -> Claim:
    """Return the workers with which most jobs complete per second, in one knapsack.

    Lyra's two phases (section 5.2) start the jobs with the shortest running times and divide what
    is left; a knapsack over waiting and running jobs weighs both against each other. It maximises
    the sum of 1 / running time over the jobs that run; of allocations with equal sums it takes the
    fewest GPUs. That optimum is exact for rates rounded to whole multiples of at most a millionth
    of the largest one; it is not that of elastic's own levels. Of this library.
    """
    gains = list(_gains(instance))
    items = assemble(_scaled(instance, gains), instance.capacities)
    search = KnapsackSearch(items, run)
    search.solve()
    assert search.best.solution is not None
    return Claim(solution=items.solution(instance, search.best.solution))


def rate(instance: Instance, j: int, workers: Workers) -> Fraction:
    """Return the completions per second of a job with workers; 0 without."""
    if not any(workers):
        return Fraction(0)
    return 1 / Fraction(running_time(instance, instance.jobs[j], workers))


def _gains(instance: Instance) -> Iterator[_Gain]:
    for j, job in enumerate(instance.jobs):
        base = rate(instance, j, base_of(instance, job)) if job.running else Fraction(0)
        for workers in splits(instance, job):
            gpus = gpus_of(instance, job, workers)
            if any(taken > free for taken, free in zip(gpus, instance.capacities, strict=True)):
                continue
            gain = _Gain(j, workers, gpus, rate(instance, j, workers) - base)
            if gain.rate > 0:
                yield gain


def _scaled(instance: Instance, gains: list[_Gain]) -> list[Choice]:
    """Return the choices with their gains in whole units, less one for each GPU.

    A unit of the rate is worth more than all GPUs, so that these decide only between equal sums.
    """
    largest = max((gain.rate for gain in gains), default=Fraction(1))
    gpus = 1 + sum(instance.capacities)
    room = _BITS - 2 * int(np.ceil(np.log2(len(gains) + 2))) - gpus.bit_length()
    unit = largest / 2 ** max(room, 20)
    return [
        Choice(g.job, g.workers, g.gpus, False, (round(g.rate / unit) * gpus - sum(g.gpus), 1))
        for g in gains
    ]
