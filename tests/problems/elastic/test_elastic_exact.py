"""Brute force, integer program and dynamic program agree, on one capacity and on two pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from elastic_instances import epoch, job

import dlsched
from dlsched import Run
from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.definition.job_choices import choices
from dlsched.problems.elastic.programs import knapsack_search
from dlsched.problems.elastic.programs.lagrangian import launches_of, relax
from dlsched.problems.elastic.structures import reduction_units
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.problems.elastic.structures.knapsack_table import fill_table, proves
from dlsched.testing import oracles
from dlsched.testing.strategies import elastic
from drawing import drawn

pools = partial(elastic, pools=True, max_jobs=4, max_choices=3)
"""The strategy for instances with two pools."""


@contextmanager
def fixing() -> Iterator[None]:
    """Send every instance through bounds, fixing, and tables of rounded reductions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knapsack_search, "SMALL", {"int64": -1, "object": -1})
        patch.setattr(knapsack_search, "CORE", 1)
        patch.setattr(knapsack_search, "EXACT", -1)
        yield


def solved_by_dp(instance: Instance) -> list[dlsched.Result]:
    """Return the results of dp without and with fixing."""
    with fixing():
        fixed = dlsched.solve(instance, "dp")
    return [dlsched.solve(instance, "dp"), fixed]


Strategy = Callable[..., Any]


@pytest.mark.parametrize(
    ("strategy", "examples"),
    [(elastic, 60), (pools, 30), pytest.param(pools, 500, marks=pytest.mark.slow)],
)
def test_all_exact_methods_agree(strategy: Strategy, examples: int) -> None:
    """Brute force, milp, and dp with and without fixing agree; bounds of dp are certified."""

    @drawn(examples, strategy())
    def run(instance: Instance) -> None:
        best = oracles.elastic(instance)
        assert best is not None
        model = dlsched.solve(instance, "milp")
        # HiGHS's doubles cannot tell savings apart whose common step is below their error.
        step = dlsched.model(instance).GRANULARITY["reduction"]
        proved = "optimal" if not step or step > Fraction(1, 10**16) else model.status
        assert (model.status, model.objective) == (proved, best)
        assert instance.pools or tuple(model.gap) == (0, 0)
        for result in solved_by_dp(instance):
            assert (result.status, result.objective) == ("optimal", best)
            assert tuple(result.gap) == (0, 0)
            assert [b.kind for b in result.bound] == ["certified", "certified"]
        bound = dlsched.bound(instance)
        assert bound.launched.value >= best.launched
        assert instance.pools or bound.launched.value == best.launched
        assert bound.reduction is None or bound.reduction.kind == "certified"
        assert instance.pools or bound.reduction.value >= best.reduction

    run()


@pytest.mark.parametrize(("strategy", "examples"), [(elastic, 60), (pools, 30)])
def test_values_far_apart(strategy: Strategy, examples: int) -> None:
    """Times from 1e-9 to 6e10: dp equals brute force; milp is within the gap that it states."""

    @drawn(examples, strategy(mixed=True))
    def run(instance: Instance) -> None:
        best = oracles.elastic(instance)
        assert best is not None
        for result in solved_by_dp(instance):
            proved = (result.status, result.objective, tuple(result.gap))
            assert proved == ("optimal", best, (0, 0))
        model = dlsched.solve(instance, "milp")
        assert model.objective.launched == best.launched
        assert model.objective.reduction <= best.reduction <= model.bound.reduction.value

    run()


@pytest.mark.parametrize("least", [1, 990])
def test_savings_beyond_a_double(least: int) -> None:
    """With a thousand denominators the integers exceed a double; the bound holds."""
    made = epoch(995, job("a", 1, 1000, 7), job("b", least, 1000, 7))
    assert dlsched.bound(made).reduction.value >= dlsched.solve(made, "afs").objective[1]


@drawn(60, elastic())
def test_more_gpus_are_never_worse(instance: Instance) -> None:
    """One GPU more launches at least as many jobs, and with as many saves at least as much."""
    more = Instance(name="more", capacity=instance.capacity + 1, jobs=instance.jobs)
    assert not dlsched.solve(instance).objective.better_than(dlsched.solve(more).objective)


