"""The least preempted weight for every demand at once."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.problems.reclaiming.exact import milp
from dlsched.problems.reclaiming.heuristics import lyra
from dlsched.run import Run
from dlsched.schema import Number, simplify

if TYPE_CHECKING:
    import pandas


def frontier(instance: Instance, *, time_limit: float | None = None) -> pandas.DataFrame:
    """Return the minimum of level 1 for every demand from 0 to all servers.

    The instance's own demand is ignored. The minimum never falls as the demand rises, so demands
    between two of the same minimum need no solving: the others are found by bisection, each with
    `milp`.

    Parameters
    ----------
    instance
        Servers and jobs.
    time_limit
        Wall-clock seconds, or ``None``. Rows that are not proved by then have the best value found
        and a smaller bound.

    Returns
    -------
    pandas.DataFrame
        Columns: demand; preempted, the weight of the preempted jobs; bound, a lower bound on that
        weight over all choices of servers; proven, whether the two are equal.
    """
    import pandas as pd

    run, n = Run(time_limit), len(instance.servers)
    upper = _lyra_weights(instance)
    lower: list[Number] = [*([0] * n), upper[n]]  # all servers together leave no choice
    spans = [(0, n)]
    while spans and not run.stop_reason():
        low, high = spans.pop()
        if high - low > 1 and lower[low] < upper[high]:
            middle = (low + high) // 2
            lower[middle], upper[middle] = _bracket(instance, middle, upper[middle], run)
            spans += [(low, middle), (middle, high)]
    bounds = list(accumulate(lower, max))
    values = list(accumulate(reversed(upper), min))[::-1]
    return pd.DataFrame(
        {
            "demand": range(n + 1),
            "preempted": values,
            "bound": bounds,
            "proven": [value == bound for value, bound in zip(values, bounds, strict=True)],
        }
    )


def _with_demand(instance: Instance, demand: int) -> Instance:
    return instance.model_copy(update={"demand": demand})


def _bracket(instance: Instance, demand: int, known: Number, run: Run) -> tuple[Number, Number]:
    """Return a lower bound of level 1 for a demand, and the least weight known."""
    claim = milp(_with_demand(instance, demand), run.nested(), levels=1)
    if claim.solution is not None:
        returned = {instance.server_index[s] for s in claim.solution.returned}
        known = min(known, evaluate(instance, returned)[0])
    # The bound and not the status: a solver's tolerances may leave a gap in a proof.
    bounds = [simplify(Fraction(b.value)) for b in claim.bounds[0]] if claim.bounds else []
    return max(bounds, default=0), known


def _lyra_weights(instance: Instance) -> list[Number]:
    """Return the preempted weight of the first k servers that `lyra` returns, for every k."""
    order = lyra(_with_demand(instance, len(instance.servers)), np.random.default_rng(0)).returned
    when = {instance.server_index[name]: k for k, name in enumerate(order, start=1)}
    fresh: list[Number] = [0] * (len(order) + 1)
    for job, base in zip(instance.jobs, instance.base_servers, strict=True):
        if base:
            fresh[min(when[s] for s in base)] += job.weight
    return [simplify(weight) for weight in accumulate(fresh)]
