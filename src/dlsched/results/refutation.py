"""Claims that a checked solution refutes: bounds that it beats, and claims of infeasibility."""

from collections.abc import Iterable, Sequence

from dlsched.results.objective import SLACK, Bounds, Level, Objective, relative_gap
from dlsched.results.result import Result, Status, Termination
from dlsched.schema.quantities import Number


def refutation(label: str, result: Result, solved: Iterable[tuple[str, Objective]]) -> str:
    """Return a sentence: which checked solution refutes a result's claim; "" if none does.

    Parameters
    ----------
    label, result
        A result, and the name of its method.
    solved
        Names of methods, and objectives of their checked solutions of the same instance.
    """
    if result.termination is Termination.REFUTED:
        return result.reason
    if result.bound[0] is None and result.status is not Status.INFEASIBLE:
        return ""  # nothing is claimed
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

    A later level's bound holds only for solutions that attain the earlier bounds. A certified
    bound is beaten by any better value, another one by a relative difference above its `SLACK`.
    """
    for (level, value), bound in zip(objective.pairs(), bounds, strict=True):
        if bound is None:
            return None
        beaten = level.better(value, bound.value)
        if beaten and relative_gap(value, bound.value) > SLACK[bound.kind]:
            return level, value
        if value != bound.value:
            return None
    return None


def standing(results: Sequence[Result], labels: Sequence[str]) -> tuple[list[Bounds], list[str]]:
    """Return the bounds that are not refuted, and per result its refutation or ""."""
    pairs = list(zip(labels, results, strict=True))
    first: dict[Objective, str] = {}  # of equal ones: a sweep may have thousands for an instance
    for label, result in pairs:
        if result.objective is not None:
            first.setdefault(result.objective, label)
    solved = [(label, objective) for objective, label in first.items()]
    refuted = [refutation(label, result, solved) for label, result in pairs]
    kept = [result.bound for result, why in zip(results, refuted, strict=True) if not why]
    return kept, refuted
