"""For people with a heuristic or a problem of their own: ready-made properties and checks.

`check_heuristic` tests what every heuristic should have; `worst_case` looks for the instance on
which one is farthest from the optimum; `check_problem` tests what every problem must fulfil. They
draw from `strategies` (Hypothesis) and compare with `oracles` (brute force). Hypothesis comes with
``pip install 'dlsched[testing]'``.
"""

from typing import TYPE_CHECKING, Any

from dlsched.extras import require
from dlsched.names import lazy
from dlsched.testing import oracles, strategies

if TYPE_CHECKING:
    from dlsched.testing.conformance import CHECKS, Conformance, check_problem
    from dlsched.testing.heuristic import Findings, check_heuristic
    from dlsched.testing.search import Finding
    from dlsched.testing.worst import Worst, worst_case

__all__ = [
    "CHECKS",
    "Conformance",
    "Finding",
    "Findings",
    "Worst",
    "check_heuristic",
    "check_problem",
    "oracles",
    "strategies",
    "worst_case",
]

_NAMES = {
    "conformance": "CHECKS Conformance check_problem",
    "heuristic": "Findings check_heuristic",
    "search": "Finding",
    "worst": "Worst worst_case",
}
_public, __dir__ = lazy(__name__, _NAMES)


def __getattr__(name: str) -> Any:
    """Import what needs Hypothesis when it is first asked for; the oracles do without."""
    if name in __all__:
        require("hypothesis", f"dlsched.testing.{name}")
    return _public(name)
