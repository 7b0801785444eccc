"""Variants against enumeration: every solution checked, the added constraints evaluated at each."""

from __future__ import annotations

import importlib
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import SIZES, solutions
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.variants import Variant, owner_of
from dlsched.variants.names import Names, named_later, variables_by_name

PROBLEMS = sorted(SIZES)
COEFFICIENTS = ["-3", "-1", "1", "2", "0.1", "0.3", "2.5"]
SUPPRESSED = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def instances(problem: str) -> st.SearchStrategy[Any]:
    """Return the problem's strategy with sizes that can be enumerated."""
    module = importlib.import_module(f"dlsched.problems.{problem}.instances.strategy")
    strategy: st.SearchStrategy[Any] = module.instances(**SIZES[problem])
    return strategy


def nameable(instance: Any) -> list[str]:
    """Return the names of the variables that a variant may name."""
    plain = dlsched.model(instance, variant=Variant(instance.problem, "none"))
    module = importlib.import_module(f"dlsched.problems.{instance.problem}.model")
    components = {name: plain.component(name) for name in module.NAMEABLE}
    known = [v.name for c in components.values() if c is not None for v in c.values()]
    known = [name for name in known if name in variables_by_name(plain)]
    for name in named_later(plain):
        indices = [key for key in plain.component(name).index_set() if limits_of(plain, name, key)]
        known += [plain.component(name)[key].name for key in indices]
    return known


def limits_of(model: Any, name: str, key: Any) -> Any:
    """Return the upper limit of a variable that is there once it is named."""
    return named_later(model)[name](*key)[1]


@st.composite
def changes(draw: st.DrawFn, instance: Any, levels: bool) -> Variant:
    """Draw a variant: rows over named variables, fixings, levels of its own or in another order."""
    names = nameable(instance)
    assume(names)
    term = st.tuples(st.sampled_from(COEFFICIENTS), st.sampled_from(names))
    terms = st.lists(term, min_size=1, max_size=4, unique_by=lambda pair: pair[1])
    row = st.tuples(
        terms, st.sampled_from(["<=", ">=", "=="]), st.sampled_from(["0", "0.3", "1", "2", "-0.1"])
    )
    rows = draw(st.lists(row, max_size=2))
    power = draw(st.sampled_from([0, -9, 9]))
    fix = draw(st.dictionaries(st.sampled_from(names), st.integers(0, 1), max_size=1))
    own = draw(terms)
    sense = draw(st.sampled_from(["minimize", "maximize"]))

    def constrain(m: Any, _: Any) -> None:
        known = Names(m)
        m.drawn = pyo.ConstraintList()
        for pairs, relation, least in rows:
            total = sum(float(f"{c}e{power}") * known.find(name) for c, name in pairs)
            limit = float(f"{least}e{power}")
            m.drawn.add({"<=": total <= limit, ">=": total >= limit}.get(relation, total == limit))
        m.none = pyo.Set(initialize=[1])

    def expression(m: Any, _: Any) -> Any:
        known = Names(m)
        return sum(float(f"{c}e{power}") * known.find(name) for c, name in own)

    objective = None
    if levels and draw(st.booleans()):
        base = [level.name for level in owner_of(instance).levels]
        objective = [dlsched.Level("drawn_level", sense, expression), *draw(st.permutations(base))]
        objective = objective[: draw(st.integers(1, len(objective)))]
    return Variant(instance.problem, "drawn", constrain, objective, fix)


def best_of(instance: Any, variant: Variant, known: list[Any]) -> Any:
    """Return the best objective of the solutions that fit the variant; None if there is none."""
    owner = owner_of(instance, variant)
    best = None
    for solution in known:
        report = owner.check(instance, solution)
        if report.feasible and (best is None or report.objective.better_than(best)):
            best = report.objective
    return best


def validate_agreement(problem: str, data: st.DataObject) -> None:
    """Compare `exact` on a drawn variant with the enumeration."""
    instance = data.draw(instances(problem))
    known = solutions(instance)
    assume(known)
    variant = data.draw(changes(instance, levels=True))
    best = best_of(instance, variant, known)
    result = dlsched.solve(instance, variant=variant)
    if best is None:
        assert result.status == "infeasible", result.reason
        return
    assert result.status == "optimal", result.reason
    assert list(result.objective) == pytest.approx(list(map(float, best)), rel=1e-6, abs=1e-12)
    for level, bound in zip(result.objective.levels, result.certified, strict=True):
        value = best.as_dict()[level.name]
        if bound is None:
            break
        assert not level.better(value, Fraction(bound.value)), (level.name, value, bound)
        if value != bound.value:
            break
    assert dlsched.verify(instance, result.solution, variant=variant).feasible


@pytest.mark.parametrize("problem", PROBLEMS)
def test_exact_equals_enumeration(problem: str) -> None:
    """Objective, infeasibility, certified bounds: for rows, fixings and levels drawn at random."""

    @settings(max_examples=4, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        validate_agreement(problem, data)

    agree()


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_exact_equals_enumeration_in_many_draws(problem: str) -> None:
    """The same, 300 times."""

    @settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        validate_agreement(problem, data)

    agree()
