"""Results side by side: one row each, gaps to the strongest bound that any of them proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.errors import plain
from dlsched.objective import Bound, ByLevel, gap
from dlsched.refutation import standing
from dlsched.result import Result


@dataclass(frozen=True)
class Failure:
    """A run that raised instead of returning a result.

    ``status`` is ``"rejected"`` if the checker did not confirm what the method claimed,
    ``"memory"`` if it found none, else ``"error"``. ``resolved_method`` is the method that ran,
    if it came to that.
    """

    problem: str
    instance: str
    method: str
    reason: str
    status: str = "error"
    instance_sha256: str | None = None
    resolved_method: str | None = None


def comparison_rows(
    answers: Sequence[Result | Failure], asked: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return one row per answer; all answers are of the same instance.

    A bound that a checked solution among the answers beats takes no part in the gaps; the row of
    the method that claimed it says so in ``refuted``.

    Parameters
    ----------
    answers
        What the methods returned.
    asked
        The methods' names as they were asked for, which may be ``"exact"``: each row's ``method``;
        ``resolved_method`` is the one that ran. By default the two are the same.
    """
    names = [a.method for a in answers] if asked is None else asked
    pairs = [(a, name) for a, name in zip(answers, names, strict=True) if isinstance(a, Result)]
    bounds, refuted = standing([a for a, _ in pairs], [name for _, name in pairs])
    best = strongest(bounds)
    why = {id(a): said for (a, _), said in zip(pairs, refuted, strict=True)}
    return [
        (
            row(a, best if best is not None else _nothing(a), why[id(a)])
            if isinstance(a, Result)
            else _failure_row(a)
        )
        | {"method": name}
        for a, name in zip(answers, names, strict=True)
    ]


def _nothing(result: Result) -> ByLevel[Bound | None]:
    return ByLevel(result.bound.levels, [None] * len(result.bound))


def strongest(bounds: Sequence[ByLevel[Bound | None]]) -> ByLevel[Bound | None] | None:
    """Return per level the strongest of several bounds, certified before claimed.

    A later level's bounds compare only if they rest on the same value of the earlier levels, so
    those of a method whose earlier bound is weaker are passed over.
    """
    if not bounds:
        return None
    levels = bounds[0].levels
    running = list(bounds)
    chosen: list[Bound | None] = []
    for i, level in enumerate(levels):
        best: Bound | None = None
        for bound in (b[i] for b in running):
            if bound is not None and (
                best is None
                or level.better(best.value, bound.value)
                or (bound.value == best.value and bound.kind == "certified")
            ):
                best = bound
        chosen.append(best)
        running = [b for b in running if best and b[i] and b[i].value == best.value]  # type: ignore[union-attr]
    return ByLevel(levels, chosen)


def row(
    result: Result, bounds: ByLevel[Bound | None] | None = None, refuted: str = ""
) -> dict[str, Any]:
    """Return one result as a flat row, with gaps to `bounds` (its own by default)."""
    bounds = bounds if bounds is not None else result.bound
    flat: dict[str, Any] = {
        "instance": result.instance,
        "instance_sha256": result.instance_sha256,
        "problem": result.problem,
        "method": result.method,
        "resolved_method": result.method,
        "kind": str(result.kind),
        "status": str(result.status),
        "reason": plain(result.reason),
        "gap": None,
        "gap_level": None,
        "bound_kind": None,
    }
    gaps = gap(result.objective, bounds) if result.objective is not None else None
    for i, level in enumerate(result.bound.levels):
        limit = bounds[i]
        flat[level.name] = _plain(result.objective[i]) if result.objective is not None else None
        flat[f"{level.name}_bound"] = _plain(limit.value) if limit else None
        flat[f"{level.name}_gap"] = gaps[i] if gaps is not None else None
    deciding = _deciding(gaps) if gaps is not None else None
    if gaps is not None and deciding is not None and bounds[deciding] is not None:
        flat["gap"], flat["gap_level"] = gaps[deciding], result.bound.levels[deciding].name
        flat["bound_kind"] = bounds[deciding].kind  # type: ignore[union-attr]
    flat["refuted"] = refuted
    flat["seconds"] = result.seconds.total
    flat["build_seconds"], flat["solve_seconds"] = result.seconds.build, result.seconds.solve
    flat["check_seconds"] = result.seconds.check
    return flat


def _deciding(gaps: ByLevel[float | None]) -> int | None:
    """Return the first level with a gap above 0, else the last level with a gap at all."""
    stated = [i for i, g in enumerate(gaps) if g is not None]
    return next((i for i in stated if gaps[i]), stated[-1] if stated else None)


def _failure_row(failure: Failure) -> dict[str, Any]:
    return {
        "instance": failure.instance,
        "instance_sha256": failure.instance_sha256,
        "problem": failure.problem,
        "method": failure.method,
        "resolved_method": failure.resolved_method,
        "status": failure.status,
        "reason": failure.reason,
        "refuted": "",
    }


def _plain(value: Any) -> int | float:
    return value if isinstance(value, int) else float(value)
