"""What a variant may add, set and name: right, or one error that says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import Level, OptionError, Variant

INSTANCE = "reclaiming-small-04"
INF = float("inf")
NAN = float("nan")


def adds(*parts: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    """Return a function that adds what each of `parts` makes, called added0, added1, ..."""

    def constrain(m: Any, instance: Any) -> None:
        for i, make in enumerate(parts):
            m.add_component(f"added{i}", make(m))

    return constrain


def solved(*parts: Callable[[Any], Any], levels: Any = None) -> Any:
    """Return the result of a variant that adds these."""
    return dlsched.solve(INSTANCE, variant=Variant("reclaiming", "added", adds(*parts), levels))


def fixed_variable(value: float, domain: str) -> Callable[[Any], Any]:
    """Return what makes a variable that is fixed."""

    def make(m: Any) -> Any:
        variable = pyo.Var(domain=getattr(pyo, domain))
        variable.construct()
        variable.fix(value, skip_validation=True)
        return variable

    return make


@pytest.mark.parametrize("domain", ["Integers", "Reals"])
def test_an_added_variable_may_be_fixed(domain: str) -> None:
    """It is the number: servers s1 to s9 are at most what it is fixed at."""

    def limit(m: Any) -> Any:
        return pyo.Constraint(expr=sum(m.x.values()) - m.x["s1"] <= m.added0)

    demand = dlsched.load(INSTANCE).demand
    result = solved(fixed_variable(demand - 1, domain), limit)
    assert (result.status, "s1" in result.solution.returned) == ("optimal", True)
    assert solved(fixed_variable(demand - 2, domain), limit).status == "infeasible"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (fixed_variable(0.5, "Integers"), "is fixed at 0.5, which its domain"),
        (lambda m: pyo.Var(domain=[0, 3, 7]), "neither an interval nor the whole numbers"),
        (lambda m: pyo.Var(domain=pyo.RangeSet(0, 10, 2)), "neither an interval nor"),
        (lambda m: pyo.Var(domain=pyo.Integers, bounds=(0.2, 0.8)), "has no value between"),
        (lambda m: pyo.Var(bounds=(NAN, 1)), "has no value between"),
        (lambda m: pyo.Constraint(expr=m.x["s1"] >= INF), "no finite number"),
        (lambda m: pyo.Constraint(expr=m.x["s1"] == INF), "no finite number"),
        (lambda m: pyo.Constraint(expr=m.x["s1"] <= NAN), "no finite number"),
    ],
)
def test_what_cannot_be_added_is_one_error(make: Callable[[Any], Any], said: str) -> None:
    """It names the component."""
    with pytest.raises(OptionError, match=f"variant added: added0 .*{said}"):
        solved(make)


def test_bounds_of_whole_numbers_become_whole() -> None:
    """A variable from 0.5 to 1.5 is 1: the optimum of a level that it bounds is found."""

    def count(m: Any, _: Any) -> Any:
        return m.added0 + m.x["s1"]

    level = Level("count", "minimize", count)
    result = solved(
        lambda m: pyo.Var(domain=pyo.Integers, bounds=(0.5, 1.5)), levels=[level, "preempted"]
    )
    assert (result.status, result.objective[0], result.bound[0].value) == ("optimal", 1, 1)


def test_an_infinite_limit_is_none() -> None:
    """A row that is at most infinity says nothing."""
    result = solved(
        lambda m: pyo.Constraint(expr=pyo.inequality(-INF, sum(m.x.values()), INF)),
        lambda m: pyo.Constraint(expr=m.x["s1"] <= INF),
    )
    assert list(result.objective) == list(dlsched.solve(INSTANCE).objective)


def sets_granularity(m: Any, instance: Any) -> None:
    """Say that values are multiples of a thousand."""
    m.none = pyo.Set(initialize=[1])
    m.GRANULARITY["preempted"] = 1000


def replaces_granularity(m: Any, instance: Any) -> None:
    """Say so by another mapping."""
    m.none = pyo.Set(initialize=[1])
    m.GRANULARITY = {}


def sets_scales(m: Any, instance: Any) -> None:
    """Set what the library sets itself."""
    m.none = pyo.Set(initialize=[1])
    m.ROW_SCALES = {}


def switches_off(m: Any, instance: Any) -> None:
    """Deactivate the whole model."""
    m.none = pyo.Set(initialize=[1])
    m.deactivate()


@pytest.mark.parametrize(
    ("constrain", "said"),
    [
        (sets_granularity, "m.GRANULARITY belongs to reclaiming's model"),
        (replaces_granularity, "m.GRANULARITY belongs to"),
        (sets_scales, "m.ROW_SCALES belongs to"),
        (switches_off, "the model itself was deactivated"),
    ],
)
def test_what_the_model_says_of_itself_is_kept(constrain: Any, said: str) -> None:
    """Its granularities are the problem's: bounds would be rounded wrongly."""
    with pytest.raises(OptionError, match=said):
        dlsched.solve(INSTANCE, variant=Variant("reclaiming", "sets", constrain))


