"""What the log keeps of a problem that a policy has solved."""

from __future__ import annotations

from typing import Any

from dlsched.results.result import Result


def solved_by(result: Result) -> dict[str, Any]:
    """Return what the log keeps of a result: method, status, objective and bound."""
    bound = None
    if result.bound is not None:
        bound = [None if level is None else float(level.value) for level in result.bound]
    return {
        "method": result.method,
        "status": str(result.status),
        "objective": [float(value) for value in result.objective],
        "bound": bound,
    }
