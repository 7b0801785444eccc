"""Internal: what an exact method begins from; bounds of trusted methods."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import dlsched
from dlsched import Claim, Run, Status, Termination, registry
from dlsched.api.starting import joined
from dlsched.problems.reclaiming import Solution
from dlsched.registry import Kind, methods
from dlsched.results.objective import Bound, Level, strongest

ORDERS = [
    ("placement", {"tables": 8, "regions": 3, "jobs": 12}, ["refinement", "home_tree"]),
    (
        "placement",
        {"tables": 30, "regions": 4, "jobs": 40},
        ["annealing", "home_tree", "refinement"],
    ),
    (
        "placement",
        {"tables": 300, "regions": 4, "jobs": 40},
        ["tempering", "annealing", "home_tree", "refinement"],
    ),
    ("interleaving", {"jobs": 64}, ["column_generation", "regroup"]),
    ("interleaving", {"jobs": 256}, ["regroup", "column_generation"]),
    ("elastic", {"jobs": 12}, ["dp", "lyra"]),
    ("utility", {"jobs": 5, "slots": 10}, ["insertion", "dantzig_wolfe"]),
    ("sensitivity", {"servers": 70}, ["price_round", "pooled", "patterns", "tune"]),
    ("dispatch", {"pending": 6, "machines": 8}, ["classes", "lp", "counted", "reinserted"]),
    ("dispatch", {"pending": 90, "machines": 150}, ["counted", "reinserted"]),
]
"""Parameters of instances, and the first methods that are called, in their order."""


@pytest.mark.parametrize(("problem", "parameters", "order"), ORDERS)
def test_what_is_called(
    problem: str, parameters: dict[str, Any], order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small instances are searched first; the bound method is left out if the search begins so."""
    asked: list[str] = []

    def noted(method: Any, instance: Any, run: Run, options: Any) -> dlsched.Claim:
        asked.append(method.name)
        return dlsched.Claim(status=Status.NO_SOLUTION, termination=Termination.TIME_LIMIT)

    monkeypatch.setattr(registry, "call", noted)
    instance = dlsched.generate(problem, 1, **parameters)
    dlsched.solve(instance, time_limit=60)
    assert asked[: len(order)] == order
    bound = registry.problem(problem).bound
    assert asked.count(bound) == (problem in ("placement", "sensitivity", "dispatch"))


def test_the_bound_of_the_bound_method_is_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search of dispatch ends at once, the bounds are those of `lp`, at every level."""
    instance, call = dlsched.generate("dispatch", 1, pending=90, machines=150), registry.call

    def stopped(method: Any, instance: Any, run: Run, options: Any) -> dlsched.Claim:
        if method.kind is not Kind.EXACT:
            return call(method, instance, run, options)
        return dlsched.Claim(status=Status.NO_SOLUTION, termination=Termination.TIME_LIMIT)

    bound = dlsched.bound(instance)
    names = ("reinserted", "mast")
    monkeypatch.setattr(registry, "call", stopped)
    monkeypatch.setattr("dlsched.problems.dispatch._HEURISTICS", names)
    found = dlsched.solve(instance, time_limit=600)
    assert found.bound == bound and None not in bound
    assert found.status is Status.FEASIBLE and set(found.spent) == {"heuristics", "bound", "search"}
    assert "of the limit: heuristics " in found.summary().replace("\n ", "")


LEVELS = (Level("least", "min", "jobs"), Level("most", "max", "jobs"))


def of(*values: int | None) -> list[list[Bound]]:
    """Return bounds by level."""
    return [[] if value is None else [Bound(value, "certified", "")] for value in values]


@pytest.mark.parametrize(
    ("bounds", "others", "expected"),
    [
        ([], of(3, 5), (3, 5)),
        (of(3), of(3, 5), (3, 5)),
        (of(3, 4), of(3, 5), (3, 4)),
        (of(3, 6), of(3, 5), (3, 5)),
        (of(4, None), of(3, 5), (4, None)),  # that of level 2 holds where level 1 is 3
        (of(2, 4), of(3, 5), (3, 5)),
        (of(3, 5), [], (3, 5)),
    ],
)
def test_bounds_of_two_sources(bounds: Any, others: Any, expected: tuple[int | None, ...]) -> None:
    """A later level's bound counts only beside the stronger bounds of the levels before it."""
    found = [strongest(*pair) for pair in zip(LEVELS, joined(LEVELS, bounds, others), strict=True)]
    assert tuple(bound and bound.value for bound in found) == expected


def test_a_claim_worse_than_a_heuristic_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit, too, where nothing was proved; the reason says whose solution it is."""
    instance, call = dlsched.generate("elastic", 2, jobs=12), registry.call
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
    assert found.reason == "the solution is that of lyra"


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
    instance = dlsched.generate("sensitivity", 1, servers=10)
    best = dlsched.solve(instance)
    assert asked == ["price_round"] and best.status is Status.OPTIMAL
    assert best.trajectory[-1].bound == float(best.objective[0])
    dlsched.solve(instance, start=best.solution)
    assert asked[1:] == ["price_round", "patterns"]
    asked.clear()

    def only_claimed(method: Any, *others: Any) -> Any:
        claim = noted(method, *others)
        bounds = [[b._replace(kind="claimed") for b in level] for level in claim.bounds]
        return replace(claim, bounds=bounds) if method.name == "price_round" else claim

    monkeypatch.setattr(registry, "call", only_claimed)
    assert dlsched.solve(instance).status is Status.OPTIMAL
    assert asked[-1] == "patterns"


@pytest.fixture
def trust() -> Iterator[Any]:
    """Give what makes a function one of the library's own methods, until the test ends."""
    yield lambda method: methods.trust(method, "reclaiming") or method
    for key, (function, _) in [*methods._OWN.items()]:
        if function.__module__ == __name__:
            del methods._OWN[key]


@pytest.mark.parametrize(
    ("bounds", "bound", "certified"),
    [
        ([("certified", 0), ("claimed", 1)], ("claimed", 1), 0),
        ([("claimed", 1), ("certified", 1)], ("certified", 1), 1),
        ([("claimed", 1)], ("claimed", 1), None),
    ],
)
def test_certified_is_kept_apart(trust: Any, bounds: Any, bound: Any, certified: Any) -> None:
    """The strongest bound counts, the strongest certified one beside it."""
    stated = [[Bound(value, kind, "test") for kind, value in bounds], []]

    def method(instance: Any, run: Any) -> Claim:
        return Claim(Solution(instance="lyra-fig5", returned=("1", "2")), bounds=stated)

    result = dlsched.solve("lyra-fig5", trust(method))
    assert (result.bound[0].kind, result.bound[0].value) == bound
    assert (result.certified[0] and result.certified[0].value) == certified
