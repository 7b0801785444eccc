"""Names that modules had, and what to use instead; an entry is kept until 0.2."""

from collections.abc import Callable
from typing import Any

_BENCHMARKS = "benchmarks/claims_only of the repository has it"
MOVED: dict[str, dict[str, str]] = {
    "dlsched.problems.elastic": {"Completion": _BENCHMARKS, "jct": _BENCHMARKS},
    "dlsched.problems.placement.heuristics": {"daily": _BENCHMARKS},
    "dlsched.problems.reclaiming": {
        "frontier": f"use dlsched.frontier for two levels; for every demand, {_BENCHMARKS}",
        "nearest_optimum": _BENCHMARKS,
    },
}


def gone_from(module: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``; imports drop the text of any but an `ImportError`."""

    def getattr_(name: str) -> Any:
        if instead := MOVED[module].get(name):
            raise ImportError(f"{module} has no {name!r} any more; {instead}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return getattr_
