"""Claims that a checked solution refutes: a bound that it beats, or an infeasibility."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dlsched.objective import TOLERANCE, Bounds, Level, Objective, relative_gap
from dlsched.result import Result, Status
from dlsched.schema import Number


def refutation(label: str, result: Result, solved: Iterable[tuple[str, Objective]]) -> str:
    """Say which checked solution shows that a result's claim is false; nothing if none does.

    Parameters
    ----------
    label, result
        What claims something of its instance, and its name.
    solved
        Labels and objectives of checked solutions of the same instance.
    """
    for other, objective in solved:
        if result.status is Status.INFEASIBLE:
            return f"{label} calls {result.instance} infeasible; {other} found a solution"
        beaten = beaten_level(result.bound, objective)
        if beaten is not None:
            level, value = beaten
            bound = getattr(result.bound, level.name)
            return (
                f"{label} says that no solution of {result.instance} is better than "
                f"{level.name} = {bound}; {other} found {float(value):.10g}"
            )
    return ""


def beaten_level(bounds: Bounds, objective: Objective) -> tuple[Level, Number] | None:
    """Return the level at which a checked solution beats a bound, and its value; else ``None``.

    A later level's bound speaks of solutions that attain the earlier bounds only. A certified bound
    is beaten by any amount, a solver's figure by more than its tolerance.
    """
    for (level, value), bound in zip(objective.pairs(), bounds, strict=True):
        if bound is None:
            return None
        slack = 0.0 if bound.kind == "certified" else TOLERANCE
        if level.better(value, bound.value) and relative_gap(value, bound.value) > slack:
            return level, value
        if value != bound.value:
            return None
    return None


def standing(results: Sequence[Result], labels: Sequence[str]) -> tuple[list[Bounds], list[str]]:
    """Return the bounds that no solution among the results beats, and for each its refutation."""
    solved = [
        (label, result.objective)
        for result, label in zip(results, labels, strict=True)
        if result.objective is not None
    ]
    refuted = [refutation(label, r, solved) for label, r in zip(labels, results, strict=True)]
    kept = [result.bound for result, why in zip(results, refuted, strict=True) if not why]
    return kept, refuted
