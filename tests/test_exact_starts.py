"""Under any limit exact methods are no worse than the heuristics and the bound they begin from."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import dlsched
from dlsched import Stage, StageEvent, Status, library, registry

SMALL = {name: [f"{name}-small-{n:02}" for n in (1, 4, 7, 10)] for name in registry.BUILT_IN}
"""Instances of the library, by problem."""
MANY = [name for name, entry in library.index().items() if entry["kind"] in ("small", "medium")]
AT_ONCE = 1e-9


def first_of(instance: Any) -> str:
    """Return the name of the first heuristic of the problem that is for an instance."""
    for start in registry.problem(instance.problem).starts_for(instance):
        with contextlib.suppress(dlsched.OptionError):
            dlsched.solve(instance, start.name, time_limit=AT_ONCE)
            return start.name
    raise AssertionError(f"there is no heuristic for {instance.name}")


def require_no_worse(name: str, limit: float) -> None:
    """Fail if the first heuristic finds better in a third of a limit than the exact method in it.

    The clock of a busy machine may end one of two equal runs earlier: better is what is so in each
    of three comparisons.
    """
    instance = dlsched.load(name)
    first = first_of(instance)
    for _ in range(3):
        exact = dlsched.solve(instance, time_limit=limit)
        assert exact.start is None
        found = dlsched.solve(instance, first, time_limit=limit / 3).objective
        if found is None:
            return
        if exact.objective is not None and not found.better_than(exact.objective):
            return
    pytest.fail(f"{first} finds better")


QUICK = [(name, AT_ONCE) for names in SMALL.values() for name in names]
LATER = [(name, limit) for name in MANY for limit in (AT_ONCE, 0.05, 1.0)]


@pytest.mark.parametrize(
    ("name", "limit"), [*QUICK, *(pytest.param(*row, marks=pytest.mark.slow) for row in LATER)]
)
def test_exact_is_best(name: str, limit: float) -> None:
    """Under any limit, the solution is at least as good as the first heuristic's in a third."""
    require_no_worse(name, limit)


@pytest.mark.parametrize("problem", [name for name in registry.BUILT_IN if name != "shares"])
def test_exact_of_a_variant_begins_from_the_heuristics(problem: str) -> None:
    """What they find is in the answer if it fits the variant, however short the limit is."""
    names = [level.name for level in registry.problem(problem).levels]
    variant = dlsched.Variant(problem, "nothing", levels=names)
    for instance in map(dlsched.load, SMALL[problem]):
        exact = dlsched.solve(instance, variant=variant, time_limit=AT_ONCE)
        first = dlsched.solve(instance, first_of(instance), time_limit=AT_ONCE)
        assert exact.objective is not None and first.objective is not None
        assert not first.objective.better_than(exact.objective)


@pytest.mark.parametrize("problem", registry.BUILT_IN)
def test_a_limit_changes_nothing_that_is_proved(problem: str) -> None:
    """Of starts, those that a limit stops come first; a proof's parts are in the summary."""
    owner = registry.problem(problem)
    for instance in owner.module("generate").examples()[:3]:
        limited = [owner.method(start.name).wants_run for start in owner.starts_for(instance)]
        assert limited and limited == sorted(limited, reverse=True)
        free, in_time = dlsched.solve(instance), dlsched.solve(instance, time_limit=600)
        assert (in_time.status, in_time.objective) == (free.status, free.objective)
        assert in_time.status is Status.OPTIMAL
        assert set(in_time.spent) <= {"heuristics", "bound", "search"}


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
