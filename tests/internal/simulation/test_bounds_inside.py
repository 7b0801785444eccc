"""Internal: bounds of simulations: prices, multipliers and charges prove nothing that is wrong."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from dlsched import OptionError
from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import makespan
from dlsched.simulation.bounds.demands import Demands, Mode, Resource
from dlsched.simulation.bounds.makespan import Multipliers
from dlsched.simulation.bounds.mean import Prices, Relaxation, evaluate
from dlsched.simulation.bounds.sharing import group_facet, mixtures, stage_facet, stage_sharing
from dlsched.simulation.engine.speeds import least_iteration_time
from dlsched.simulation.kernels import relaxation
from kernel_sources import as_python

BITS = 12


def random_demands(rng: np.random.Generator) -> Demands:
    """Return up to four jobs of whole lengths, with one or two resources and modes."""
    count, modes = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    steps = ((0, Fraction(int(rng.integers(1, 5)))), (7, Fraction(int(rng.integers(0, 3)))))
    resources = [Resource("a", steps), Resource("b", ((0, Fraction(3, 2)),))][:count]
    rows = []
    for release in sorted(int(x) for x in rng.integers(0, 15, int(rng.integers(1, 5)))):
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


@pytest.mark.parametrize("seed", range(25))
def test_value_of_prices_is_that_of_trying_every_completion_time(seed: int) -> None:
    """The exact value of random prices is that of the definition; the built loop uses all work."""
    rng = np.random.default_rng(seed)
    d = random_demands(rng)
    prices = random_prices(rng, d)
    assert evaluate(d, prices) == slow_value(d, prices)
    made = Relaxation(d, 1, prices.starts)
    of_kinds, _ = made.kind_prices(np.array(prices.values, object))
    jobs = (made.release, made.length, made.first, made.kind)
    answers = []
    for kernel in (relaxation, as_python("simulation.kernels.relaxation")):
        worth, used = np.zeros(len(d.work), np.int64), np.zeros(of_kinds.shape, np.int64)
        kernel.relax(made.starts, of_kinds, *jobs, 1 << BITS, worth, used)
        answers.append((worth.tolist(), used.tolist()))
    assert answers[0] == answers[1]
    assert np.sum(answers[0][1]) == sum(d.work)


JOB = Demands.of(
    [Resource("GPUs", ((0, Fraction(1)),))], [(0, 10, (Mode(Fraction(1), (Fraction(1),)),))]
)
GOOD = Prices(1, BITS, (0, 5), ((100, 0),))
BAD = (
    {"values": ((-1, 0),)}, {"values": ((100, 1),)}, {"values": ((100, 0), (0, 0))},
    {"values": ((100,),)}, {"values": ((2**63, 0),)}, {"starts": (1, 5)}, {"starts": (5, 0)},
    {"starts": (0, 0)}, {"starts": (), "values": ((),)}, {"bits": 60}, {"unit": 0},
)  # fmt: skip


@pytest.mark.parametrize("change", BAD)
def test_bad_prices_are_refused(change: dict[str, object]) -> None:
    """Prices that prove nothing, or that overflow the arithmetic, raise an error."""
    assert evaluate(JOB, GOOD) == 10
    with pytest.raises(OptionError):
        evaluate(JOB, GOOD._replace(**change))


@pytest.mark.parametrize("seed", range(10))
def test_any_multipliers_prove_no_more_than_the_optimum(seed: int) -> None:
    """All work takes 270 s on the fast type, a quarter of it fits on the slow one: 202.5 s.

    Random multipliers of the makespan's program prove less; negative ones prove nothing.
    """
    fast, slow = Fraction(1), Fraction(3)
    modes = (Mode(fast, (fast, Fraction(0))), Mode(slow, (Fraction(0), slow)))
    rows = [(0, 100, modes), (0, 90, modes), *((40, 20, modes) for _ in range(4))]
    gpus = [Resource(name, ((0, Fraction(1)),)) for name in ("fast", "slow")]
    d = Demands.of(gpus, rows)
    best = makespan.evaluate(d, makespan.solve(d))
    assert float(best) == pytest.approx(202.5)
    rng = np.random.default_rng(seed)
    jobs = {int(j): int(rng.integers(0, 9)) for j in rng.choice(6, 3, replace=False)}
    resources = tuple(tuple(row) for row in rng.integers(0, 9, (2, 2)).tolist())
    made = Multipliers((0, 40), resources, jobs)
    assert 0 <= makespan.evaluate(d, made) <= best * (1 + Fraction(1, 10**9))
    assert makespan.evaluate(d, made._replace(jobs={0: -1})) == 0


@pytest.mark.parametrize("seed", range(8))
def test_a_groups_charges_are_at_most_its_time(seed: int) -> None:
    """Whatever the loads or weights, the charges of every possible group add up to its time."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(6):
        gpus = int(rng.integers(1, 3))
        row = {"id": f"j{i}", "submit": 0, "gpus": gpus, "work": 60, "min_gpus": 1, "max_gpus": 2}
        if rng.random() < 0.7:
            row |= {"min_gpus": gpus, "max_gpus": gpus}
        stages = [1, 2, 3] if not i else rng.integers(0, 5, 3).tolist()
        rows.append(row | {"stages": stages if rng.random() < 0.8 or not i else []})
    workload = Workload.parse({"name": "shared", "jobs": rows}, "shared")
    sharing = stage_sharing(workload, Cluster.uniform(2, 2))
    loads = rng.exponential(1, len(sharing.alone)).tolist()
    facets = [group_facet(sharing, loads), *(stage_facet(sharing, w) for w in mixtures(3, 2))]
    for facet, size in ((f, n) for f in facets for n in (1, 2, 3)):
        assert facet is not None
        for group in combinations_with_replacement(range(len(workload.jobs)), size):
            jobs = [workload.jobs[j] for j in group]
            room = max(j.min_gpus for j in jobs) <= min(j.max_gpus for j in jobs)
            if size > 1 and not (room and all(any(j.stages) for j in jobs)):
                continue
            time = Fraction(sum(jobs[0].stages))
            if size > 1:
                time = least_iteration_time(tuple(sorted(j.stages for j in jobs)))
            kinds = [sharing.kind[j] for j in group]
            assert sum(facet[k] * sharing.alone[k] for k in kinds) <= time
