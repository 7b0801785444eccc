"""Elastic on two pools: brute force, integer program and dynamic program agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.elastic import Instance
from dlsched.problems.elastic.definition.job_choices import choices
from dlsched.problems.elastic.programs import knapsack_search
from dlsched.problems.elastic.programs.lagrangian import launches_of, relax
from dlsched.problems.elastic.structures import reduction_units
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.problems.elastic.structures.knapsack_table import fill_table, proves
from dlsched.run import Run
from dlsched.testing import oracles
from dlsched.testing.strategies import elastic

SOME = settings(max_examples=30, derandomize=True, deadline=None)


def pools(**options: Any) -> Any:
    """Return the strategy for instances with two pools."""
    return elastic(pools=True, max_jobs=4, max_choices=3, **options)


@contextmanager
def fixing() -> Iterator[None]:
    """Send every instance through bounds, fixing, and tables of rounded reductions."""
    small, core, exact = dict(knapsack_search.SMALL), knapsack_search.CORE, knapsack_search.EXACT
    knapsack_search.SMALL.update(int64=-1, object=-1)
    knapsack_search.CORE, knapsack_search.EXACT = 1, -1
    try:
        yield
    finally:
        knapsack_search.SMALL.update(small)
        knapsack_search.CORE, knapsack_search.EXACT = core, exact


@SOME
@given(pools())
def test_all_exact_methods_agree(instance: Instance) -> None:
    """Brute force, milp, and dp with and without fixing agree; bounds of dp are certified."""
    best = oracles.elastic(instance)
    assert best is not None
    results = [dlsched.solve(instance, name) for name in ("milp", "dp")]
    with fixing():
        results.append(dlsched.solve(instance, "dp"))
    for result in results:
        assert (result.status, result.objective) == ("optimal", best)
    for result in results[1:]:
        assert [b.kind for b in result.bound] == ["certified", "certified"]
        assert tuple(result.gap) == (0, 0)


@pytest.mark.slow
def test_five_hundred_instances() -> None:
    """The three agree on 500 instances."""
    check = test_all_exact_methods_agree.hypothesis.inner_test  # type: ignore[attr-defined]
    settings(max_examples=500, derandomize=True, deadline=None)(given(pools())(check))()


@SOME
@given(pools(mixed=True))
def test_values_far_apart(instance: Instance) -> None:
    """With times from 1e-9 to 6e10 dp equals brute force, and milp is within its bound."""
    best = oracles.elastic(instance)
    assert best is not None
    with fixing():
        fixed = dlsched.solve(instance, "dp")
    for result in (dlsched.solve(instance, "dp"), fixed):
        assert (result.status, result.objective, tuple(result.gap)) == ("optimal", best, (0, 0))
    model = dlsched.solve(instance, "milp")
    assert model.objective.launched == best.launched
    assert model.objective.reduction <= best.reduction <= model.bound.reduction.value


@SOME
@given(pools(mixed=True))
def test_rounded_tables_bound_the_optimum(instance: Instance) -> None:
    """If no exact table may be filled, the rounded one gives a bound, and proves what it can."""
    best = oracles.elastic(instance)
    assert best is not None
    most = knapsack_search.MOST_EXACT
    knapsack_search.MOST_EXACT = -1
    try:
        with fixing():
            result = dlsched.solve(instance, "dp")
    finally:
        knapsack_search.MOST_EXACT = most
    assert result.objective.launched == best.launched
    assert result.objective.reduction <= best.reduction <= result.bound.reduction.value
    assert result.bound.reduction.kind == "certified"
    assert result.status == "optimal" or result.gap.reduction > 1e-9


@SOME
@given(pools(mixed=True))
def test_reductions_rounded_to_512_bits(instance: Instance) -> None:
    """If no common unit is short enough, the optimum is found and the bound is not below it."""
    best = oracles.elastic(instance)
    assert best is not None
    most = reduction_units.MOST_BITS
    reduction_units.MOST_BITS = 0
    try:
        result = dlsched.solve(instance, "dp")
    finally:
        reduction_units.MOST_BITS = most
    assert (result.status, result.objective) == ("optimal", best)
    value = result.bound.reduction.value
    assert best.reduction <= value <= best.reduction + abs(best.reduction) * Fraction(1, 2**400)


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


@SOME
@given(pools())
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


@SOME
@given(pools())
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
def test_larger_epochs_agree(options: dict[str, Any]) -> None:
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
    job = {"gpus_per_worker": 2, "min_workers": 1, "max_workers": 1, "min_running_time": 9,
           "fungible": True}  # fmt: skip
    kinds = [
        {"id": "training", "capacity": 1, "speed": 1},
        {"id": "loan", "capacity": 3, "speed": 1},
    ]
    made = Instance(name="x", pools=kinds, jobs=[job | {"id": "a"}, job | {"id": "b"}])
    assert dlsched.bound(made).launched.value == 1  # both only fit on loan, which has 3 GPUs
    made = Instance(name="x", pools=[k | {"capacity": 3} for k in kinds],
                    jobs=[job | {"id": name} for name in "abc"])  # fmt: skip
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
    """B saves 180.018 - 60.006 s on loan; C takes the two GPUs of training, so A gets none.

    With C on loan, A would save 50 s and B 90.009 s, but C would lose 180.03 s.
    """
    best = dlsched.solve("lyra-fig6-loan")
    workers = {"A": {"training": 2}, "B": {"loan": 6}, "C": {"training": 2}}
    assert best.solution.workers == workers
    loan = Fraction("0.3333")
    assert tuple(best.objective) == (1, Fraction(120) / (2 * loan) - Fraction(120) / (6 * loan))
