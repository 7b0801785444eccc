"""Variants that once had a wrong answer or an error without a remedy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from enumerations import solutions

import dlsched
from dlsched import Level, OptionError, Variant

FIRST = "s1"


def adds(make: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    """Return a function that adds what `make` makes."""

    def constrain(m: Any, instance: Any) -> None:
        m.added = make(m)

    return constrain


@pytest.mark.parametrize(
    "make",
    [
        lambda m: pyo.Constraint(expr=sum(0.1 * m.x[FIRST] for _ in range(3)) == 0.3),
        lambda m: pyo.Constraint(expr=0.1 * m.x[FIRST] + 0.2 == 0.3),
        lambda m: pyo.Constraint(expr=0.3 * m.x[FIRST] - 0.2 * m.x[FIRST] >= 0.1),
    ],
)
def test_coefficients_are_summed_exactly(make: Callable[[Any], Any]) -> None:
    """In floating point each row is violated by 1e-17, and the variant infeasible."""
    same = dlsched.solve("reclaiming-small-04", variant=Variant("reclaiming", "sums", adds(make)))
    fixed = Variant("reclaiming", "one", fix={f"x[{FIRST}]": 1})
    assert same.status == "optimal"
    assert same.objective == dlsched.solve("reclaiming-small-04", variant=fixed).objective


def test_a_frontier_of_levels_without_a_common_step_ends() -> None:
    """Coefficients of sixteen digits have a common step, which no solver can tell."""
    instance = dlsched.load("reclaiming-small-04")
    random = Random(1)
    cost = {server.id: (random.random(), random.random()) for server in instance.servers}

    def first(m: Any, instance: Any) -> Any:
        return sum(c * m.x[s] for s, (c, _) in cost.items())

    def second(m: Any, instance: Any) -> Any:
        return sum(c * m.x[s] for s, (_, c) in cost.items())

    levels = (Level("first", "minimize", first), Level("second", "maximize", second))
    points = dlsched.frontier(instance, levels)
    sums = {
        tuple(sum(cost[s][k] for s in found.returned) for k in (0, 1))
        for found in solutions(instance) or ()
    }
    best = [(a, b) for a, b in sums if not any(c < a and d > b for c, d in sums)]
    assert points["first"].tolist() == pytest.approx(sorted(a for a, _ in best))
    assert set(points["status"]) == {"optimal"}
    assert points["first"].is_monotonic_increasing


def test_a_study_that_a_limit_ends_says_so() -> None:
    """An empty answer would say that there is no solution."""
    assert len(dlsched.frontier("lyra-fig5", ("preempted", "collateral"), time_limit=1e-6)) == 1
    (result,) = dlsched.best_solutions("lyra-fig5", 2, time_limit=1e-6)
    assert result.status == "feasible"  # of a heuristic


def test_a_decision_that_the_variant_has_made_is_not_undone() -> None:
    """The cost would be that of another variant."""
    fixed = Variant("reclaiming", "one", fix={f"x[{FIRST}]": 1})
    with pytest.raises(OptionError, match="cannot be fixed at 0"):
        dlsched.what_if("reclaiming-small-04", [{f"x[{FIRST}]": 0}], variant=fixed)


def turned(m: Any, instance: Any) -> None:
    """Maximize what the problem minimizes."""
    m.none = pyo.Set(initialize=[1])
    m.preempted.sense = pyo.maximize


def smaller_set(m: Any, instance: Any) -> None:
    """Replace a member of a set of the problem by another one."""
    m.none = pyo.Set(initialize=[1])
    m.SERVERS.remove(m.SERVERS.first())
    m.SERVERS.add("another")


@pytest.mark.parametrize("constrain", [turned, smaller_set])
def test_what_a_component_says_is_kept(constrain: Any) -> None:
    """The other sense was solved, and its worst solution called optimal."""
    with pytest.raises(OptionError, match="a component of reclaiming's model, was changed"):
        dlsched.solve("lyra-fig5", variant=Variant("reclaiming", "turned", constrain))


def three(m: Any, instance: Any) -> Any:
    """Return a level that has one value only."""
    return 3


def test_a_level_that_is_constant_has_one_point() -> None:
    """Pyomo has no row for a limit on it, which was an error."""
    instance = dlsched.load("lyra-fig5")
    points = dlsched.frontier(instance, ("preempted", Level("three", "minimize", three)))
    assert points.to_dict("list") == {"preempted": [1.0], "three": [3.0], "status": ["optimal"]}
    levels = Variant("reclaiming", "three", levels=[Level("three", "minimize", three), "preempted"])
    best = dlsched.best_solutions(instance, 2, variant=levels)
    assert [float(result.objective.three) for result in best] == [3.0, 3.0]


def test_a_gap_of_best_solutions_is_not_negative() -> None:
    """Not even the optimum was within it: no solution, no error."""
    with pytest.raises(OptionError, match="gap=-1 must be a number from 0"):
        dlsched.best_solutions("lyra-fig5", 2, gap=-1)


def test_a_variant_of_a_variant_says_what_to_do() -> None:
    """It is no problem's name."""
    with pytest.raises(OptionError, match=r"must be the name of a problem.*calls the other's"):
        Variant(Variant("reclaiming", "one"), "two")  # type: ignore[arg-type]


