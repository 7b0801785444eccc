"""What the drawn instances of a problem can show: at which levels a wrong optimum would be seen.

A method that ignores a level is found only on an instance with two solutions that differ at that
level and are equal before it. The brute force looks at all solutions, so it can count them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import hypothesis
from hypothesis.errors import Unsatisfiable

from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.testing.subject import Subject

_MOST = 2000
"""Instances of which the brute force looks at more solutions are not compared."""


def enumerated(subject: Subject, instance: Instance) -> list[Solution] | None:
    """Return the feasible solutions that the brute force looks at by ``check``.

    ``None`` if it evaluates by something else. With too many, the drawn instance is rejected.
    """
    oracle = subject.problem.module("oracle")
    if hasattr(oracle, "solutions"):
        return list(oracle.solutions(instance))
    if not hasattr(oracle, "check"):
        return None
    with _recording(oracle) as kept:
        oracle.brute_force(instance)
    return kept


@contextmanager
def _recording(oracle: Any) -> Iterator[list[Solution]]:
    """Keep the feasible solutions that a module evaluates within the block."""
    check = oracle.check
    kept: list[Solution] = []

    def recorded(instance: Any, solution: Any) -> Any:
        report = check(instance, solution)
        if report.feasible:
            kept.append(solution)
        if len(kept) > _MOST:
            hypothesis.reject()
        return report

    oracle.check = recorded
    try:
        yield kept
    finally:
        oracle.check = check


def blind_spots(subject: Subject) -> str:
    """Return at which levels no drawn instance has two values to choose from; "" if at none.

    If the solutions of one cannot be counted, the text says why.
    """
    unseen = [level.name for level in subject.problem.levels]
    drawn = solvable = 0

    def look(instance: Instance) -> None:
        nonlocal drawn, solvable
        known = enumerated(subject, instance)
        if known is None:
            unseen.clear()
            return
        drawn, solvable = drawn + 1, solvable + bool(known)
        for name in _deciding(subject, instance, known):
            if name in unseen:
                unseen.remove(name)

    try:
        failed = subject.each(look)
    except Unsatisfiable:  # all have too many solutions
        return ""
    if failed is not None:
        return f"exact: the solutions of a drawn instance could not be counted: {failed.message}"
    if not unseen:
        return ""
    return (
        f"exact: {solvable} of {drawn} drawn instances have a solution, and none has two that "
        f"differ first at {', '.join(unseen)}: a method that ignores this is not found; raise "
        f"examples, or let the module strategy draw such instances"
    )


def _deciding(subject: Subject, instance: Instance, known: Sequence[Solution]) -> set[str]:
    """Return the levels at which a solution first falls behind the best one."""
    reports = (subject.problem.definition(instance, solution) for solution in known)
    objectives = [report.objective for report in reports if report.objective is not None]
    if not objectives:
        return set()
    best = objectives[0]
    for objective in objectives:
        best = objective if objective.better_than(best) else best
    found = set()
    for objective in objectives:
        pairs = zip(best.pairs(), objective, strict=True)
        found |= set([level.name for (level, value), mine in pairs if mine != value][:1])
    return found