@pytest.mark.parametrize("running", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scaling", ["linear", "loss"])
def test_larger_epochs_agree(monkeypatch: pytest.MonkeyPatch, running: float, scaling: str) -> None:
    """On 200 items the whole table, the fixing and HiGHS find the same optimum."""
    made = dlsched.generate(
        "elastic", seed=7, items=200, capacity=150, running=running, scaling=scaling
    )
    whole = dlsched.solve(made, "dp")
    monkeypatch.setattr(knapsack_search, "SMALL", {"int64": -1, "object": -1})
    fixed = dlsched.solve(made, "dp")
    model = dlsched.solve(made, "milp")
    assert whole.status == fixed.status == model.status == "optimal"
    assert whole.objective == fixed.objective == model.objective


def test_rounded_tables_bound_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no exact table may be filled, the rounded one gives a bound, and proves what it can."""
    monkeypatch.setattr(knapsack_search, "MOST_EXACT", -1)

    @drawn(30, pools(mixed=True))
    def run(instance: Instance) -> None:
        best = oracles.elastic(instance)
        assert best is not None
        with fixing():
            result = dlsched.solve(instance, "dp")
        assert result.objective.launched == best.launched
        assert result.objective.reduction <= best.reduction <= result.bound.reduction.value
        assert result.bound.reduction.kind == "certified"
        assert result.status == "optimal" or result.gap.reduction > 1e-9

    run()


def test_reductions_rounded_to_512_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no common unit is short enough, the optimum is found and the bound is not below it."""
    monkeypatch.setattr(reduction_units, "MOST_BITS", 0)

    @drawn(30, pools(mixed=True))
    def run(instance: Instance) -> None:
        best = oracles.elastic(instance)
        assert best is not None
        result = dlsched.solve(instance, "dp")
        assert (result.status, result.objective) == ("optimal", best)
        most = best.reduction + abs(best.reduction) * Fraction(1, 2**400)
        assert best.reduction <= result.bound.reduction.value <= most

    run()


def test_units_of_thousands_of_digits_are_not_built() -> None:
    """Thirds, quarters and so on to the 5,999th have a unit of 8,000 bits; they are rounded up."""
    ratios = [(1, n) for n in range(1, 6000)]
    values, unit = reduction_units.in_units(ratios)
    assert max(value.bit_length() for value in values) <= reduction_units.ROUNDED_BITS + 1
    for value, (_, n) in zip(values, ratios, strict=True):
        assert 0 <= value * unit - Fraction(1, n) < unit
    assert reduction_units.in_units([(1, 2), (2, 3)]) == ([3, 4], Fraction(1, 6))


def test_ample_gpus_need_no_table() -> None:
    """Where every job can have its best choice, the relaxation proves it, whatever the memory."""
    made = dlsched.generate("elastic", seed=1, jobs=60, capacity=10**6, loan=10**6)
    result = dlsched.solve(made, "dp", memory_gib=0)
    assert (result.status, tuple(result.gap)) == ("optimal", (0, 0))
    assert result.objective == dlsched.solve(made, "milp").objective


@drawn(30, pools())
def test_items_are_undominated_choices(instance: Instance) -> None:
    """The integers of the items are the reductions; what is left out is dominated or too large."""
    found = items_of(instance)
    kept = {(j, *w) for j, w in zip(found.job.tolist(), found.workers.tolist(), strict=True)}
    for j, row in enumerate(choices(instance)):
        mine = [i for i in range(len(found)) if found.job[i] == j]
        running = instance.jobs[j].running
        for choice in row:
            if (j, *choice.workers) in kept:
                i = next(i for i in mine if tuple(found.workers[i]) == choice.workers)
                assert found.seconds(int(found.value[i])) == choice.reduction
                assert tuple(found.gpus[i]) == choice.gpus
                continue
            fits = all(g <= p.capacity for g, p in zip(choice.gpus, instance.by_pool, strict=True))
            better = [i for i in mine if all(found.gpus[i] <= choice.gpus)
                      and found.seconds(int(found.value[i])) >= choice.reduction]  # fmt: skip
            assert not fits or better or (running and choice.reduction <= 0)


@drawn(30, pools())
def test_bounds_of_both_levels(instance: Instance) -> None:
    """Level 1's bounds enclose the optimum; no optimum beats the bound less its choices' losses."""
    best = dlsched.solve(instance, "dp")
    knapsack = items_of(instance)
    first = launches_of(knapsack)
    launched = best.objective.launched
    assert len(first.chosen) <= launched <= first.most
    value = best.objective.reduction / knapsack.unit
    for least, most in ((launched, launched), (len(first.chosen), first.most)):
        found = relax(knapsack, least, most, Run())
        assert value * 2**found.shift <= found.bound
    found = relax(knapsack, launched, launched, Run())
    for i in range(len(knapsack)):
        if best.solution.split(instance.jobs[knapsack.job[i]].id) == tuple(knapsack.workers[i]):
            assert value * 2**found.shift <= found.bound - found.loss[i]


def test_a_false_table_proves_nothing() -> None:
    """A table with an entry that is too small is refused by the check."""
    knapsack = items_of(dlsched.generate("elastic", seed=1, jobs=6, capacity=6, loan=6))
    numbers = np.arange(len(knapsack))
    table = fill_table(knapsack, numbers, knapsack.exact.worth, knapsack.capacity, lambda: None)
    assert table is not None and proves(table, lambda: None)
    table.entries[-1, -1, -1] -= 1
    assert not proves(table, lambda: None)


@pytest.mark.parametrize("options", [{}, {"running": 1.0}, {"running": 0.0, "scaling": "loss"},
                                     {"heterogeneous": 1.0, "mixed_efficiency": 1.0}])  # fmt: skip
def test_larger_epochs_on_two_pools_agree(options: dict[str, Any]) -> None:
    """On 60 items dp with fixing and HiGHS find the same optimum, to nine digits."""
    made = dlsched.generate("elastic", seed=7, items=60, capacity=40, loan=16, **options)
    with fixing():
        fixed = dlsched.solve(made, "dp")
    model = dlsched.solve(made, "milp")
    assert fixed.status == model.status == "optimal"
    assert fixed.objective.launched == model.objective.launched
    assert float(fixed.objective.reduction) == pytest.approx(float(model.objective.reduction), 1e-9)


def test_limits_leave_a_solution_and_a_bound() -> None:
    """Without memory or time, dp returns an allocation, a certified bound and the reason."""
    made = dlsched.generate("elastic", seed=1, items=400, capacity=300, loan=100)
    best = dlsched.solve(made, "dp").objective
    for options, ended in (({"memory_gib": 1e-6}, "memory_limit"), ({}, "time_limit")):
        limit = 1e-9 if ended == "time_limit" else None
        result = dlsched.solve(made, "dp", time_limit=limit, **options)
        assert (result.status, result.termination) == ("feasible", ended)
        assert [b.kind for b in result.bound] == ["certified", "certified"]
        assert not result.objective.better_than(best)
        assert result.bound.launched.value >= best.launched


def test_fewer_jobs_than_the_bound_of_level_1() -> None:
    """Two jobs of 2 GPUs do not fit in pools of 1 and 3, though they have 4 together."""
    jobs = [job(name, 1, 1, 9, 2, fungible=True) for name in "abc"]
    made = epoch(1, *jobs[:2], loan=3, speed=1)
    assert dlsched.bound(made).launched.value == 1  # both only fit on loan, which has 3 GPUs
    made = epoch(3, *jobs, loan=3, speed=1)
    assert dlsched.bound(made).launched.value == 3
    with fixing():
        result = dlsched.solve(made, "dp")
    assert (result.status, tuple(result.objective)) == ("optimal", (2, 0))
    assert result.bound.launched.value == 2


def test_one_pool_of_two_is_the_old_problem() -> None:
    """With nothing on loan and training at speed 1, the optimum is that of one capacity."""
    one = dlsched.generate("elastic", seed=4, jobs=30, capacity=40)
    two = dlsched.generate("elastic", seed=4, jobs=30, capacity=40, loan=0,
                           fungible=0.0, heterogeneous=0.0)  # fmt: skip
    assert dlsched.solve(one).objective == dlsched.solve(two).objective
    assert dlsched.solve(one, "lyra").objective == dlsched.solve(two, "lyra").objective


def test_figure_6_with_gpus_on_loan() -> None:
    """B saves 180.018 - 60.006 s on loan; C takes the two GPUs of training, so A gets none."""
    # With C on loan, A would save 50 s and B 90.009 s, but C would lose 180.03 s.
    best = dlsched.solve("lyra-fig6-loan")
    workers = {"A": {"training": 2}, "B": {"loan": 6}, "C": {"training": 2}}
    assert best.solution.workers == workers
    loan = Fraction("0.3333")
    assert tuple(best.objective) == (1, Fraction(120) / (2 * loan) - Fraction(120) / (6 * loan))