def test_a_whole_number_of_numpy_may_be_fixed() -> None:
    """With the digest of Python's."""
    fixed = [Variant("reclaiming", "one", fix={"x[s1]": n}) for n in (1, np.int64(1))]
    assert fixed[0].sha256 == fixed[1].sha256


@pytest.mark.parametrize("fix", [{1: 1}, {"x[s1]": float("nan")}, {"x[s1]": float("inf")}])
def test_what_cannot_be_fixed_is_one_error(fix: Any) -> None:
    """No TypeError, nor a model that the solver rejects."""
    with pytest.raises(OptionError, match="variant no: fix"):
        Variant("reclaiming", "no", fix=fix)


def test_components_that_are_not_linear_are_refused() -> None:
    """The evaluation would not see them."""
    ordered = adds(lambda m: pyo.SOSConstraint(var=m.x, sos=1))
    with pytest.raises(OptionError, match="added is a"):
        dlsched.solve("lyra-fig5", variant=Variant("reclaiming", "ordered", ordered))


def another_each_time(m: Any, instance: Any) -> None:
    """Hold another server at each call."""
    another_each_time.calls = getattr(another_each_time, "calls", -1) + 1  # type: ignore[attr-defined]
    held = instance.servers[another_each_time.calls % 3]  # type: ignore[attr-defined]
    m.few = pyo.Constraint(expr=m.x[held.id] == 1)


def test_a_function_that_adds_something_else_the_next_time_is_one_error() -> None:
    """It reads a counter; one that only adds rows in another order is none."""
    variant = Variant("reclaiming", "another", another_each_time)
    result = dlsched.solve("reclaiming-small-04", variant=variant)
    with pytest.raises(OptionError, match="variant another: its functions added something else"):
        dlsched.verify("reclaiming-small-04", result.solution, variant=variant)

    def shuffled(m: Any, instance: Any) -> None:
        shuffled.calls = getattr(shuffled, "calls", 0) + 1  # type: ignore[attr-defined]
        m.few = pyo.ConstraintList()
        for server in instance.servers[:: (-1) ** shuffled.calls]:  # type: ignore[attr-defined]
            m.few.add(m.x[server.id] >= 0)

    variant = Variant("reclaiming", "shuffled", shuffled)
    result = dlsched.solve("reclaiming-small-04", variant=variant)
    assert dlsched.verify("reclaiming-small-04", result.solution, variant=variant).feasible


