"""Results as JSON and back, without losing a digit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dlsched.problem import problem
from dlsched.result import Bound, ByLevel, Point, Result, Seconds, Start, Status
from dlsched.schema import Number


def number_to_data(number: Number | float) -> dict[str, Any]:
    """Return ``{"value": x}``, with ``"exact": "p/q"`` where a double cannot say it."""
    if isinstance(number, Fraction) and Fraction(float(number)) != number:
        return {"value": float(number), "exact": str(number)}
    return {"value": float(number) if isinstance(number, Fraction) else number}


def number_from_data(data: Mapping[str, Any]) -> Number | float:
    """Undo `number_to_data`."""
    if "exact" in data:
        return Fraction(data["exact"])
    value: float | int = data["value"]
    return value


def bound_to_data(bound: Bound | None) -> dict[str, Any] | None:
    """Return a bound as plain data."""
    if bound is None:
        return None
    return number_to_data(bound.value) | {"kind": bound.kind, "method": bound.method}


def bound_from_data(data: Mapping[str, Any] | None) -> Bound | None:
    """Undo `bound_to_data`."""
    return Bound(number_from_data(data), data["kind"], data["method"]) if data else None


def _each(entries: ByLevel[Any], spell: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: spell(entry) for name, entry in entries.as_dict().items()}


def result_to_data(result: Result) -> dict[str, Any]:
    """Return a result as plain JSON data."""
    return {
        "problem": result.problem,
        "instance": result.instance,
        "instance_sha256": result.instance_sha256,
        "method": result.method,
        "kind": str(result.kind),
        "status": str(result.status),
        "reason": result.reason,
        "objective": _each(result.objective, number_to_data)
        if result.objective is not None
        else None,
        "bound": _each(result.bound, bound_to_data),
        "certified": _each(result.certified, bound_to_data),
        "gap": result.gap.as_dict(),
        "seconds": result.seconds._asdict(),
        "seed": result.seed,
        "options": dict(result.options),
        "details": {k: number_to_data(v) for k, v in result.details.items()},
        "solver": result.solver,
        "solver_version": result.solver_version,
        "solver_message": result.solver_message,
        "start": result.start and result.start._asdict(),
        "trajectory": [list(point) for point in result.trajectory],
        "solution": result.solution and result.solution.to_data(),
    }


def dump_result(result: Result) -> str:
    """Return a result as JSON text."""
    return json.dumps(result_to_data(result), allow_nan=False)


def load_result(text: str) -> Result:
    """Undo `dump_result`."""
    return result_from_data(json.loads(text))


def result_from_data(data: Mapping[str, Any]) -> Result:
    """Undo `result_to_data`; a record without its solution will do."""
    owner = problem(data["problem"])

    def by_level(entries: Mapping[str, Any] | None, read: Any) -> Any:
        return entries and owner.by_level([read(entries[level.name]) for level in owner.levels])

    solution = data.get("solution")
    return Result(
        problem=data["problem"],
        instance=data["instance"],
        instance_sha256=data["instance_sha256"],
        method=data["method"],
        kind=data["kind"],
        status=Status(data["status"]),
        reason=data["reason"],
        solution=solution and owner.solution.parse(solution, "the result"),
        objective=by_level(data["objective"], number_from_data),
        bound=by_level(data["bound"], bound_from_data),
        certified=by_level(data["certified"], bound_from_data),
        gap=by_level(data["gap"], lambda g: g),
        seconds=Seconds(**data["seconds"]),
        seed=data["seed"],
        options=data["options"],
        details={k: number_from_data(v) for k, v in data["details"].items()},
        trajectory=tuple(Point(*point) for point in data["trajectory"]),
        start=data["start"] and Start(**data["start"]),
        solver=data["solver"],
        solver_version=data["solver_version"],
        solver_message=data["solver_message"],
    )
