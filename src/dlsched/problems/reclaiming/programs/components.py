"""Decomposition of reclaiming into components that are coupled by the demand alone.

A table per component holds the least cost of returning ``k`` of its servers; the min-plus
convolution of the tables divides the demand optimally. Costs are integers, so nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema import Number, simplify
from dlsched.solvers.levels import solve_levels

Costs: TypeAlias = NDArray[Any]
"""Costs by number of servers returned: 64-bit integers, or Python's where those are too short."""

SMALL = 14
"""Up to this many servers a component's subsets are enumerated."""
MANY_UNITS = 400_000
"""If the weights add up to more multiples of their granularity, a solver's tolerance on a bound is
too large for the bound to be rounded to the next multiple."""
_WORD = 2**61
"""Two costs below this can be added in 64 bits."""


@dataclass(frozen=True)
class Component:
    """Positions of servers, and of the jobs that can be preempted there."""

    servers: tuple[int, ...]
    jobs: tuple[int, ...]


def split(instance: Instance, collateral: bool) -> list[Component]:
    """Return the connected components, in the order of their first servers.

    Base workers of one job connect servers. With `collateral`, its flexible workers do so too,
    because their GPUs are vacated when the job is preempted.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(instance.servers)
    if not n:
        return []
    pairs: list[tuple[int, int]] = []
    for base, held in zip(instance.base_servers, instance.held, strict=True):
        if base:
            first, *rest = held if collateral else base
            pairs += [(first, s) for s in rest]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(pairs), dtype=np.int8), (rows, columns)), shape=(n, n))
    count, labels = connected_components(graph, directed=False)
    servers: list[list[int]] = [[] for _ in range(count)]
    jobs: list[list[int]] = [[] for _ in range(count)]
    for s, label in enumerate(labels.tolist()):
        servers[label].append(s)
    for j, base in enumerate(instance.base_servers):
        if base:
            jobs[labels[next(iter(base))]].append(j)
    return [Component(tuple(s), tuple(j)) for s, j in zip(servers, jobs, strict=True)]


class Units:
    """Objectives as integers in the same order.

    Weight and collateral are encoded as ``weight * step + collateral``, the weight in multiples of
    1 / `denominator`; `step` exceeds the number of all GPUs, and is 1 without `collateral`.
    """

    def __init__(self, instance: Instance, collateral: bool) -> None:
        fractions = [Fraction(job.weight) for job in instance.jobs]
        self.denominator = math.lcm(*(f.denominator for f in fractions))
        self.weights = [int(f * self.denominator) for f in fractions]
        self.step = 1 + sum(sum(held.values()) for held in instance.held) if collateral else 1
        self.infinity = (sum(self.weights) + 1) * self.step
        self.dtype: Any = np.int64 if self.infinity < _WORD else object

    def array(self, values: Sequence[int]) -> Costs:
        """Return costs as an array."""
        return np.array(values, dtype=self.dtype)

    def encode(self, weight: Number, collateral: int = 0) -> int:
        """Return an objective's cost."""
        return int(weight * self.denominator) * self.step + collateral

    def decode(self, cost: int) -> tuple[Number, int]:
        """Return the (weight, collateral) of a cost."""
        return simplify(Fraction(cost // self.step, self.denominator)), cost % self.step


def choose(instance: Instance) -> str:
    """Return the name of the exact method that suits an instance.

    If the weights have more digits than a solver with tolerances can distinguish and every
    component is small, `components` decides in integers; otherwise `milp` is faster.
    """
    if sum(Units(instance, collateral=False).weights) <= MANY_UNITS:
        return "milp"
    parts = split(instance, collateral=True)
    return "components" if all(len(part.servers) <= SMALL for part in parts) else "milp"


@cache
def _by_size(n: int) -> list[NDArray[np.int64]]:
    """Return the subsets of n servers as bit masks, grouped by their number of servers."""
    masks = np.arange(1 << n, dtype=np.int64)
    sizes = sum((masks >> s & 1 for s in range(n)), np.zeros_like(masks))
    return [np.flatnonzero(sizes == k) for k in range(n + 1)]


def enumerate_subsets(
    instance: Instance, part: Component, units: Units
) -> tuple[Costs, list[tuple[int, ...]]]:
    """Return the least cost of returning k of the component's servers, and these, for every k."""
    place = {s: i for i, s in enumerate(part.servers)}
    masks = np.arange(1 << len(place), dtype=np.int64)
    costs = np.zeros(len(masks), dtype=units.dtype)
    for j in part.jobs:
        hit = masks & sum(1 << place[s] for s in instance.base_servers[j]) != 0
        costs[hit] += units.weights[j] * units.step
        if units.step > 1 and len(instance.held[j]) > 1:
            for s, gpus in instance.held[j].items():
                costs[hit & (masks >> place[s] & 1 == 0)] += gpus
    best = [int(group[costs[group].argmin()]) for group in _by_size(len(place))]
    chosen = [tuple(s for s, i in place.items() if mask >> i & 1) for mask in best]
    return costs[best], chosen


def solve_part(instance: Instance, part: Component, k: int, levels: int, run: Run) -> Claim:
    """Solve a component alone, for demand `k`, by the integer program.

    For level 1 alone flexible workers are left out; they may be on servers of other components.
    """
    jobs = [instance.jobs[j] for j in part.jobs]
    if levels == 1:
        jobs = [
            job.model_copy(update={"workers": tuple(w for w in job.workers if not w.flexible)})
            for job in jobs
        ]
    alone = Instance(
        name="component",
        demand=k,
        servers=tuple(instance.servers[s] for s in part.servers),
        jobs=tuple(jobs),
    )
    return solve_levels(alone, run.nested(), model, levels)


def bracket(
    instance: Instance, part: Component, units: Units, limit: int, run: Run
) -> tuple[Costs, Costs]:
    """Return lower and upper bounds of level 1 for k from 0 to `limit`; equal unless stopped.

    The minimum never falls as k rises. So values between two equal ones need no solving, and a
    bound for one k also bounds its neighbours on one side.
    """
    everything = sum(units.weights[j] for j in part.jobs)
    lower, upper = [0] * (limit + 1), [everything] * (limit + 1)
    upper[0] = 0

    def solve(k: int) -> None:
        if k == len(part.servers):
            lower[k] = everything
            return
        claim = solve_part(instance, part, k, 1, run)
        if claim.solution is not None:
            # Level 1 does not depend on flexible workers, so the whole instance can evaluate it.
            returned = {instance.server_index[s] for s in claim.solution.returned}
            upper[k] = units.encode(evaluate(instance, returned)[0])
        # The bound and not the status: a solver's tolerances may leave a gap in a proof.
        for bound in claim.bounds[0] if claim.bounds else ():
            lower[k] = max(lower[k], math.ceil(Fraction(bound.value) * units.denominator))

    solve(limit)
    spans = [(0, limit)]
    while spans and not run.stop_reason():
        low, high = spans.pop()
        if high - low > 1 and upper[high] > lower[low]:
            middle = (low + high) // 2
            solve(middle)
            spans += [(low, middle), (middle, high)]
    rising = np.maximum.accumulate(units.array(lower))
    return rising, np.minimum.accumulate(units.array(upper)[::-1])[::-1]


def convolve(a: Costs, b: Costs, limit: int, infinity: int) -> tuple[Costs, NDArray[np.int64]]:
    """Return the least a[i - j] + b[j] for every i up to `limit`, and the j that attains it."""
    size = min(limit, len(a) + len(b) - 2) + 1
    costs = np.full(size, infinity, dtype=a.dtype)
    choice = np.zeros(size, dtype=np.int64)
    for j in range(min(len(b), size)):
        here = a[: size - j] + b[j]
        part = slice(j, j + len(here))
        better = here < costs[part]
        costs[part][better] = here[better]
        choice[part][better] = j
    return costs, choice


def fold(tables: Iterable[Costs], units: Units, limit: int) -> Costs:
    """Convolve all tables, up to `limit` servers."""
    total = units.array([0])
    for table in tables:
        total, _ = convolve(total, table, limit, units.infinity)
    return total


def merge_singles(
    instance: Instance, parts: Sequence[Component], units: Units, limit: int
) -> tuple[Costs, list[int]]:
    """Return the table of all components of one server, and their servers by rising cost.

    The least cost of k single servers is that of the k cheapest, so sorting replaces a convolution.
    """
    costs = [(sum(units.weights[j] for j in p.jobs) * units.step, p.servers[0]) for p in parts]
    costs.sort()
    table = [0]
    for cost, _ in costs[:limit]:
        table.append(table[-1] + cost)
    return units.array(table), [s for _, s in costs]
