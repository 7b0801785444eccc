"""Under any limit exact methods are no worse than the heuristics and the bound they begin from."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched import Stage, StageEvent, Status, registry
from dlsched.registry import Kind

DRAWN: dict[str, list[dict[str, Any]]] = {
    "reclaiming": [
        {"servers": 8, "demand": 3},
        {"servers": 60, "demand": 20, "spread": 0.9, "flexible": 0.3},
    ],
    "elastic": [{"jobs": 12}, {"jobs": 60, "elastic": 0.9}, {"jobs": 20, "loan": 12}],
    "workers": [
        {"training": 3, "loan": 3, "jobs": 8},
        {"training": 12, "loan": 16, "jobs": 30, "scenario": "ideal"},
    ],
    "interleaving": [
        {"jobs": 12},
        {"jobs": 24, "grouping": "cover"},
        {"jobs": 40, "distinct": False},
        {"jobs": 12, "resources": 3},
    ],
    "utility": [
        {"jobs": 5, "slots": 10},
        {"jobs": 8, "slots": 12, "mix": "even", "utility": "linear"},
        {"jobs": 4, "slots": 6, "forking": True},
    ],
    "placement": [
        {"tables": 6, "regions": 3, "jobs": 8},
        {"tables": 30, "regions": 4, "jobs": 40},
    ],
    "sensitivity": [{"servers": 2}, {"servers": 4, "multi": True}],
    "dispatch": [
        {"pending": 6, "machines": 8},
        {"pending": 15, "machines": 20},
        {"scope": "one"},
    ],
}
"""Parameters of the instances to draw, by problem."""
FIRST = [(name, variants[0], 0) for name, variants in DRAWN.items()]
MANY = [(name, each, seed) for name in DRAWN for each in DRAWN[name] for seed in range(1, 6)]
AT_ONCE = 1e-9


def heuristics(problem: str, instance: Any) -> list[str]:
    """Return the names of the problem's starts that are for an instance, the first one first."""
    found = []
    for start in registry.problem(problem).starts_for(instance):
        try:
            dlsched.solve(instance, start.name, time_limit=AT_ONCE)
        except dlsched.OptionError:
            continue
        found.append(start.name)
    assert found, f"{problem} has no heuristic for {instance.name}"
    return found


def require_no_worse(problem: str, parameters: dict[str, Any], seed: int, limit: float) -> None:
    """Fail if the first heuristic finds better in a third of a limit than the exact method in it.

    The clock of a busy machine may end one of two equal runs earlier: better is what is so in each
    of three comparisons.
    """
    instance = dlsched.generate(problem, seed, **parameters)
    first = heuristics(problem, instance)[0]
    for _ in range(3):
        exact = dlsched.solve(instance, time_limit=limit)
        assert exact.start is None
        found = dlsched.solve(instance, first, time_limit=limit / 3).objective
        if found is None:
            return
        if exact.objective is not None and not found.better_than(exact.objective):
            return
    pytest.fail(f"{first} finds better")


@pytest.mark.parametrize(
    ("problem", "parameters", "seed"), [*FIRST, ("interleaving", {"jobs": 12, "resources": 3}, 1)]
)
def test_exact_is_no_worse_at_once(problem: str, parameters: dict[str, Any], seed: int) -> None:
    """With no time at all, the solution is at least what the first heuristic makes at once."""
    require_no_worse(problem, parameters, seed, AT_ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [AT_ONCE, 0.05, 1.0])
@pytest.mark.parametrize(("problem", "parameters", "seed"), MANY)
def test_exact_is_best(problem: str, parameters: dict[str, Any], seed: int, limit: float) -> None:
    """Under any limit, the solution is at least as good as the first heuristic's in a third."""
    require_no_worse(problem, parameters, seed, limit)


@pytest.mark.parametrize("problem", registry.BUILT_IN)
def test_exact_of_a_variant_begins_from_the_heuristics(problem: str) -> None:
    """What they find is in the answer if it fits the variant, however short the limit is."""
    instance = dlsched.generate(problem, 0, **DRAWN[problem][0])
    names = [level.name for level in registry.problem(problem).levels]
    variant = dlsched.Variant(problem, "nothing", levels=names)
    exact = dlsched.solve(instance, variant=variant, time_limit=AT_ONCE)
    best = dlsched.solve(instance, time_limit=AT_ONCE)
    assert exact.objective is not None
    assert not best.objective.better_than(exact.objective)


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_starts_are_heuristics(name: str) -> None:
    """All names are methods that solve, and what a limit stops comes before what none stops."""
    owner = registry.problem(name)
    for parameters in DRAWN[name]:
        instance = dlsched.generate(name, 1, **parameters)
        starts = [owner.method(start.name) for start in owner.starts_for(instance)]
        assert starts and {method.kind for method in starts} <= {Kind.HEURISTIC, Kind.BASELINE}
        limited = [method.wants_run for method in starts]
        assert limited == sorted(limited, reverse=True)


@pytest.mark.parametrize("problem", registry.BUILT_IN)
def test_a_limit_does_not_change_what_is_proved(problem: str) -> None:
    """The examples of each problem end alike with a limit; its parts are named in the summary."""
    for instance in registry.problem(problem).module("generate").examples()[:3]:
        free, limited = dlsched.solve(instance), dlsched.solve(instance, time_limit=600)
        assert (limited.status, limited.objective) == (free.status, free.objective)
        assert limited.status is Status.OPTIMAL
        assert set(limited.spent) <= {"heuristics", "bound", "search"}


def test_stages_are_announced() -> None:
    """A listener hears of heuristics, bound and search; one at certified bounds ends it all."""
    instance = dlsched.generate("sensitivity", 2, servers=2)
    alone = dlsched.solve(instance, "price_round")
    events: list[StageEvent] = []
    best = dlsched.solve(instance, on_stage=events.append)
    said = [event.detail for event in events if event.stage is Stage.SEARCHING]
    assert [text for text in said if "first solution" in text] == [
        "a first solution, by price_round"
    ]
    assert best.status is Status.OPTIMAL and best.certified == alone.certified
    assert alone.objective == tuple(bound.value for bound in alone.certified)
    assert (best.method, best.solution.method) == ("patterns", "patterns")
    assert dlsched.solve(instance, start=alone.solution).start.accepted
