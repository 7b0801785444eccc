"""The bound by prices: its exact value is that of the definition, and bad prices are refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dlsched import OptionError
from dlsched.simulation.bounds.ascent import PriceAscent
from dlsched.simulation.bounds.demands import Demands, Mode, Resource
from dlsched.simulation.bounds.prices import Prices, Relaxation, evaluate, integrals
from dlsched.simulation.kernels import relaxation
from kernel_sources import as_python

BITS = 12


def random_demands(rng: np.random.Generator) -> Demands:
    """Return up to four jobs of whole lengths, with one or two resources and modes."""
    count, modes = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    steps = ((0, Fraction(int(rng.integers(1, 5)))), (7, Fraction(int(rng.integers(0, 3)))))
    resources = [Resource("a", steps), Resource("b", ((0, Fraction(3, 2)),))][:count]
    n = int(rng.integers(1, 5))
    rows = []
    for release in sorted(int(x) for x in rng.integers(0, 15, n)):
        uses = rng.integers(0, 4, (modes, count)).tolist()
        made = tuple(Mode(Fraction(1), tuple(map(Fraction, row))) for row in uses)
        rows.append((release, int(rng.integers(1, 12)), made))
    return Demands.of(resources, rows)


def random_prices(rng: np.random.Generator, d: Demands) -> Prices:
    """Return prices on up to six intervals."""
    k = int(rng.integers(1, 6))
    starts = (0, *sorted(int(x) for x in rng.choice(np.arange(1, 30), k, replace=False)))
    high = 2 ** (BITS + 1) // int(rng.integers(1, 9))
    rows = rng.integers(0, high, (len(d.resources), k)).tolist()
    return Prices(1, BITS, starts, tuple((*row, 0) for row in rows))


def slow_value(d: Demands, prices: Prices) -> Fraction:
    """Return the value of prices by trying every whole completion time, second by second."""
    horizon = prices.starts[-1] + max(d.release) + sum(d.work) + 1
    at = [sum(start <= t for start in prices.starts) - 1 for t in range(horizon)]
    total = Fraction(0)
    for release, work, k in zip(d.release, d.work, d.kind, strict=True):
        costs = [
            min(
                sum(use * row[i] for use, row in zip(mode.uses, prices.values, strict=True))
                for mode in d.kinds[k].modes
            )
            for i in at
        ]
        total += min(
            c + Fraction(sum(sorted(costs[release:c])[:work])) / 2**BITS
            for c in range(release + work, horizon)
        )
    for resource, row in zip(d.resources, prices.values, strict=True):
        for t, i in enumerate(at):
            amount = [amount for since, amount in resource.steps if since <= t][-1]
            total -= amount * Fraction(row[i], 2**BITS)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_value_of_prices_is_that_of_trying_every_completion_time(seed: int) -> None:
    """The exact value of random prices is that of the definition, for whole times."""
    rng = np.random.default_rng(seed)
    d = random_demands(rng)
    prices = random_prices(rng, d)
    assert evaluate(d, prices) == slow_value(d, prices)


@pytest.mark.parametrize("seed", range(10))
def test_the_loop_built_and_not(seed: int) -> None:
    """Built or run by Python, it has the same costs and times used."""
    rng = np.random.default_rng(seed)
    d = random_demands(rng)
    prices = random_prices(rng, d)
    made = Relaxation(d, 1, prices.starts)
    of_kinds, _ = made.kind_prices(np.array(prices.values, object))
    jobs = (made.release, made.length, made.first, made.kind)
    answers = []
    for kernel in (relaxation, as_python("simulation.kernels.relaxation")):
        worth, used = np.zeros(len(d.work), np.int64), np.zeros(of_kinds.shape, np.int64)
        looked = kernel.relax(made.starts, of_kinds, *jobs, 1 << BITS, worth, used)
        answers.append((looked, worth.tolist(), used.tolist()))
    assert answers[0] == answers[1]
    assert np.array(answers[0][2]).sum() == sum(d.work)


def least_total(d: Demands, gpus: int) -> int:
    """Return the least sum of completion times over all schedules in whole seconds."""
    state = {tuple(d.work): 0}
    for now in range(max(d.release) + sum(d.work)):
        following: dict[tuple[int, ...], int] = {}
        for left, total in state.items():
            waiting = [j for j, w in enumerate(left) if w and d.release[j] <= now]
            for chosen in product((0, 1), repeat=len(waiting)):
                run = [j for j, x in zip(waiting, chosen, strict=True) if x]
                if sum(d.kinds[d.kind[j]].modes[0].uses[0] for j in run) > gpus:
                    continue
                after = tuple(w - (j in run) for j, w in enumerate(left))
                ended = sum(w and not a for w, a in zip(left, after, strict=True))
                cost = total + ended * (now + 1)
                following[after] = min(cost, following.get(after, cost))
        state = following
    return state[(0,) * len(d.work)]


@pytest.mark.parametrize("seed", range(15))
def test_the_search_ends_below_the_optimum(seed: int) -> None:
    """On three small jobs the bound found is near the least sum of completion times, not above."""
    rng = np.random.default_rng(seed)
    gpus = 2
    rows = [
        (
            int(r),
            int(rng.integers(1, 5)),
            (Mode(Fraction(1), (Fraction(int(rng.integers(1, 3))),)),),
        )
        for r in sorted(rng.integers(0, 4, 3))
    ]
    d = Demands.of([Resource("GPUs", ((0, Fraction(gpus)),))], rows)
    search = PriceAscent.of(d, (Fraction(1),))
    first = search.best
    search.run(60)
    best = least_total(d, gpus)
    assert first <= search.best == evaluate(d, search.best_prices) <= best
    assert search.best >= Fraction(3, 4) * best


def test_amounts_over_time_are_added_up() -> None:
    """Two from 0 and five from 10: 2 x 4, then 2 x 6 + 5 x 2, then nothing that has no end."""
    resource = Resource("GPUs", ((0, Fraction(2)), (10, Fraction(5))))
    assert integrals(resource, [0, 4, 12]) == [8, 22, 0]


JOB = Demands.of(
    [Resource("GPUs", ((0, Fraction(1)),))], [(0, 10, (Mode(Fraction(1), (Fraction(1),)),))]
)
GOOD = Prices(1, BITS, (0, 5), ((100, 0),))


@pytest.mark.parametrize(
    "bad",
    [
        GOOD._replace(values=((-1, 0),)),
        GOOD._replace(values=((100, 1),)),
        GOOD._replace(values=((100, 0), (0, 0))),
        GOOD._replace(values=((100,),)),
        GOOD._replace(starts=(1, 5)),
        GOOD._replace(starts=(5, 0)),
        GOOD._replace(starts=(0, 0)),
        GOOD._replace(starts=(), values=((),)),
        GOOD._replace(bits=60),
        GOOD._replace(unit=0),
        GOOD._replace(values=((2**63, 0),)),
    ],
)
def test_bad_prices_are_refused(bad: Prices) -> None:
    """Prices that prove nothing, or that overflow the arithmetic, raise an error."""
    assert evaluate(JOB, GOOD) == 10
    with pytest.raises(OptionError):
        evaluate(JOB, bad)
