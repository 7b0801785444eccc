"""Claims of methods special to a problem: properties, starts, choices; what is refused by name."""

from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.registry import problem
from dlsched.testing import check_heuristic, strategies
from drawing import draws
from refused_calls import assert_refused, reports

HEURISTICS: list[tuple[str, str, dict[str, Any]]] = [
    ("reclaiming", "densest", {"instances": strategies.reclaiming(max_servers=8, mixed=True)}),
    ("reclaiming", "densest", {"instances": strategies.reclaiming(max_jobs=10, weighted=False)}),
    ("sensitivity", "price_round", {"invariant": ("names", "order")}),
]


@pytest.mark.parametrize(("problem", "method", "options"), HEURISTICS)
def test_heuristics_have_their_properties(
    problem: str, method: str, options: dict[str, Any]
) -> None:
    """On kinds of instances that the contract does not draw, or whatever the order of the file."""
    found = check_heuristic(problem, method, examples=draws(40, 15), **options)
    assert found, str(found)


STARTED: list[tuple[str, dict[str, Any], str, str]] = [
    ("elastic", {"seed": 3, "jobs": 30}, "dp", "dp"),
    ("elastic", {"seed": 3, "jobs": 30}, "milp", "dp"),
    ("placement", {"seed": 3, "tables": 8, "regions": 3, "jobs": 12, "largest": 0.4}, "exact",
     "hill_climbing"),
    ("interleaving", {"seed": 1, "jobs": 24}, "exact", "exact"),
    ("sensitivity", {"seed": 1, "servers": 3, "multi": True}, "exact", "exact"),
    ("dispatch", {"seed": 3, "machines": 10}, "counted", "classes"),
    ("dispatch", {"seed": 3, "machines": 10}, "classes", "classes"),
]  # fmt: skip
"""Parameters of an instance, the method that is started, and the one that finds the start."""


@pytest.mark.parametrize(("name", "options", "method", "starter"), STARTED)
def test_a_good_start_is_used(
    name: str, options: dict[str, Any], method: str, starter: str
) -> None:
    """A start that is better than the heuristics' is accepted, and the result is no worse."""
    made = dlsched.generate(name, **options)
    start = dlsched.solve(made, starter)
    result = dlsched.solve(made, method, start=start.solution)
    assert result.start is not None
    assert result.start.accepted, result.start.reason
    assert not start.objective.better_than(result.objective)
    assert result.status == ("feasible" if method == "counted" else "optimal")
    if result.status == start.status == "optimal":
        assert result.objective == start.objective


@pytest.mark.parametrize(
    ("name", "options", "starter"),
    [
        ("interleaving", {"jobs": 24}, "greedy"),
        ("sensitivity", {"servers": 3, "multi": True}, "proportional"),
    ],
)  # fmt: skip
def test_a_poor_start_is_said_to_be(name: str, options: dict[str, Any], starter: str) -> None:
    """Of a start that is no better than what heuristics find this is said."""
    made = dlsched.generate(name, 1, **options)
    result = dlsched.solve(made, start=dlsched.solve(made, starter).solution)
    assert result.start is not None
    assert result.start.reason == "no better than the heuristics'"


@pytest.mark.parametrize(
    ("name", "options", "method"),
    [
        ("interleaving", {"jobs": 6, "resources": 2}, "blossom"),
        ("interleaving", {"jobs": 12}, "aggregated"),
        ("interleaving", {"jobs": 64, "distinct": False}, "aggregated"),
        ("interleaving", {"jobs": 24}, "column_generation"),
        ("utility", {"jobs": 5, "slots": 10}, "dantzig_wolfe"),
        ("utility", {"jobs": 60, "slots": 100}, "dantzig_wolfe"),
        ("utility", {"forking": True}, "milp"),
    ],
)
def test_the_exact_method_depends_on_the_instance(
    name: str, options: dict[str, Any], method: str
) -> None:
    """Pairs, few profiles or jobs, and forking jobs have methods of their own."""
    made = dlsched.generate(name, 1, **options)
    assert problem(name).method("exact", made).name == method


REFUSED = reports(Path(__file__).with_name("refused.txt"))


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_refused(call: str) -> None:
    """Instances of another kind, options and parameters: it is said what is possible."""
    assert_refused(call, REFUSED[call])