def test_names_without_quotation_marks_must_be_of_one_variable() -> None:
    """Of tables "a,1" and "a" in regions "2" and "1,2" both are x[a,1,2] without them."""
    data = json.dumps(dlsched.load("placement-small-01").to_data())
    loaded = json.loads(data)
    names = [loaded["tables"][0]["id"], loaded["tables"][1]["id"]]
    names += [loaded["regions"][0]["id"], loaded["regions"][1]["id"]]
    for name, other in zip(names, ["a,1", "a", "2", "1,2"], strict=True):
        data = data.replace(json.dumps(name), json.dumps(other))
    instance = dlsched.load(json.loads(data))
    with pytest.raises(OptionError, match=r"variables; write x\['a,1','2'\] or x\[a,'1,2'\]"):
        dlsched.solve(instance, variant=Variant("placement", "fixed", fix={"x[a,1,2]": 1}))
    one = Variant("placement", "one", fix={"x['a,1','2']": 1})
    assert dlsched.solve(instance, variant=one).solution.home["a,1"] == "2"


def test_a_refused_model_says_what_can_be_done_for_a_variant() -> None:
    """Not that the problem's other methods do it, which do not know the variant."""
    instance = dlsched.generate("interleaving", 1, jobs=64, distinct=True)
    with pytest.raises(
        OptionError, match=r"variant one: the model of .* the most is.*by allow alone"
    ):
        dlsched.solve(instance, variant=Variant("interleaving", "one"))


def unequal(m: Any, instance: Any) -> None:
    """Hold two servers equal; `d` is at most what they differ by where that is not stated."""
    a, b = (m.x[server.id] for server in instance.servers[:2])
    m.d = pyo.Var(bounds=(0, 1))
    m.rows = pyo.ConstraintList()
    for row in (a == b, m.d <= a + b, m.d <= 2 - a - b):
        m.rows.add(row)


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_an_optimum_of_nothing_is_proved_without_a_step(sense: Any) -> None:
    """Relative to 0 a solver's tolerance is a gap of 1; the relaxation's bound is far off."""
    sign = {"minimize": -1, "maximize": 1}[sense]
    level = Level("differ", sense, lambda m, _: sign * m.d)
    result = dlsched.solve(
        "reclaiming-small-04", variant=Variant("reclaiming", "zero", unequal, levels=[level])
    )
    assert (result.status, list(result.objective)) == ("optimal", [0]), result.reason


def test_values_of_placements_variables_have_a_step() -> None:
    """Of `near`, too, which the model has as a continuous variable."""
    instance = dlsched.load("placement-small-03")
    level = Level("both", "minimize", lambda m, _: 0.1 * sum(m.near.values()) - 0.1)
    variant = Variant("placement", "near", levels=[level])
    assert {"both": Fraction(1, 10)} == dlsched.model(instance, variant=variant).GRANULARITY
