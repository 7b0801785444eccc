"""The result of one call of a solver."""

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
