"""Claims of methods of several problems: properties, starts, signatures, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched.registry import problem
from dlsched.testing import check_heuristic, check_problem, strategies
from drawing import draws

SMALL_FLEET = {"max_servers": 8, "max_jobs": 10}
HEURISTICS: list[tuple[str, str, dict[str, Any]]] = [
    *(
        (
            "reclaiming",
            "densest",
            {"examples": draws(60), "instances": strategies.reclaiming(**options)},
        )
        for options in (
            SMALL_FLEET,
            SMALL_FLEET | {"mixed": True},
            SMALL_FLEET | {"weighted": False},
        )
    ),
    ("workers", "confined_first", {"examples": draws(40)}),
    ("placement", "annealing", {"examples": draws(6, 2)}),
    ("placement", "tempering", {"examples": draws(6, 2)}),
    ("dispatch", "counted", {"examples": draws(25, 5)}),
    ("utility", "insertion", {"examples": draws(60, 8)}),
    ("sensitivity", "price_round", {"examples": draws(25, 5), "invariant": ("names", "order")}),
]


@pytest.mark.parametrize(("problem", "method", "options"), HEURISTICS)
def test_heuristics_have_their_properties(
    problem: str, method: str, options: dict[str, Any]
) -> None:
    """Feasible, deterministic, no better than brute force, valid bounds, independent of names."""
    found = check_heuristic(problem, method, **options)
    assert found, str(found)


AGREEMENT = ("exact", "heuristics", "bounds", "renaming", "order")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "checks", "examples"),
    [
        ("reclaiming", AGREEMENT, 300),
        ("elastic", AGREEMENT, 300),
        ("workers", ("exact", "bounds", "model_assign"), 500),
        ("sensitivity", ("exact", "bounds"), 120),
    ],
)
def test_many_instances_conform(problem: str, checks: tuple[str, ...], examples: int) -> None:
    """The comparisons with brute force hold on hundreds of instances each."""
    check_problem(problem, checks=checks, examples=examples).raise_if_any()


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
    ("name", "options", "method", "levels"),
    [
        ("reclaiming", {"servers": 40}, "exact", 1),
        ("workers", {"training": 12, "loan": 16, "jobs": 30}, "arc_flow", 1),
        ("dispatch", {}, "classes", 4),
    ],
)
def test_some_levels_only(name: str, options: dict[str, Any], method: str, levels: int) -> None:
    """The levels asked for are bounded and attained, the others are not claimed."""
    made = dlsched.generate(name, 1, **options)
    some = dlsched.solve(made, method, levels=levels)
    best = dlsched.solve(made, method)
    assert (some.status, some.termination) == ("feasible", "levels_done")
    assert tuple(some.objective)[:levels] == tuple(best.objective)[:levels]
    assert not any(some.gap[:levels])
    later = len(some.bound) - levels
    assert [bound is None for bound in some.bound] == [False] * levels + [True] * later


@pytest.mark.parametrize(
    ("name", "options", "method"),
    [
        ("interleaving", {"jobs": 6, "resources": 2}, "blossom"),
        ("interleaving", {"jobs": 12, "distinct": False}, "aggregated"),
        ("interleaving", {"jobs": 12}, "column_generation"),
        ("utility", {"jobs": 5, "slots": 10}, "dantzig_wolfe"),
        ("utility", {"jobs": 60, "slots": 100}, "dantzig_wolfe"),
        ("utility", {"forking": True}, "milp"),
    ],
)
def test_the_exact_method_depends_on_the_instance(
    name: str, options: dict[str, Any], method: str
) -> None:
    """Pairs, few profiles and forking jobs have methods of their own."""
    made = dlsched.generate(name, 1, **options)
    assert problem(name).method("exact", made).name == method


FORKING = {"jobs": 2, "slots": 4, "gpus": 3, "forking": True}
GANGS = FORKING | {"forking": False}
NOT_TAKEN: list[tuple[str, dict[str, Any], str, str]] = [
    *(("utility", FORKING, method, "hadare")
      for method in ("hadar", "srtf", "insertion", "lagrangian",
                     "dantzig_wolfe")),
    *(("utility", GANGS, method, "use hadar") for method in ("forked", "hadare")),
    *(("interleaving", {"jobs": 128}, m, "column_generation") for m in ("milp", "aggregated")),
    ("sensitivity", {"servers": 64}, "milp", "use patterns"),
    ("dispatch", {"clusters": 10, "machines": 200, "pending": 60}, "milp",
     "use classes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "method", "words"), NOT_TAKEN)
def test_what_a_method_does_not_take(
    name: str, options: dict[str, Any], method: str, words: str
) -> None:
    """Instances of another kind, or too large, are refused, and another method is named."""
    made = dlsched.generate(name, 1, **options)
    with pytest.raises(dlsched.OptionError, match=words):
        dlsched.solve(made, method)
