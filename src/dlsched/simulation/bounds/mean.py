"""Lower bounds on the sum of completion times: from prices, and from a pooled machine.

A price is what a resource costs at a time; each job then does what is best for it.

For any prices >= 0, the sum over jobs of (completion time + cost of the resources used) less the
value of all resources is at most the sum of completion times of any schedule (Lagrangian relaxation
of the capacities). A job does at most 1 / length of itself at a time, in the mode that costs least,
so it completes at C at the least cost by using the cheapest time of its length between its
submission and C. Prices are constant within intervals of time, and 0 in the last one.

All arithmetic is in whole numbers of 64 bits; prices for which it could overflow are refused.

The search for good prices takes steps along the slope of the relaxation's value.

Each step is relative to a price's size, and by the slope over its mean square, so that prices that
are far from each other in size move alike (Adam; Kingma and Ba, ICLR 2015). The best prices seen
are returned; they and their value are whole numbers, so nothing is lost by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.simulation.bounds import pooled
from dlsched.simulation.bounds.demands import (
    Capacity,
    Demands,
    Floats,
    Kind,
    Resource,
    pool,
    weighted_sum,
)
from dlsched.simulation.bounds.makespan import capacity_weights
from dlsched.simulation.bounds.pooled import intervals_and_prices, prices_between
from dlsched.simulation.bounds.sharing import Sharing, group_facet, mixtures, stage_facet
from dlsched.simulation.kernels.relaxation import relax

FINE = 20
"""Uses of resources are rounded down to multiples of 2**-FINE per length."""
LONGEST = 2**34
"""Most units of time that the longest time may have; the unit is chosen by it."""
LARGEST = 2**61
"""No sum may be larger."""


class Prices(NamedTuple):
    """Prices of the resources.

    Attributes
    ----------
    unit
        Microseconds per unit of time.
    bits
        Prices are in units of 2**-bits: microseconds of completion time per resource and time.
    starts
        Of the intervals, in units of time, ascending from 0.
    values
        By resource and interval.
    """

    unit: int
    bits: int
    starts: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]


class Inner(NamedTuple):
    """What the jobs do at prices.

    Attributes
    ----------
    worth
        Of each job, time since submission plus cost, in units of time over 2**bits.
    used, modes
        By kind and interval, units of time used, and the mode that costs least.
    steps
        Intervals looked at.
    """

    worth: NDArray[np.int64]
    used: NDArray[np.int64]
    modes: NDArray[np.int64]
    steps: int


class Relaxation:
    """The relaxation of a workload's demands on given intervals, stated as in `Prices`."""

    def __init__(self, d: Demands, unit: int, starts: Sequence[int]) -> None:
        self.d = d
        self.unit = unit
        self.starts = np.array(starts, np.int64)
        # Rounded down: earlier submissions and shorter jobs can only lower the bound.
        self.release = np.array([release // unit for release in d.release], np.int64)
        self.length = np.array([length // unit for length in d.lengths], np.int64)
        self.kind = np.array(d.kind, np.int64)
        self.first = np.searchsorted(self.starts, self.release, side="right") - 1
        times = [int(start) * unit for start in starts]
        amounts = np.array([integrals(resource, times) for resource in d.resources], object)
        self.parts = math.lcm(*(amount.denominator for amount in amounts.flat))
        self.amounts = amounts * self.parts // 1
        self.longest = int(max(self.starts[-1], self.release.max(), self.length.max()))
        self.large_uses = list(map(_uses_per_length, d.kinds))
        self.most = max(int(uses.sum(axis=1).max()) for uses in self.large_uses)
        self.uses = [np.minimum(uses, LARGEST).astype(np.int64) for uses in self.large_uses]

    def kind_prices(
        self, values: NDArray[np.object_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the price per length of each kind, and its cheapest mode, by interval.

        Raises
        ------
        OptionError
            If sums could have more than 64 bits.
        """
        uses_of_kinds: Sequence[NDArray[Any]] = self.large_uses
        if self.most * int(values.max(initial=0)) < LARGEST:
            uses_of_kinds = self.uses
            values = values.astype(np.int64)
        prices = np.zeros((len(self.uses), len(self.starts)), np.int64)
        modes = np.zeros(prices.shape, np.int64)
        sizes = np.diff(self.starts)
        for k, uses in enumerate(uses_of_kinds):
            costs = uses @ values
            modes[k] = costs.argmin(axis=0)
            least = costs.min(axis=0) >> FINE
            if float(least[:-1].astype(float) @ sizes) > LARGEST / 2:
                raise OptionError("prices are too large: a job's cost could have over 64 bits")
            prices[k] = least
        return prices, modes

    def inner(self, bits: int, values: NDArray[np.object_]) -> Inner:
        """Return what the jobs do at prices in units of 2**-bits, by resource and interval.

        Raises
        ------
        OptionError
            If prices are negative, not 0 in the last interval, or too large or too fine for
            arithmetic in 64 bits.
        """
        if (values < 0).any() or values[:, -1].any():
            raise OptionError("prices are negative, or not 0 after the last interval")
        if self.longest << bits > LARGEST:
            raise OptionError("the prices are too fine for times that long")
        prices, modes = self.kind_prices(values)
        worth = np.zeros(len(self.release), np.int64)
        used = np.zeros(prices.shape, np.int64)
        jobs = (self.release, self.length, self.first, self.kind)
        steps = relax(self.starts, prices, *jobs, 1 << bits, worth, used)
        return Inner(worth, used, modes, steps)

    def value(self, bits: int, values: NDArray[np.object_], inner: Inner) -> Fraction:
        """Return the bound on the sum of completion times, in microseconds."""
        paid: Fraction = Fraction((values * self.amounts).sum(), self.parts)
        ends: int = (sum(self.release.tolist()) << bits) + sum(inner.worth.tolist())
        return Fraction(ends * self.unit - paid, 2**bits)

    def slope(self, inner: Inner) -> Floats:
        """Return the resources used less what there is, in units of time."""
        slope = -self._available
        for uses, modes, time in zip(self.uses, inner.modes, inner.used, strict=True):
            slope += uses[modes].T / 2**FINE * time
        return slope

    @cached_property
    def _available(self) -> Floats:
        """What there is of each resource by interval, in units of time."""
        return (self.amounts / (self.parts * self.unit)).astype(float)


def _uses_per_length(kind: Kind) -> NDArray[np.object_]:
    """Return what a kind's modes use, by mode and resource, in 2**-FINE per length."""
    per_length = 2**FINE / kind.length
    return np.array([[math.floor(u * per_length) for u in m.uses] for m in kind.modes], object)


def evaluate(d: Demands, prices: Prices) -> Fraction:
    """Return the bound of given prices on the sum of completion times, exactly, in microseconds.

    Raises
    ------
    OptionError
        If the prices are negative, not 0 after the last interval, or too large to be computed with,
        or the intervals do not ascend from 0.
    """
    starts = prices.starts
    ascending = all(a < b for a, b in pairwise(starts)) and starts[:1] == (0,)
    priced = list(map(len, prices.values)) == [len(starts)] * len(d.resources)
    if not ascending or not priced:
        raise OptionError("the prices' intervals do not ascend from 0, or are not all priced")
    if prices.unit < 1 or prices.bits < 0:
        raise OptionError("the unit of time or of prices is not a positive whole number")
    relaxation = Relaxation(d, prices.unit, starts)
    values = np.array(prices.values, object)
    return relaxation.value(prices.bits, values, relaxation.inner(prices.bits, values))


def integrals(resource: Resource, times: Sequence[int]) -> list[Fraction]:
    """Return amount times microseconds from each time to the next; 0 from the last one."""
    until = map(Capacity(resource.steps).until, times)
    return [after - before for before, after in pairwise(until)] + [Fraction(0)]


INTERVALS = 2000
ROUNDS = 500
EFFORT = 150_000_000
"""Intervals looked at in all rounds together, at most."""
PHASE = 40
"""Rounds of a phase."""
PATIENCE = 20
"""Rounds after which a phase ends that has found nothing better."""
FIRST_STEP = 0.1
"""Relative size of the first phase's first step."""
LAST_STEP = 0.2
"""A phase's last step, over its first one."""
SHORTEST_STEP = 0.0002
"""Relative size of a phase's first step at which the search ends."""
SHORTER = 0.6
"""A phase's first step over that of the phase before, if that found better prices."""
SHORTER_IN_VAIN = 0.4
"""The same if it found none."""
KEPT = 0.9
"""What a round keeps of the mean slope (Adam's first rate)."""
KEPT_SQUARE = 0.99
"""What a round keeps of the mean square (Adam's second rate)."""
NEAR = 0.5
"""A price of 0 moves like one of this share of the mean."""


class PriceAscent:
    """Prices that are improved step by step.

    Attributes
    ----------
    best, best_prices
        The greatest bound found, on the sum of completion times in microseconds, and its prices.
    """

    def __init__(self, relaxation: Relaxation, values: Floats) -> None:
        self.relaxation = relaxation
        self.values = values
        self.most = np.array([[float(r.most) or 1.0] for r in relaxation.d.resources])
        self.sizes = np.append(np.diff(relaxation.starts), 1).astype(float)
        self.best = Fraction(-1)
        self.best_values = values
        self.best_slope = np.zeros_like(values)
        self.steps = 0
        self._evaluate()

    @classmethod
    def of(cls, d: Demands, weights: Sequence[Fraction]) -> PriceAscent:
        """Return a search that begins with prices of the machine that has all resources."""
        machine = pool(d, weights)
        unit, starts, first = intervals_and_prices(machine, INTERVALS, LONGEST)
        # A unit of a resource counts for its weight on the pooled machine.
        total = weighted_sum(weights, [resource.most for resource in d.resources])
        scale = max(rate for _, rate in machine.steps) / total
        per_unit = np.array([[float(weight * scale)] for weight in weights])
        return cls(Relaxation(d, unit, starts), per_unit * first)

    @classmethod
    def of_classes(cls, d: Demands, relaxation: Relaxation) -> PriceAscent:
        """Return a search that begins with prices of a machine of its own for each class of GPUs.

        A job is done by the machine that would be through with it first, if all did their jobs in
        the order of submission. The intervals are those of a relaxation.
        """
        machines = [pool(d, d.alone(k)) for k in range(d.classes)]
        rates = [max(rate for _, rate in machine.steps) or 1 for machine in machines]
        uses = [[min((m.uses[k] for m in kind.modes if m.uses[k]), default=None)
                 for kind in d.kinds] for k in range(d.classes)]  # fmt: skip
        areas = [[0] * len(d.work) for _ in machines]
        through = [0.0] * d.classes
        units = [
            rate / (r.most or Fraction(1)) for rate, r in zip(rates, d.resources, strict=False)
        ]
        for j, (release, work, kind) in enumerate(zip(d.release, d.work, d.kind, strict=True)):
            ends = {}
            for k in range(d.classes):
                use = uses[k][kind]
                if use is not None:
                    area = math.floor(work * use * units[k])
                    ends[k] = max(through[k], release) + area / rates[k], area
            k = min(ends, key=ends.__getitem__)
            through[k], areas[k][j] = ends[k]
        edges = relaxation.starts.astype(float) * relaxation.unit
        values = np.zeros((len(d.resources), len(edges)))
        for k, machine in enumerate(machines):
            own = machine._replace(area=tuple(areas[k]))
            values[k] = prices_between(own, edges) * float(units[k])
        return cls(relaxation, values)

    @property
    def best_prices(self) -> Prices:
        """The best prices, in whole numbers."""
        bits, whole = self._whole(self.best_values)
        starts = tuple(self.relaxation.starts.tolist())
        return Prices(self.relaxation.unit, bits, starts, tuple(map(tuple, whole.tolist())))

    def run(self, rounds: int = ROUNDS, effort: int = EFFORT) -> None:
        """Improve the prices, in phases that begin at the best ones; each has shorter steps.

        A phase that finds nothing better is followed by one of still shorter steps.
        """
        last_step = effort + self.steps
        length = FIRST_STEP
        while rounds > 0 and length > SHORTEST_STEP:
            before = self.best
            done = self._phase(min(PHASE, rounds), last_step, length)
            if self.steps >= last_step:
                return
            rounds -= max(done, 1)
            length *= SHORTER if self.best > before else SHORTER_IN_VAIN

    def used(self) -> NDArray[np.int64]:
        """Return the time that jobs of each kind use at the best prices, by interval."""
        return self.relaxation.inner(*self._whole(self.best_values)).used

    def _phase(self, rounds: int, last_step: int, length: float) -> int:
        """Take steps from the best prices on; return how many."""
        self.values = self.best_values
        slope = self.best_slope
        mean = np.zeros_like(slope)
        square = np.zeros_like(slope)
        # Prices near 0 can rise, too.
        base = NEAR * self.values.mean(axis=1, keepdims=True)
        before = self.best
        for i in range(rounds):
            in_vain = i >= PATIENCE and self.best == before
            if in_vain or self.steps >= last_step:
                return i
            mean += (1 - KEPT) * (slope - mean)
            square += (1 - KEPT_SQUARE) * (slope * slope - square)
            direction = mean / (1 - KEPT ** (i + 1))
            direction /= np.sqrt(square / (1 - KEPT_SQUARE ** (i + 1))) + 1e-3
            step = length * LAST_STEP ** (i / rounds)
            self.values = np.maximum(self.values + step * (self.values + base) * direction, 0.0)
            slope = self._evaluate()
        return rounds

    def _whole(self, values: Floats) -> tuple[int, NDArray[np.object_]]:
        """Return prices in units of 2**-bits, as fine as the arithmetic allows."""
        largest = 1.0
        for uses in self.relaxation.uses:
            cost = (uses / 2**FINE) @ values
            least = cost.min(axis=0)
            largest = max(largest, float(least[:-1] @ self.sizes[:-1]))
        longest = max(largest * 4, float(self.relaxation.longest) * 2)
        bits = int(np.log2(LARGEST / longest))
        bits = max(0, min(24, bits))
        whole = np.floor(values * 2**bits).astype(np.int64)
        return bits, whole.astype(object)

    def _evaluate(self) -> Floats:
        """Compare the present prices with the best ones; return the slope.

        It is the resources used less what there is, over the most that there is.
        """
        bits, whole = self._whole(self.values)
        inner = self.relaxation.inner(bits, whole)
        value = self.relaxation.value(bits, whole, inner)
        self.steps += inner.steps
        slope = self.relaxation.slope(inner)
        scaled: Floats = slope / self.sizes / self.most
        scaled[:, -1] = 0.0
        if value > self.best:
            self.best = value
            self.best_values = self.values
            self.best_slope = scaled
        return scaled


ONE: tuple[Fraction, ...] = (Fraction(1),)


class Proof(NamedTuple):
    """What bounds of demands are computed from: weights of a pooled machine, and prices."""

    weights: tuple[Fraction, ...]
    prices: Prices

    def total(self, d: Demands) -> tuple[Fraction, str]:
        """Return the greatest bound on the sum of completion times, in microseconds; its source."""
        priced = (evaluate(d, self.prices), "prices of GPU time")
        return max(priced, of_pool(d, self.weights))


def of_pool(d: Demands, weights: tuple[Fraction, ...]) -> tuple[Fraction, str]:
    """Return the greatest of the bounds of the pooled machine, and its source."""
    machine = pool(d, weights)
    return max(
        (pooled.total_by_remaining_time(machine), "shortest remaining time on a pooled machine"),
        (pooled.total_of_submission_and_length(machine), "each job alone"),
    )


def prove(d: Demands) -> Proof:
    """Return weights and prices for jobs that have their GPUs to themselves."""
    weights = capacity_weights(d)
    searches = [PriceAscent.of(d, weights)]
    classes = range(d.classes)
    if not all(any(m.uses[k] for m in kind.modes) for kind in d.kinds for k in classes):
        searches.append(PriceAscent.of_classes(d, searches[0].relaxation))
    for search in searches:
        search.run()
    return Proof(weights, max(searches, key=lambda search: search.best).best_prices)


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

    def total(weights: Sequence[Fraction]) -> Fraction:
        mixed = jobs.demands([stage_facet(jobs, weights)])
        return pooled.total_by_remaining_time(pool(mixed, ONE))

    weights = max(mixtures(jobs.resources), key=total)
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
