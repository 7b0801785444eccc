"""Names that are gone, and what to use instead; an entry is kept until 0.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NOT_INSTALLED = "benchmarks/claims_only of the repository has it"
MOVED: dict[str, dict[str, str]] = {
    "dlsched.problems.elastic": {"Completion": NOT_INSTALLED, "jct": NOT_INSTALLED},
    "dlsched.problems.placement.heuristics": {"daily": NOT_INSTALLED},
    "dlsched.problems.reclaiming": {
        "frontier": f"use dlsched.frontier for two levels; for every demand, {NOT_INSTALLED}",
        "nearest_optimum": NOT_INSTALLED,
    },
}
"""By module, and name that it had."""


def gone_from(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module: names that are gone say what to use instead.

    They are an `ImportError`: Python drops the text of an `AttributeError` from an import.
    """

    def getattr_(name: str) -> Any:
        if instead := MOVED[module].get(name):
            raise ImportError(f"{module} has no {name!r} any more; {instead}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return getattr_
