"""A method's claim as it was returned, read with its types or refused; claims that are refuted."""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.errors import SolverDisagreement, describe, spelled
from dlsched.results.objective import SLACK, Bound, Bounds, Level, Objective, relative_gap
from dlsched.results.result import Claim, Result, Start, Status, Termination
from dlsched.schema.quantities import Number, shown


def read_claim(claim: Claim, name: str) -> Claim:
    """Return a claim whose fields have their types, in objects that the method does not have.

    Status and termination may be plain text.

    `name`: the method's, for the message. `SolverDisagreement` is raised if a field cannot be read,
    or a figure is not finite.
    """
    try:
        objective = None if claim.objective is None else _listed(claim.objective)
        return Claim(
            solution=claim.solution,
            status=Status(claim.status),
            reason=_typed("reason", claim.reason, str),
            objective=objective and [_figure("objective", value) for value in objective],
            bounds=[[_bound(bound) for bound in _listed(level)] for level in _listed(claim.bounds)],
            solver_message=_typed("solver_message", claim.solver_message, str),
            build_seconds=_seconds(claim.build_seconds),
            start=_typed("start", claim.start, Start | None),
            termination=Termination(claim.termination) if claim.termination else None,
        )
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise SolverDisagreement(
            f"{name} returned a Claim that cannot be read: {describe(error)}"
        ) from error


def _typed(field: str, value: Any, kind: Any) -> Any:
    """Return a field's value if it has its type."""
    if not isinstance(value, kind):
        raise TypeError(f"{field} is {spelled(value)}")
    return value


def _listed(values: Any) -> Sequence[Any]:
    """Return what a claim has one of for each level, or the bounds of one level."""
    if isinstance(values, (str, bytes, Mapping)):
        raise TypeError(f"{shown(values)} is no sequence")
    return [*values]


def _bound(bound: Any) -> Bound:
    value, kind = _figure("bound", bound.value), _typed("kind", bound.kind, str)
    if kind not in SLACK:
        raise ValueError(f"there is no bound of the kind {shown(kind)}")
    method = str(_typed("method", bound.method, str))
    return Bound(value, next(known for known in SLACK if known == kind), method)


def _seconds(value: object) -> float:
    seconds = float(_figure("build_seconds", value))
    if seconds < 0:
        raise ValueError(f"build_seconds is {seconds}")
    return seconds


def _figure(field: str, value: object) -> Number | float:
    """Return a plain int, fraction or double; raise if the value is not finite, or no number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{field} is {shown(value)}, which is no number")
    double = float(value)
    if not math.isfinite(double):
        raise ValueError(f"{field} is {double}, which is not finite")
    if isinstance(value, numbers.Integral):
        return int(value)
    return Fraction(value) if isinstance(value, Fraction) else double


def refutation(label: str, result: Result, solved: Iterable[tuple[str, Objective]]) -> str:
    """Return a sentence: which checked solution refutes a result's claim; "" if none does.

    `label` names the result's method, `solved` other methods with the objectives of their checked
    solutions of the instance.
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
