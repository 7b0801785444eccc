"""The interface of the solvers, and the back end for a solver's name."""

from typing import Protocol

from dlsched.run import Run
from dlsched.solvers import cp_sat, highs
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.pyomo_backend import PyomoBackend
from dlsched.solvers.standard_form import StandardForm


class Backend(Protocol):
    """A solver for one level of a form: the module `highs`, `CpSat`, or a `PyomoBackend`."""

    def validate_limits(self, run: Run) -> None:
        """Raise `OptionError` if the solver lacks a limit of the run."""

    def solve(
        self,
        form: StandardForm,
        level: int,
        run: Run,
        *,
        start: Vector | None = None,
        sub_programs: bool = True,
        quiet: bool = False,
    ) -> Outcome:
        """Optimize one level within the run's limits.

        The solver's absolute tolerances are in the unit of `StandardForm.conditioned`. The search
        starts from the point `start`; no progress is recorded if `quiet`. Without `sub_programs`
        the solver need not seek solutions in smaller integer programs. `SolverFailure` is raised if
        it fails, or ends with an unknown termination code.
        """


def find_backend(name: str) -> Backend:
    """Return the back end for a solver's name.

    Raises
    ------
    UnknownName
        If Pyomo does not know the solver.
    SolverMissing
        If it is not installed; the message says how to install it.
    """
    if name == cp_sat.NAME:
        return cp_sat.CpSat()
    return highs if name == highs.NAME else PyomoBackend(name)