@pytest.mark.parametrize(
    ("sense", "costs"),
    [
        ("maximize", [3, 3e-9, -3, 3e-9, 1e-9]),
        ("minimize", [999999999999999.0, 1e15, 999999999999999.0, -1e15, 0.3]),
        ("maximize", [0.1, 0.2, -0.3, 1e15, -1e15]),
    ],
)
def test_levels_whose_terms_cancel(sense: str, costs: list[float]) -> None:
    """No bound is beaten, no disagreement is raised, and an optimum is that of the enumeration."""
    for seed in range(2):
        instance = dlsched.generate("reclaiming", seed, servers=5, demand=2)
        ids = [server.id for server in instance.servers]
        cost = dict(zip(ids, costs, strict=True))
        own = Level("own", sense, lambda m, _, cost=cost: sum(c * m.x[s] for s, c in cost.items()))
        variant = Variant("reclaiming", "cancels", levels=["preempted", own, "collateral"])
        reports = [
            dlsched.verify(instance, solution, variant=variant) for solution in solutions(instance)
        ]
        best = reports[0].objective
        for report in reports[1:]:
            best = report.objective if report.objective.better_than(best) else best
        result = dlsched.solve(instance, variant=variant)
        assert result.status != "optimal" or list(result.objective) == list(best), seed
        for level, bound in zip(best.levels, result.certified, strict=True):
            assert bound is None or not level.better(best.as_dict()[level.name], bound.value), seed
            if bound is None or bound.value != best.as_dict()[level.name]:
                break


def test_a_cost_that_is_constant() -> None:
    """Pyomo has no row that holds it for the level after it, which was an error."""
    data = dict(dlsched.generate("placement", 0, tables=2, regions=2, jobs=1).to_data())
    data |= {"jobs": [], "weights": {"storage": 0}}
    first = Level("first", "maximize", lambda m, _: m.x["t1", "r1"])
    variant = Variant("placement", "constant", levels=["cost", first])
    result = dlsched.solve(dlsched.load(data), variant=variant)
    assert result.status == "optimal"
    assert result.objective.cost == 0


def test_a_frontier_with_a_level_of_which_no_row_may_be_stated() -> None:
    """Utility names what solutions do not determine; the limit is on the other level."""
    instance = dlsched.generate("utility", 3, jobs=3, slots=5)

    def count(m: Any, _: Any) -> None:
        m.total = pyo.Var(bounds=(0, 100))
        m.at_least = pyo.Constraint(expr=m.total >= sum(m.z.values()))

    own = Level("cost", "minimize", lambda m, _: m.total)
    variant = Variant("utility", "counted", count)
    points = dlsched.frontier(instance, (own, "utility"), variant=variant)
    assert len(points) > 1
    assert set(points["status"]) == {"optimal"}


def test_a_frontier_of_a_level_with_a_fine_step_ends_at_zero() -> None:
    """A limit of 1e-13 is within a solver's tolerances."""
    instance = dlsched.generate("reclaiming", 0, servers=4, demand=1)

    def level(name: str, costs: list[float]) -> Level:
        return Level(name, "minimize", lambda m, _: sum(map(operator.mul, costs, m.x.values())))

    pair = (
        level("first", [0, 0.3, 0.7000000000001, 1]),
        level("second", [1, 0.70000000000003, 0, 1]),
    )
    points = dlsched.frontier(instance, pair)
    assert points["first"].tolist() == [0, 0.3, 0.7000000000001]
    assert set(points["status"]) == {"optimal"}


@pytest.mark.parametrize("study", [dlsched.best_solutions, dlsched.frontier, dlsched.what_if])
def test_studies_of_what_is_no_variant(study: Any) -> None:
    """One error, as of `solve`."""
    given = {dlsched.best_solutions: 2, dlsched.frontier: ("preempted", "collateral")}
    with pytest.raises(OptionError, match=r"variant=3 is no dlsched\.Variant"):
        study("lyra-fig5", given.get(study, []), variant=3)
