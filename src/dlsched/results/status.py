"""How far a method got, and why its run ended."""

from __future__ import annotations

from enum import StrEnum


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

    PROVED = "proved"
    GAP_REACHED = "gap_reached"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    FINISHED = "finished"
    BOUND_ONLY = "bound_only"
    LEVELS_DONE = "levels_done"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    ITERATION_LIMIT = "iteration_limit"
    SOLUTION_LIMIT = "solution_limit"
    OBJECTIVE_LIMIT = "objective_limit"
    INTERRUPTED = "interrupted"
    TOLERANCES = "tolerances"
    UNDECIDED = "undecided"
    CLAIMED = "claimed"
    REFUTED = "refuted"

    @property
    def sentence(self) -> str:
        """What it means."""
        return _SENTENCES[self]


_SENTENCES = {
    Termination.PROVED: "proved optimal",
    Termination.GAP_REACHED: "proved within the gap that was asked for",
    Termination.INFEASIBLE: "proved infeasible",
    Termination.UNBOUNDED: "proved unbounded",
    Termination.FINISHED: "finished",
    Termination.BOUND_ONLY: "bound only",
    Termination.LEVELS_DONE: "fewer levels were asked for than there are",
    Termination.TIME_LIMIT: "time limit",
    Termination.MEMORY_LIMIT: "memory limit",
    Termination.ITERATION_LIMIT: "iteration limit",
    Termination.SOLUTION_LIMIT: "solution limit",
    Termination.OBJECTIVE_LIMIT: "objective limit reached",
    Termination.INTERRUPTED: "interrupted",
    Termination.TOLERANCES: "the solver's tolerances leave a gap",
    Termination.UNDECIDED: "stopped without a decision",
    Termination.CLAIMED: "claimed by the method, not proved by dlsched",
    Termination.REFUTED: "the method's claim is refuted",
}


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
