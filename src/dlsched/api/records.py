"""Results read back from JSON; `Result.to_json` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.errors import DlschedError, InstanceError, describe
from dlsched.proofs.document import proof_from_data
from dlsched.registry import problem
from dlsched.results.objective import ByLevel, Level, bound_from_data, number_from_data
from dlsched.results.result import Limits, Point, Result, Seconds, Start, VariantLabel
from dlsched.results.status import Status, Termination, default_termination

_WHERE = "the result"
"""What errors name as their source."""


def read_result(text: str) -> Result:
    """Return the result that `Result.to_json` wrote.

    Raises
    ------
    InstanceError
        If the text is something else, or a part of it is missing.
    UnknownName
        If the problem is not known here.
    """
    remedy = "give the text that Result.to_json or dlsched solve --json wrote"
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise InstanceError(_WHERE, "", "is not an object", remedy)
        return result_from_data(data)
    except DlschedError:
        raise
    except KeyError as error:
        raise InstanceError(_WHERE, str(error.args[0]), "is missing", remedy) from error
    except RecursionError as error:
        raise InstanceError(_WHERE, "", "is nested too deeply", remedy) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InstanceError(_WHERE, "", f"cannot be read ({describe(error)})", remedy) from error


def result_from_data(data: Mapping[str, Any]) -> Result:
    """Undo `Result.to_data`; solution, proof and termination may be missing."""
    owner = problem(data["problem"])
    changed = data.get("variant")
    levels: Sequence[Level] = owner.levels
    label = None
    if changed:
        label = VariantLabel(changed["name"], changed["sha256"], changed.get("model_sha256"))
        levels = [Level(entry["name"], entry["sense"], "") for entry in changed["levels"]]

    def by_level(entries: Mapping[str, Any] | None, read: Any) -> Any:
        if entries is None:
            return None
        return ByLevel(levels, [read(entries[level.name]) for level in levels])

    solution, status = data.get("solution"), Status(data["status"])
    ended = data.get("termination") or default_termination(status)
    return Result(
        problem=data["problem"],
        instance=data["instance"],
        instance_sha256=data["instance_sha256"],
        method=data["method"],
        kind=data["kind"],
        status=status,
        termination=Termination(ended),
        reason=data["reason"],
        solution=solution and owner.solution.parse(solution, _WHERE),
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
        limits=Limits(**data["limits"]) if data.get("limits") else None,
        proof=proof_from_data(data["proof"], _WHERE) if data.get("proof") else None,
        variant=label,
        spent=dict(data.get("spent", {})),
    )
