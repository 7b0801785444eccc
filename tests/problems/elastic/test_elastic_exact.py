"""The dynamic program, the integer program and brute force; large tables, extremes and limits."""

import math
import random
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from elastic_instances import epoch, job
from hypothesis import strategies as st

import dlsched
from dlsched.problems.elastic import Instance
from dlsched.testing import oracles
from dlsched.testing.strategies import elastic
from drawing import drawn

POOLS = partial(elastic, pools=True, max_jobs=4, max_choices=3)
"""The strategy for instances with two pools."""


def spread_out(instance: Instance, steps: float) -> Instance:
    """Return an instance in a finer unit of GPUs, whose table takes so many steps to fill.

    A job whose worker is one such unit keeps the method from finding the coarse one again. It
    decides by how much a table is narrowed first; the optimum is not that of the instance.
    """
    data, capacities = instance.to_data(), instance.pools or [instance]
    rows = data["jobs"]
    most = sum(row["gpus_per_worker"] * row["max_workers"] for row in rows)
    table = math.prod(1 + min(most, pool.capacity) for pool in capacities) * (1 + len(rows))
    factor = math.ceil((steps / table) ** (1 / len(capacities)))
    factor = min(factor, 10**15 // max(1, most, *(pool.capacity for pool in capacities)))
    for row in [data] if instance.pools == () else data["pools"]:
        row["capacity"] *= factor
    for row in rows:
        row["gpus_per_worker"] *= factor
    rows.append(job("one", 1, 2, Fraction("0.125"), running=True))
    return Instance.parse(data, "the test")


def agrees(instance: Instance, result: dlsched.Result) -> None:
    """Require brute force's optimum, or of what is not proved a certified bound above it."""
    best = oracles.elastic(instance)
    assert best is not None
    assert [bound.kind for bound in result.bound] == ["certified", "certified"]
    assert result.bound.launched.value >= best.launched
    assert not result.objective.better_than(best)
    if result.status == "optimal":
        assert (result.objective, tuple(result.gap)) == (best, (0, 0))
    elif result.objective.launched == best.launched:
        assert result.objective.reduction <= best.reduction <= result.bound.reduction.value


@pytest.mark.parametrize(
    ("mixed", "steps"),
    [(True, 1), (False, 3e6), (True, 3e4), (True, 4e5), (True, 1e7), (True, 1e20)],
)
@pytest.mark.parametrize("strategy", [elastic, POOLS], ids=["capacity", "pools"])
def test_large_tables_agree(strategy: Any, mixed: bool, steps: float) -> None:
    """Bounds rule choices out before a large table is filled, and of what is left bounds hold.

    Times are from 1e-9 to 6e10, or in one unit, so that 64 bits are enough.
    """
    proved = []

    @drawn(16, strategy(mixed=mixed))
    def run(instance: Instance) -> None:
        made = spread_out(instance, steps)
        result = dlsched.solve(made, "dp", memory_gib=0.5)
        agrees(made, result)
        proved.append(result.status == "optimal")
        assert proved[-1] or (result.termination == "memory_limit" and "GiB" in result.reason)

    run()
    assert any(proved)
    assert all(proved) or steps > 1e6


def correlated(seed: int, jobs: int, least: float, finer: int) -> Instance:
    """Return jobs whose reductions nearly equal their GPUs, with these counted more finely."""
    rng, rows = random.Random(seed), []
    for j in range(jobs):
        gpus, running = rng.randrange(20, 60), rng.random() < 0.8
        times = [1000 - sum(rng.randrange(gpus, gpus + 10) for _ in range(k)) for k in range(4)]
        rows.append(job(f"j{j}", 1, 4, times, gpus * finer, running=running))
    rows.append(job("least", 1, 2, least, 30 * finer, running=True))
    return epoch(jobs * 70 * finer, *rows, loan=0 if finer > 1 else None)


@pytest.mark.parametrize(
    ("jobs", "least", "finer"),
    [(40, 1, 12), (12, 1e-18, 2), (40, 1e-18, 15)],
    ids=["64 bits", "exact", "rounded"],
)
def test_how_finely_gpus_are_counted_does_not_matter(jobs: int, least: float, finer: int) -> None:
    """Where all choices are nearly as good, the table of few choices has the whole one's optimum.

    With a pool of no GPUs beside it a capacity keeps its unit, so that the table is large.
    """

    @drawn(20, st.integers(0, 10**6), quick=20)
    def run(seed: int) -> None:
        whole, found = (dlsched.solve(correlated(seed, jobs, least, n)) for n in (1, finer))
        assert whole.status == found.status == "optimal"
        assert whole.objective == found.objective

    run()


@pytest.mark.parametrize(
    "options",
    [{}, {"scaling": "loss"}, {"loan": 16, "heterogeneous": 1.0, "mixed_efficiency": 1.0}],
    ids=str,
)
def test_larger_epochs_agree(options: dict[str, Any]) -> None:
    """On 60 items dp and HiGHS find the same optimum."""
    made = dlsched.generate("elastic", seed=7, items=60, capacity=40, **options)
    table, model = (dlsched.solve(spread_out(made, 3e6), method) for method in ("dp", "milp"))
    assert table.status == model.status == "optimal"
    assert table.objective.launched == model.objective.launched
    assert float(table.objective[1]) == pytest.approx(float(model.objective[1]), 1e-9)


def worth(instance: Any, workers: dict[str, Any]) -> Any:
    """Return the objective of an allocation."""
    head = {"dlsched": 1, "problem": "elastic", "instance": dlsched.load(instance).name}
    return dlsched.verify(instance, head | {"workers": workers}).objective


def test_figure_6() -> None:
    """A's one item saves 50 s, B's four 20, 30, 36 and 40 s."""
    assert worth("lyra-fig6", {"A": 3, "B": 2}) == (0, 50)
    assert [worth("lyra-fig6", {"A": 2, "B": n}).reduction for n in range(2, 7)] == [
        0, 20, 30, 36, 40,
    ]  # fmt: skip


def test_three_servers_on_loan_equal_one() -> None:
    """Lyra, section 7.5: 24 workers on loan at speed 0.3333 take as long as 8, within 0.02 %."""
    made = epoch(6, job("a", 8, 24, 100, fungible=True), loan=30, speed=0.3333)
    assert 0 < -worth(made, {"a": {"loan": 24}}).reduction < 300 * Fraction("0.0002")


def test_figure_6_with_gpus_on_loan() -> None:
    """B saves 180.018 - 60.006 s on loan; C takes the two GPUs of training, so A gets none."""
    # With C on loan, A would save 50 s and B 90.009 s, but C would lose 180.03 s.
    best = dlsched.solve("lyra-fig6-loan")
    workers = {"A": {"training": 2}, "B": {"loan": 6}, "C": {"training": 2}}
    assert best.solution.workers == workers
    loan = Fraction("0.3333")
    assert tuple(best.objective) == (1, Fraction(120) / (2 * loan) - Fraction(120) / (6 * loan))


def test_the_optimum_of_table_4_is_not_shortest_first() -> None:
    """The knapsack gives A its third worker and B the rest: 86 s saved, not 40."""
    best = dlsched.solve("lyra-table4")
    assert (best.solution.workers, tuple(best.objective)) == ({"A": 3, "B": 5}, (2, 86))
    assert worth("lyra-table4", {"A": 2, "B": 6}) == (2, 40)


def test_sums_of_huge_demands_do_not_wrap() -> None:
    """Ten thousand base demands of 1e15 GPUs exceed 64 bits together; one fits."""
    jobs = [job(str(j), 1, 1, 1, 10**15) for j in range(10_000)]
    result = dlsched.solve(epoch(10**15, *jobs), "dp")
    assert (result.status, tuple(result.objective)) == ("optimal", (1, 0))


@pytest.mark.parametrize("method", ["dp", "milp"])
@pytest.mark.parametrize(("capacity", "saved"), [(1, 0), (2, 1)])
def test_longer_times_with_more_workers(method: str, capacity: int, saved: int) -> None:
    """A job that is slower with a second worker keeps one; a start may have the second."""
    made = epoch(capacity, job("a", 1, 3, [10, 20, 9], running=True))
    start = {"dlsched": 1, "problem": "elastic", "instance": "hand", "workers": {"a": 2}}
    for given in (None, start):
        result = dlsched.solve(made, method, start=given)
        assert tuple(result.objective) == (0, saved)
        assert given is None or result.start.accepted, result.start.reason
