"""`search` on variants of all problems: against enumeration, its starts, its seed, its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from enumerations import SIZES, solutions
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from test_variants_agree import SUPPRESSED, best_of, changes, instances

import dlsched
from dlsched import Variant, registry
from dlsched.variants import owner_of
from dlsched.variants.neighbourhood_sizes import NeighbourhoodSizes
from dlsched.variants.neighbourhoods import Family

DRAWN = settings(
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=SUPPRESSED,
)


def validate_search(problem: str, data: st.DataObject) -> bool:
    """Search a drawn variant; return whether the optimum was found."""
    instance = data.draw(instances(problem))
    known = solutions(instance)
    assume(known)
    variant = data.draw(changes(instance, levels=problem != "placement"))
    best = best_of(instance, variant, known)
    result = dlsched.solve(instance, "search", variant=variant)
    if best is None:
        assert result.status == "no solution"
        return True
    if result.objective is None:
        return False
    assert result.status == "feasible"
    assert not result.objective.better_than(best)
    owner = owner_of(instance, variant)
    base = registry.problem(problem)
    for start in base.starts_for(instance):
        try:
            begun = dlsched.solve(instance, start.name)
        except dlsched.OptionError:  # it is not for this instance
            continue
        report = owner.check(instance, begun.solution) if begun.solution else None
        if report and report.feasible:
            assert not report.objective.better_than(result.objective), start.name
    return list(map(float, result.objective)) == pytest.approx(list(map(float, best)), rel=1e-9)


@pytest.mark.parametrize("problem", ["elastic", "reclaiming", "sensitivity"])
def test_search_finds_the_optimum_of_small_instances(problem: str) -> None:
    """Of a drawn variant; no solution where there is none, and none worse than a start."""

    @settings(DRAWN, max_examples=1)
    @given(st.data())
    def found(data: st.DataObject) -> None:
        assert validate_search(problem, data)

    found()


@pytest.mark.slow
@pytest.mark.parametrize("problem", sorted(SIZES))
def test_search_finds_the_optimum_mostly(problem: str) -> None:
    """In nine of ten of sixty draws at least."""
    outcomes: list[bool] = []

    @settings(DRAWN, max_examples=60)
    @given(st.data())
    def found(data: st.DataObject) -> None:
        outcomes.append(validate_search(problem, data))

    found()
    assert sum(outcomes) >= 0.9 * len(outcomes)


def few(m: Any, instance: Any) -> None:
    """At most three of the first twenty servers, of which every start returns more."""
    m.few = pyo.Constraint(expr=sum(m.x[s.id] for s in instance.servers[:20]) <= 3)


FEW = Variant("reclaiming", "few", few)


def test_a_start_that_violates_the_variant_is_repaired() -> None:
    """The same seed gives the same solution, close to the optimum."""
    instance = dlsched.generate("reclaiming", seed=1, servers=40, demand=16)
    assert dlsched.solve(instance, "lyra", variant=FEW).solution is None
    runs = [dlsched.solve(instance, "search", variant=FEW) for _ in range(2)]
    assert runs[0].solution.returned == runs[1].solution.returned
    best = dlsched.solve(instance, variant=FEW)
    assert runs[0].objective.preempted <= best.objective.preempted + 1
    assert dlsched.verify(instance, runs[0].solution, variant=FEW).feasible
    assert runs[0].bound[0] is None


def family(name: str, groups: int) -> Family:
    """Return a family of groups of ten columns."""
    columns = [np.arange(10) + 10 * k for k in range(groups)]
    return Family(name, columns, np.ones(10 * groups, dtype=bool), 0)


def test_small_neighbourhoods_are_solved_first() -> None:
    """One that brings nothing unsolved comes after others, and is left out after three of them."""
    small, large = family("small", 99), family("large", 99)
    progress = NeighbourhoodSizes()
    progress.columns = {"small": 80, "large": 200}
    order = []
    while (chosen := progress.next_of([large, small])) is not None:
        order.append(chosen.name)
        progress.note(chosen, 80 if chosen is small else 200, better=False, solved=False)
    assert order == ["small", "large", "small", "small", "large", "large"]


@pytest.mark.slow
def test_search_on_a_large_instance() -> None:
    """Close to the optimum of 46 and 152."""
    result = dlsched.solve("reclaiming-520-130", "search", variant=FEW)
    assert result.objective.preempted <= 1.05 * 46


def test_search_obeys_a_limit_and_takes_a_start() -> None:
    """Without time there is no solution, but the start that it was given."""
    instance = dlsched.generate("reclaiming", seed=1, servers=40, demand=16)
    stopped = dlsched.solve(instance, "search", variant=FEW, time_limit=1e-6)
    assert (stopped.status, stopped.termination) == ("no solution", "time_limit")
    best = dlsched.solve(instance, variant=FEW).solution
    started = dlsched.solve(instance, "search", variant=FEW, start=best, time_limit=1e-6)
    assert started.solution.returned == best.returned
