"""For people with a heuristic of their own: ready-made properties, strategies, oracles.

`check_heuristic` tests what every heuristic should have; `worst_case` looks for the instance on
which one is farthest from the optimum. Both draw from `strategies` (Hypothesis) and compare with
`oracles` (brute force). Hypothesis comes with ``pip install dlsched[testing]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.testing import oracles

if TYPE_CHECKING:
    from dlsched.testing import strategies
    from dlsched.testing.heuristic import Finding, Findings, check_heuristic
    from dlsched.testing.worst import Worst, worst_case

__all__ = [
    "Finding",
    "Findings",
    "Worst",
    "check_heuristic",
    "oracles",
    "strategies",
    "worst_case",
]

_HOMES = {
    "Finding": "heuristic",
    "Findings": "heuristic",
    "check_heuristic": "heuristic",
    "Worst": "worst",
    "worst_case": "worst",
}


def __getattr__(name: str) -> Any:
    """Import what needs Hypothesis when it is first asked for; the oracles do without."""
    import importlib

    if name == "strategies":
        return importlib.import_module("dlsched.testing.strategies")
    if name in _HOMES:
        return getattr(importlib.import_module(f"dlsched.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
