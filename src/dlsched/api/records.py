"""Results and comparisons read back; `Result.to_json` and `dlsched.save` write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.api.comparing import as_comparison
from dlsched.display.table import data_frame
from dlsched.errors import DlschedError, InstanceError, describe
from dlsched.proofs.document import proof_from_data
from dlsched.registry import problem
from dlsched.results.objective import ByLevel, Level, bound_from_data, number_from_data
from dlsched.results.result import Limits, Point, Result, Seconds, Start, VariantLabel
from dlsched.results.status import Status, Termination, default_termination
from dlsched.schema.files import read_text

if TYPE_CHECKING:
    from dlsched.display.comparison import Comparison

WHERE = "the result"
"""What errors name as their source by default."""
_TEXTS = (
    *("key", "instance", "instance_sha256", "problem", "variant", "variant_sha256", "source"),
    *("method", "resolved_method", "reason", "refuted"),
)


def load_result(path: str | Path) -> Result:
    """Load a result from a file that `dlsched.save` or ``dlsched solve --json`` wrote.

    Raises
    ------
    InstanceError
        If it is something else, or a part of it is missing.
    """
    return read_result(read_text(Path(path)), str(path))


def load_comparison(path: str | Path) -> Comparison:
    """Load what `compare` returned from a file of `dlsched.save`, or a sweep's ``runs.csv``.

    Raises
    ------
    InstanceError
        If it is something else.
    """
    remedy = "give what dlsched.save wrote, or a sweep's runs.csv"
    try:
        if Path(path).suffix == ".csv":
            import pandas as pd

            kinds = dict.fromkeys(_TEXTS, str)  # a name as 007 is none of numbers
            table = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=kinds)
            for name in table.columns.intersection(["refuted", "reason"]):
                table[name] = table[name].fillna("")
        else:
            table = data_frame(json.loads(read_text(Path(path)))["comparison"])
        known = "status" in table or not len(table)
    except DlschedError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"is no comparison ({describe(error)})"
        raise InstanceError(str(path), "", what, remedy) from None
    if not known:
        raise InstanceError(str(path), "", "is no comparison", remedy)
    return as_comparison(table)


def read_result(text: str, where: str = WHERE) -> Result:
    """Return the result that `Result.to_json` wrote.

    Parameters
    ----------
    text
        Its text.
    where
        What errors name as its source.

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
            raise InstanceError(where, "", "is not an object", remedy)
        return result_from_data(data, where)
    except DlschedError:
        raise
    except KeyError as error:
        raise InstanceError(where, str(error.args[0]), "is missing", remedy) from error
    except RecursionError as error:
        raise InstanceError(where, "", "is nested too deeply", remedy) from error
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InstanceError(where, "", f"cannot be read ({describe(error)})", remedy) from error


def result_from_data(data: Mapping[str, Any], where: str = WHERE) -> Result:
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
        solution=solution and owner.solution.parse(solution, where),
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
        proof=proof_from_data(data["proof"], where) if data.get("proof") else None,
        variant=label,
        spent=dict(data.get("spent", {})),
    )
