"""The solvers that the back ends know, each tried on a tiny integer program."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dlsched.doctor.finding import Finding
from dlsched.errors import SolverMissing, describe
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.backend import find_backend
from dlsched.solvers.pyomo_backend import INTERFACES
from dlsched.solvers.standard_form import StandardForm

_OPTIMUM = 7


@dataclass(frozen=True)
class SolverState:
    """A solver: whether it is here, and whether it solves.

    Attributes
    ----------
    name, version
        As ``solver=`` takes it; what it says of itself, ``None`` if it is not installed.
    installed, works
        Whether it is found, and whether it solves a tiny integer program.
    seconds
        Wall-clock time of that.
    install, failure
        How to get it; why it does not work.
    """

    name: str
    installed: bool
    works: bool
    version: str | None = None
    seconds: float | None = None
    install: str = ""
    failure: str = ""

    @property
    def needed(self) -> bool:
        """Whether dlsched needs it: HiGHS it does."""
        return self.name == highs.NAME

    def finding(self) -> Finding | None:
        """Return what is wrong with a solver that is installed, or needed."""
        if self.works or not (self.installed or self.needed):
            return None
        remedy = self.install or "install it again, or leave it out"
        return Finding(f"the solver {self.name} does not work: {self.failure}", remedy, self.needed)


def solver_states() -> tuple[SolverState, ...]:
    """Try every solver that dlsched knows by name."""
    return tuple(try_solver(name) for name in (highs.NAME, *INTERFACES))


def try_solver(name: str) -> SolverState:
    """Maximize ``x + 2 y`` with ``x + y <= 4`` and integers up to 3: 7 by ``x = 1, y = 3``."""
    from scipy import sparse

    form = StandardForm.of(
        sparse.csc_array(np.array([[1.0, 1.0]])),
        np.array([-np.inf]),
        np.array([4.0]),
        np.array([3.0, 3.0]),
        np.array([1.0, 2.0]),
        sense="max",
    )
    install = INTERFACES[name].install if name in INTERFACES else "pip install highspy"
    run = Run(solver=name)
    try:
        outcome = find_backend(name).solve(form, 0, run, quiet=True)
    except SolverMissing:
        return SolverState(name, installed=False, works=False, install=install)
    except Exception as error:  # whatever a solver's interface raises is the answer
        failure = describe(error)
        return SolverState(name, True, False, run.solvers.get(name), None, install, failure)
    works = outcome.termination is Termination.PROVED and outcome.objective == _OPTIMUM
    failure = "" if works else f"{outcome.message}, objective {outcome.objective}"
    seconds = time.perf_counter() - run.began
    return SolverState(name, True, works, run.solvers.get(name), seconds, install, failure)
