"""The incumbent of a search: the best solution found so far, in the form that the search uses."""

import operator
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.schema.solution import Solution

S = TypeVar("S")
V = TypeVar("V")


class Incumbent(Generic[S, V]):
    """The best solution of a search; each better one becomes a point of the run.

    Parameters
    ----------
    run
        The run of the search.
    worth
        The value of a solution, or ``None`` if it is not feasible.
    better
        Whether the first of two values is better; by default numbers and tuples that are larger.
    shown
        The number of a value that points state.

    Attributes
    ----------
    solution, value
        The best solution and its value; ``None`` before there is one.
    bound
        The bound at present, which points state too.
    start
        What became of the caller's start; ``None`` if there was none.
    """

    solution: S | None
    value: V | None

    def __init__(
        self,
        run: Run,
        worth: Callable[[S], V | None],
        better: Callable[[Any, Any], bool] = operator.gt,
        shown: Callable[[Any], float | None] = float,
    ) -> None:
        self.run = run
        self.worth = worth
        self.better = better
        self.shown = shown
        self.solution = self.value = None
        self.bound: float | None = None
        self.start: Start | None = None

    def offer(self, solution: S, value: V | None = None) -> bool:
        """Make a solution the incumbent if it is feasible and better; return whether it is."""
        value = self.worth(solution) if value is None else value
        if value is None or (self.value is not None and not self.better(value, self.value)):
            return False
        self.solution, self.value = solution, value
        self.record()
        return True

    def begin(self, first: Callable[[], Iterable[S]], own: Callable[[Any], S]) -> None:
        """Offer what heuristics found in the run's time, or else `first`; then the caller's start.

        `first`: solutions of the search's own heuristics, called where the run's give no incumbent.
        `own`: turns a solution into the form that the search uses.
        """
        known = [s for s in self.run.found if isinstance(s, Solution)]
        if not any([self.offer(own(solution)) for solution in known]):
            for solution in first():
                self.offer(solution)
        if isinstance(self.run.start, Solution):
            better = self.offer(own(self.run.start))
            self.start = Start(
                True, "the first incumbent" if better else "no better than the heuristics'"
            )

    def record(self) -> None:
        """Record the incumbent's value and the bound as a point of the run."""
        self.run.record(None if self.value is None else self.shown(self.value), self.bound)


def nothing_to_do(solution: Solution | None, reason: str, levels: int = 1) -> Claim:
    """Return the claim that an instance without a choice is solved, with the value 0 on each level.

    `reason`: what there is none of, as a sentence; it is also how the bounds are certified.
    """
    bounds = [[Bound(0, "certified", reason)] for _ in range(levels)]
    return Claim(solution, Status.OPTIMAL, reason, [0] * levels, bounds)
