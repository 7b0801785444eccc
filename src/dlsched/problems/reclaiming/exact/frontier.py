"""The least preempted weight for every demand at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.problems.reclaiming.heuristics import lyra
from dlsched.problems.reclaiming.programs.components import (
    SMALL,
    Costs,
    Units,
    bracket,
    enumerate_subsets,
    fold,
    merge_singles,
    split,
)
from dlsched.run import Run

if TYPE_CHECKING:
    import pandas


def frontier(instance: Instance, *, time_limit: float | None = None) -> pandas.DataFrame:
    """Return the minimum of level 1 for every demand from 0 to all servers.

    The instance's own demand is ignored. Each component of servers linked by base workers gets a
    table of its minimum by number of servers; the min-plus convolution of the tables is the result.

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

    run = Run(time_limit)
    units = Units(instance, collateral=False)
    parts = split(instance, collateral=False)
    n = len(instance.servers)
    singles, _ = merge_singles(instance, [p for p in parts if len(p.servers) == 1], units, n)
    lower, upper = [singles], [singles]
    # Small components first, so that a time limit leaves few rows without a proof.
    for part in sorted((p for p in parts if len(p.servers) > 1), key=lambda p: len(p.servers)):
        size = len(part.servers)
        if size <= SMALL:
            low, _ = enumerate_subsets(instance, part, units)
            high = low
        else:
            low, high = bracket(instance, part, units, size, run)
        lower.append(low)
        upper.append(high)
    bounds = fold(lower, units, n)
    values = np.minimum(fold(upper, units, n), _lyra_costs(instance, units))
    return pd.DataFrame(
        {
            "demand": range(n + 1),
            "preempted": [units.decode(v)[0] for v in values.tolist()],
            "bound": [units.decode(b)[0] for b in bounds.tolist()],
            "proven": (values == bounds).astype(bool),
        }
    )


def _lyra_costs(instance: Instance, units: Units) -> Costs:
    """Return the preempted weight of the first k servers that `lyra` returns, for every k."""
    servers, jobs = instance.servers, instance.jobs
    everything = Instance(name="all", demand=len(servers), servers=servers, jobs=jobs)
    here: list[list[int]] = [[] for _ in instance.servers]
    for j, base in enumerate(instance.base_servers):
        for s in base:
            here[s].append(j)
    gone: set[int] = set()
    costs = [0]
    for name in lyra(everything, np.random.default_rng(0)).returned:
        fresh = set(here[instance.server_index[name]]) - gone
        gone |= fresh
        costs.append(costs[-1] + sum(units.weights[j] for j in fresh))
    return units.array(costs)
