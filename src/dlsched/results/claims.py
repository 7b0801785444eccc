"""A method's claim as it was returned: every field read, with its type, or refused."""

import math
import numbers
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.errors import SolverDisagreement, describe, spelled
from dlsched.results.objective import SLACK, Bound
from dlsched.results.result import Claim, Start, Status, Termination
from dlsched.schema.quantities import Number, shown


def read_claim(claim: Claim, name: str) -> Claim:
    """Return a claim whose fields have their types, in objects that the method does not have.

    Status and termination may be plain text.

    Parameters
    ----------
    name
        The method's, for the message.

    Raises
    ------
    SolverDisagreement
        If a field cannot be read, or a figure is not finite.
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
