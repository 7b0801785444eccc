"""The log of a published simulator: rows in memory, with times in seconds as floats.

Its tables are those of `dlsched.simulation.log`, less ``starts`` and ``loans``: all speeds are
stated, and nothing is lent. Work is counted in iterations. ``meta`` has ``end``, the time of the
last completion; ``slack``, the seconds within which two events are one; and where jobs of priority
0 and all others hold GPUs beside each other, ``layers``, which is ``"priority"``.
"""

from typing import Any, NamedTuple


class Log:
    """Rows by table, in the order in which they were added, and a header."""

    def __init__(self) -> None:
        self.meta: dict[str, Any] = {"slack": 0.0}
        self.tables: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in ("segments", "completions", "decisions", "timings")
        }

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row."""
        self.tables[table].append(row)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table."""
        return self.tables[table]


class DecisionRow(NamedTuple):
    """A row of the table ``decisions``."""

    time: int
    cause: str
    waiting: int
    running: int
    started: int
    preempted: int
    solved: str
