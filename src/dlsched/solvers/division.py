"""The division of a time limit between heuristics, bound method and search, for all problems.

Of a limit the heuristics together have at most a third, the bound method at most a third, and the
search the rest. A stage that ends early leaves its time to those after it. If heuristics follow the
search, a third is kept for them.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

from dlsched.run import Run

PARTS = 3
"""Of a limit; the heuristics together have one of them at most, and the bound method one."""
HEURISTICS, BOUND, SEARCH = "heuristics", "bound", "search"
"""The stages, as results name them."""


class Division:
    """The limit of a run, of which each stage gets its part.

    The first heuristic and the bound method have a part each, even if a stage before them has
    exceeded its own, as one that builds a model may.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._part = math.inf if run.time_limit is None else run.time_limit / PARTS
        self._asked = False

    @property
    def left(self) -> float:
        """Seconds that are left of the heuristics' part."""
        return max(0.0, self._part - self.run.spent.get(HEURISTICS, 0.0))

    @contextmanager
    def heuristic(self) -> Iterator[Run]:
        """Give a run to the next heuristic: the first has the part, others what is left of it."""
        first, self._asked = not self._asked, True
        with self._timed(HEURISTICS):
            yield self.run.nested(self.left, self.run.gap, self.left if first else 0.0)

    @contextmanager
    def bound(self) -> Iterator[Run]:
        """Give a run to the bound method."""
        with self._timed(BOUND):
            yield self.run.nested(self._part, self.run.gap, self._part)

    @contextmanager
    def search(self, heuristics_follow: bool) -> Iterator[None]:
        """Keep what the heuristics that follow may take from the search."""
        limit = self.run.time_limit
        if limit is not None and heuristics_follow:
            self.run.time_limit = limit - self.left
        try:
            with self._timed(SEARCH):
                yield
        finally:
            self.run.time_limit = limit

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Add the seconds of the block to those of a stage."""
        before = self.run.elapsed()
        try:
            yield
        finally:
            spent = self.run.spent
            spent[stage] = spent.get(stage, 0.0) + self.run.elapsed() - before
