"""Problems that a policy has solved: what the log keeps of them, and what is solved once."""

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

from dlsched.results.result import Result

MOST_KNOWN: Final = 20_000
"""Solved rounds that are remembered."""

Solved = TypeVar("Solved")


class Remembered(Generic[Solved]):
    """Rounds that were solved before: equal jobs are equal instances."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Solved] = {}

    def get(self, key: Hashable, solve: Callable[[], Solved]) -> Solved:
        """Return what was solved under a key, or solve it now."""
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = solve()
        return self._known[key]


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
