"""The exact method of a problem returns nothing worse than its heuristics, whatever the limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import dlsched
from dlsched import Status, Termination, registry
from dlsched.registry import Kind
from dlsched.run import Run

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
LIMITS = (1e-9, 0.05, 1.0)


def drawn(seeds: range, most: int | None = None) -> Iterator[Any]:
    """Yield a test's parameters: problem, parameters of an instance, seed."""
    for name, variants in DRAWN.items():
        for i, parameters in enumerate(variants[:most]):
            for seed in seeds:
                yield pytest.param(name, parameters, seed, id=f"{name}-{i}-{seed}")


def require_no_worse(problem: str, parameters: dict[str, Any], seed: int, limit: float) -> None:
    """Fail if a heuristic or a baseline finds better than the exact method under a limit.

    The clock of a busy machine may end one of two equal runs earlier: better is what is so in each
    of three comparisons.
    """
    instance = dlsched.generate(problem, seed, **parameters)
    exact = dlsched.solve(instance, time_limit=limit)
    assert exact.start is None
    for method in registry.problem(problem).methods.values():
        if method.kind in (Kind.HEURISTIC, Kind.BASELINE):
            for _ in range(3):
                if not finds_better(instance, method, limit, exact):
                    break
                exact = dlsched.solve(instance, time_limit=limit)
            else:
                pytest.fail(f"{method.name} finds better")


def finds_better(instance: Any, method: Any, limit: float, exact: dlsched.Result) -> bool:
    """Return whether a heuristic finds better than the exact method has."""
    try:
        found = dlsched.solve(instance, method, time_limit=limit).objective
    except dlsched.OptionError:  # not for this instance
        return False
    if found is None:
        return False
    return exact.objective is None or bool(found.better_than(exact.objective))


@pytest.mark.parametrize(
    ("problem", "parameters", "seed"),
    [
        *drawn(range(1), most=1),
        pytest.param("interleaving", {"jobs": 12, "resources": 3}, 1, id="interleaving-3-1"),
    ],
)
def test_exact_is_no_worse_at_once(problem: str, parameters: dict[str, Any], seed: int) -> None:
    """With no time at all, the solution is the best that any heuristic makes at once."""
    require_no_worse(problem, parameters, seed, LIMITS[0])


@pytest.mark.parametrize("problem", registry.BUILT_IN)
def test_exact_of_a_variant_begins_from_the_heuristics(problem: str) -> None:
    """What they find is in the answer if it fits the variant, however short the limit is."""
    instance = dlsched.generate(problem, 0, **DRAWN[problem][0])
    names = [level.name for level in registry.problem(problem).levels]
    variant = dlsched.Variant(problem, "nothing", levels=names)
    exact = dlsched.solve(instance, variant=variant, time_limit=LIMITS[0])
    best = dlsched.solve(instance, time_limit=LIMITS[0])
    assert exact.objective is not None
    assert not best.objective.better_than(exact.objective)


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(("problem", "parameters", "seed"), [*drawn(range(1, 6))])
def test_exact_is_best(problem: str, parameters: dict[str, Any], seed: int, limit: float) -> None:
    """Under any limit, the solution is at least as good as each heuristic's under it."""
    require_no_worse(problem, parameters, seed, limit)


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


def test_each_start_has_what_is_left_or_a_short_limit_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first has the whole limit, the second the rest, but at least a tenth of a second."""
    instance, call = dlsched.generate("interleaving", 1, jobs=12), registry.call
    given: dict[str, float] = {}

    def slow(chosen: Any, instance: Any, run: Any, options: Any) -> Any:
        given[chosen.name] = run.time_limit
        if chosen.name == "regroup":
            run.parent.began -= 20  # as if it took so long
        return call(chosen, instance, run, options)

    monkeypatch.setattr("dlsched.api.starting.registry.call", slow)
    for limit, least, most in ((60.0, 30, 40), (20.05, 0.1, 0.1), (0.05, 0.05, 0.05)):
        dlsched.solve(instance, time_limit=limit)
        assert limit / 2 <= given["regroup"] <= limit
        assert least <= given["swap"] <= most


def test_a_claim_worse_than_a_heuristic_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit, too, where nothing was proved; the reason says whose solution it is."""
    instance, call = dlsched.generate("elastic", 1, jobs=12), registry.call
    best = dlsched.solve(instance)
    exact = registry.problem("elastic").method("exact", instance).function

    def undecided(chosen: Any, instance: Any, run: Run, options: Any) -> Any:
        if chosen.function is exact:
            return dlsched.Claim(status=Status.NO_SOLUTION, termination=Termination.UNDECIDED)
        return call(chosen, instance, run, options)

    monkeypatch.setattr("dlsched.api.starting.registry.call", undecided)
    found = dlsched.solve(instance)
    assert (found.status, found.termination) == (Status.FEASIBLE, Termination.UNDECIDED)
    assert found.objective == best.objective and found.solution.method == "dp"
    assert found.reason == "the solution is that of prices"


def test_nothing_is_asked_after_a_heuristic_at_its_certified_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where price_round proves its own optimum, that is the exact method's, unless it has a start.

    A bound that is claimed only proves nothing.
    """
    asked: list[str] = []
    call = registry.call

    def noted(method: Any, *others: Any) -> Any:
        asked.append(method.name)
        return call(method, *others)

    monkeypatch.setattr(registry, "call", noted)
    instance = dlsched.generate("sensitivity", 2, servers=2)
    alone = dlsched.solve(instance, "price_round")
    assert alone.objective == tuple(bound.value for bound in alone.certified)
    asked.clear()
    best = dlsched.solve(instance)
    assert asked == ["price_round"]
    assert best.status is Status.OPTIMAL and best.objective == alone.objective
    assert (best.method, best.solution.method) == ("patterns", "patterns")
    assert best.certified == alone.certified
    assert best.trajectory[-1].bound == float(best.objective[0])
    assert dlsched.solve(instance, start=alone.solution).start.accepted
    assert asked[1:] == ["price_round", "patterns"]
    asked.clear()

    def only_claimed(method: Any, *others: Any) -> Any:
        claim = noted(method, *others)
        bounds = [[b._replace(kind="claimed") for b in level] for level in claim.bounds]
        return replace(claim, bounds=bounds) if method.name == "price_round" else claim

    monkeypatch.setattr(registry, "call", only_claimed)
    assert dlsched.solve(instance).status is Status.OPTIMAL
    assert asked[-1] == "patterns"
