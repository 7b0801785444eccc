"""Lower bounds on the sum of completion times: the greatest of several."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.simulation.bounds import pooled
from dlsched.simulation.bounds.ascent import EFFORT, ROUNDS, PriceAscent
from dlsched.simulation.bounds.charges import mixtures
from dlsched.simulation.bounds.demands import Demands, pool
from dlsched.simulation.bounds.prices import Prices, Relaxation, evaluate
from dlsched.simulation.bounds.program import capacity_weights
from dlsched.simulation.bounds.sharing import Sharing, group_facet, stage_facet

ONE: tuple[Fraction, ...] = (Fraction(1),)


class Proof(NamedTuple):
    """What bounds of demands are computed from: weights of a pooled machine, and prices."""

    weights: tuple[Fraction, ...]
    prices: Prices

    def total(self, d: Demands) -> tuple[Fraction, str]:
        """Return the greatest bound on the sum of completion times, in microseconds; its source."""
        return max((evaluate(d, self.prices), "prices of GPU time"), of_pool(d, self.weights))


def of_pool(d: Demands, weights: tuple[Fraction, ...]) -> tuple[Fraction, str]:
    """Return the greatest of the bounds of the pooled machine, and its source."""
    machine = pool(d, weights)
    return max(
        (pooled.total_by_remaining_time(machine), "shortest remaining time on a pooled machine"),
        (pooled.total_of_submission_and_length(machine), "each job alone"),
        (pooled.total_by_busy_time(machine), "mean busy time on a pooled machine"),
    )


def prove(d: Demands) -> Proof:
    """Return weights and prices for jobs that have their GPUs to themselves."""
    starts = [ONE]
    if len(d.resources) > 1:
        # Those by which all jobs take longest; one resource alone, where that says more.
        starts = [capacity_weights(d)]
        resources = range(len(d.resources))
        alone = [tuple(Fraction(i == k) for i in resources) for k in resources]
        best = max((*starts, *alone), key=lambda weights: of_pool(d, weights)[0])
        starts = list(dict.fromkeys((*starts, best)))
    searches = [PriceAscent.of(d, weights) for weights in starts]
    for search in searches:
        search.run()
    return Proof(starts[-1], max(searches, key=lambda search: search.best).best_prices)


def prove_sharing(jobs: Sharing) -> tuple[Demands, Proof]:
    """Return demands of jobs that may share GPUs, with their weights and prices.

    The charges are first those by which all groups take longest. Then they are those by which what
    the jobs pay is most; both count, with prices of their own. Where groups are too many, charges
    are the stages on each resource, with prices of their own.
    """
    facet = group_facet(jobs, jobs.loads())
    if facet is None:
        return _prove_by_stages(jobs)
    d = jobs.demands([facet])
    search = PriceAscent.of(d, ONE)
    search.run(ROUNDS // 2, EFFORT // 2)
    paid = group_facet(jobs, _payments(jobs, search))
    assert paid is not None, "the groups were not too many before"
    both = jobs.demands([paid, facet])
    relaxation = Relaxation(both, search.relaxation.unit, search.relaxation.starts.tolist())
    first = search.best_values
    again = PriceAscent(relaxation, np.concatenate([first, np.zeros_like(first)]))
    again.run(ROUNDS // 2, EFFORT // 2)
    if again.best > search.best:
        return both, Proof((Fraction(0), Fraction(1)), again.best_prices)
    return d, Proof(ONE, search.best_prices)


def _prove_by_stages(jobs: Sharing) -> tuple[Demands, Proof]:
    """Return demands that are the stages on each resource, with weights of these and prices."""

    def busy_time(weights: Sequence[Fraction]) -> Fraction:
        mixed = jobs.demands([stage_facet(jobs, weights)])
        return pooled.total_by_busy_time(pool(mixed, ONE))

    weights = max(mixtures(jobs.resources), key=busy_time)
    resources = range(jobs.resources)
    facets = [stage_facet(jobs, [Fraction(i == k) for i in resources]) for k in resources]
    d = jobs.demands(facets)
    search = PriceAscent.of(d, weights)
    search.run()
    return d, Proof(weights, search.best_prices)


def _payments(jobs: Sharing, search: PriceAscent) -> list[float]:
    """Return what the jobs of each kind pay for their GPU time, if it is not shared."""
    payments = (search.used() @ search.best_values.sum(axis=0)).tolist()
    last_job = {k: j for j, k in enumerate(search.relaxation.d.kind)}
    paid = [0.0] * len(jobs.alone)
    for k, j in last_job.items():
        gpus = jobs.area[j] / jobs.length[j]
        paid[jobs.kind[j]] += payments[k] * float(gpus)
    least = 1e-6 * max(paid)
    return [x + least for x in paid]
