"""Components of a variant that are called as what the library adds, or that replace another."""

from __future__ import annotations

import logging
from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import solutions

import dlsched
from dlsched import OptionError
from dlsched.variants import Level, Variant

INSTANCE = dlsched.generate("reclaiming", 0, servers=6, demand=3)
FIRST = [server.id for server in INSTANCE.servers[:4]]


def at_most_one(name: str) -> Variant:
    """Return a variant that returns at most one of four servers, by a row of this name."""

    def constrain(m: Any, instance: Any) -> None:
        m.add_component(name, pyo.Constraint(expr=sum(m.x[s] for s in FIRST) <= 1))

    return Variant("reclaiming", "one", constrain)


@pytest.mark.parametrize("name", ["different", "beyond"])
def test_best_solutions_keep_a_row_that_is_called_as_theirs(name: str) -> None:
    """It was replaced: one that violates it was called the second best."""
    variant = at_most_one(name)
    for result in dlsched.best_solutions(INSTANCE, 2, variant=variant):
        assert dlsched.verify(INSTANCE, result.solution, variant=variant).feasible


def test_a_frontier_keeps_a_row_that_is_called_as_its_own() -> None:
    """It was replaced by the limit of the second point."""
    pair = ("preempted", "collateral")
    variant = at_most_one("level_limits")
    points = dlsched.frontier(INSTANCE, pair, variant=variant)
    known = [
        dlsched.verify(INSTANCE, solution, variant=variant)
        for solution in solutions(INSTANCE) or ()
    ]
    found = {tuple(report.objective) for report in known if report.feasible}
    best = [p for p in found if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in found)]
    assert points[list(pair)].to_numpy().tolist() == [list(map(float, p)) for p in sorted(best)]


@pytest.mark.parametrize("name", ["fixed", "ROW_SCALES", "UNFIXED"])
def test_a_name_that_the_library_sets_itself_is_refused(name: str) -> None:
    """The decisions of `what_if` deleted a row called fixed."""
    with pytest.raises(OptionError, match=f"{name} is a name of what this library adds"):
        dlsched.solve(INSTANCE, variant=at_most_one(name))
    level = Level(name, "minimize", lambda m, _: m.x[FIRST[0]])
    if name != "fixed":
        with pytest.raises(OptionError, match="rename it"):
            dlsched.solve(INSTANCE, variant=Variant("reclaiming", "level", levels=[level]))


def in_a_loop(m: Any, instance: Any) -> None:
    """Replace the row of each server by that of the next."""
    for server in FIRST:
        m.off = pyo.Constraint(expr=m.x[server] == 0)


def deleted_before(m: Any, instance: Any) -> None:
    """Replace a row on purpose."""
    m.off = pyo.Constraint(expr=m.x[FIRST[1]] == 0)
    m.del_component(m.off)
    m.off = pyo.Constraint(expr=m.x[FIRST[0]] == 0)


def test_a_component_that_is_set_twice_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    """Pyomo's warning was not shown, and only the last server's row counted."""
    with pytest.raises(OptionError, match=r"constrain set m\.off, which was there"):
        dlsched.solve(INSTANCE, variant=Variant("reclaiming", "loop", in_a_loop))
    result = dlsched.solve(INSTANCE, variant=Variant("reclaiming", "loop", deleted_before))
    assert FIRST[0] not in result.solution.returned
    assert not caplog.records
    assert logging.getLogger("pyomo.core").propagate


@pytest.mark.parametrize(
    ("problem", "variable", "name"),
    [
        ("sensitivity", "v", "named_choice"),
        ("workers", "w", "named_here"),
        ("workers", "w", "NAMED"),
    ],
)
def test_a_name_of_what_is_stated_for_named_jobs_is_refused(
    problem: str, variable: str, name: str
) -> None:
    """The library's rows replaced the variant's."""
    sizes = {"sensitivity": {"servers": 1}, "workers": {"training": 2, "loan": 2, "jobs": 3}}
    instance = dlsched.generate(problem, 0, **sizes[problem])

    def constrain(m: Any, given: Any) -> None:
        component = m.component(variable)
        first = next(iter(component.index_set()))
        m.add_component(name, pyo.Constraint(expr=component[first] <= 0))

    with pytest.raises(OptionError, match=f"{name} is a name of what this library adds"):
        dlsched.solve(instance, variant=Variant(problem, "clash", constrain))


@pytest.mark.parametrize("fixes", [{"x[s1]": 1}, "x[s1]", ["x[s1]"]])
def test_decisions_that_are_no_list(fixes: Any) -> None:
    """The error says how they are written."""
    with pytest.raises(OptionError, match="fixes must be a list of decisions"):
        dlsched.what_if(INSTANCE, fixes)
