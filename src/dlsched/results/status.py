"""How far a method got, and why its run ended."""

from enum import StrEnum
from typing import Self


class Status(StrEnum):
    """How far a method got; there is no other value, and no default.

    What a method of another package calls proved is a claim: the termination is then ``CLAIMED``.
    """

    OPTIMAL = "optimal"
    """Proved within the gap that was asked for; the result states the gap achieved."""
    FEASIBLE = "feasible"
    """There is a solution; nothing is proved about it beyond the bound, if there is one."""
    INFEASIBLE = "infeasible"
    """There is no solution, for the reason stated: proved, or by a solver alone and ``CLAIMED``."""
    UNBOUNDED = "unbounded"
    """Proved: the objective has no bound."""
    NO_SOLUTION = "no solution"
    """Stopped before one was found; the bound is kept."""


class Termination(StrEnum):
    """Why a run ended; `sentence` says it in words."""

    sentence: str

    def __new__(cls, value: str, sentence: str = "") -> Self:
        """Make a member of its value, with what it means."""
        member = str.__new__(cls, value)
        member._value_, member.sentence = value, sentence
        return member

    PROVED = "proved", "proved optimal"
    GAP_REACHED = "gap_reached", "proved within the gap that was asked for"
    INFEASIBLE = "infeasible", "proved infeasible"
    UNBOUNDED = "unbounded", "proved unbounded"
    FINISHED = "finished", "finished"
    BOUND_ONLY = "bound_only", "bound only"
    LEVELS_DONE = "levels_done", "fewer levels were asked for than there are"
    TIME_LIMIT = "time_limit", "time limit"
    MEMORY_LIMIT = "memory_limit", "memory limit"
    ITERATION_LIMIT = "iteration_limit", "iteration limit"
    SOLUTION_LIMIT = "solution_limit", "solution limit"
    OBJECTIVE_LIMIT = "objective_limit", "objective limit reached"
    INTERRUPTED = "interrupted", "interrupted"
    TOLERANCES = "tolerances", "the solver's tolerances leave a gap"
    UNDECIDED = "undecided", "stopped without a decision"
    CLAIMED = "claimed", "claimed by the method, not proved by dlsched"
    REFUTED = "refuted", "the method's claim is refuted"


def default_termination(status: Status) -> Termination:
    """Return why a run ended, where the method states its status only."""
    return {
        Status.OPTIMAL: Termination.PROVED,
        Status.INFEASIBLE: Termination.INFEASIBLE,
        Status.UNBOUNDED: Termination.UNBOUNDED,
        Status.FEASIBLE: Termination.FINISHED,
        Status.NO_SOLUTION: Termination.UNDECIDED,
    }[status]


FAILED = ("error", "rejected", "wall_timeout", "memory", "crashed", "killed", "changed")
"""What rows of a sweep have for a status where a run returned no result."""
