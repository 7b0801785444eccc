"""The result of one call of a solver, and what the codes of every solver mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.results.result import Start, Status, Termination

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """The result of one call of a solver, for one level of a standard form.

    Attributes
    ----------
    solver
        Name of the solver.
    termination, message
        Why it stopped; its own termination code and message.
    values
        Values of the variables in the order of the form's columns; ``None`` without a solution.
    objective, bound
        The solver's figures, in the unit and sense of the level; ``None`` if it reports none.
    duals
        Row duals; of a linear relaxation that was solved to optimality.
    start
        Whether the start was used; ``None`` if none was given.
    basis
        HiGHS's, of a linear relaxation, where it was asked for.
    """

    solver: str
    termination: Termination
    message: str
    values: Vector | None = None
    objective: float | None = None
    bound: float | None = None
    duals: Vector | None = None
    start: Start | None = None
    basis: Any = None

    @property
    def status(self) -> Status:
        """Status of the level."""
        if self.termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
            return Status(self.termination)
        if self.values is None:
            return Status.NO_SOLUTION
        return Status.OPTIMAL if self.termination is Termination.PROVED else Status.FEASIBLE


HIGHS = {
    "kOptimal": Termination.PROVED,
    "kInfeasible": Termination.INFEASIBLE,
    "kUnbounded": Termination.UNBOUNDED,
    "kTimeLimit": Termination.TIME_LIMIT,
    "kIterationLimit": Termination.ITERATION_LIMIT,
    "kSolutionLimit": Termination.SOLUTION_LIMIT,
    "kMemoryLimit": Termination.MEMORY_LIMIT,
    "kObjectiveBound": Termination.OBJECTIVE_LIMIT,
    "kObjectiveTarget": Termination.OBJECTIVE_LIMIT,
    "kInterrupt": Termination.INTERRUPTED,
    "kHighsInterrupt": Termination.INTERRUPTED,
    "kUnknown": Termination.UNDECIDED,
}
"""HiGHS's model statuses by name. Any other one is a failure of HiGHS or an invalid model."""

PYOMO = {
    "optimal": Termination.PROVED,
    "globallyOptimal": Termination.PROVED,
    "convergenceCriteriaSatisfied": Termination.PROVED,
    "infeasible": Termination.INFEASIBLE,
    "provenInfeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasibleOrUnbounded": Termination.UNDECIDED,
    "maxTimeLimit": Termination.TIME_LIMIT,
    "maxIterations": Termination.ITERATION_LIMIT,
    "maxEvaluations": Termination.ITERATION_LIMIT,
    "iterationLimit": Termination.ITERATION_LIMIT,
    "objectiveLimit": Termination.OBJECTIVE_LIMIT,
    "userInterrupt": Termination.INTERRUPTED,
    "interrupted": Termination.INTERRUPTED,
    "feasible": Termination.UNDECIDED,
    "intermediateNonInteger": Termination.UNDECIDED,
}
"""Pyomo's termination conditions, of both generations of its interfaces."""

LOGS: Mapping[str, Mapping[str, Termination]] = {
    "glpk": {
        "RELATIVE MIP GAP TOLERANCE REACHED": Termination.PROVED,
        "TIME LIMIT EXCEEDED": Termination.TIME_LIMIT,
        "ITERATION LIMIT EXCEEDED": Termination.ITERATION_LIMIT,
        "ITERATIONS LIMIT EXCEEDED": Termination.ITERATION_LIMIT,
        "NO DUAL FEASIBLE SOLUTION": Termination.UNDECIDED,  # it may have no primal one, either
    },
    "cbc": {
        "Result - Stopped on time limit": Termination.TIME_LIMIT,
        "Result - Stopped on node limit": Termination.ITERATION_LIMIT,
        "Result - Stopped on iteration limit": Termination.ITERATION_LIMIT,
        "Result - Stopped on solution limit": Termination.SOLUTION_LIMIT,
        "Result - User ctrl-c": Termination.INTERRUPTED,
    },
}
"""By solver the lines of its log that say why it ended, where Pyomo does not pass that on."""
