"""Back end for solvers other than HiGHS, called through Pyomo by name."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.errors import OptionError, SolverFailure, SolverMissing, UnknownName
from dlsched.results.result import Start, Termination
from dlsched.run import Run
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.pyomo_model import pyomo_model
from dlsched.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Interface:
    """How a solver is called through Pyomo, its names for the limits, and how to install it."""

    plugin: str
    install: str
    time_limit: str | None = None
    gap: str | None = None
    threads: str | None = None
    seed: str | None = None
    seed_modulus: int = 2**31 - 1
    warm_start: bool = False


INTERFACES: dict[str, Interface] = {
    "scip": Interface(
        "scip_direct",
        "pip install 'dlsched[scip]'",
        time_limit="limits/time",
        gap="limits/gap",
        seed="randomization/randomseedshift",
    ),
    "cbc": Interface(
        "cbc",
        "apt install coinor-cbc, or conda install coincbc",
        time_limit="sec",
        gap="ratio",
        threads="threads",
        seed="randomCbcSeed",
    ),
    "glpk": Interface("glpk", "apt install glpk-utils", time_limit="tmlim", gap="mipgap"),
    "gurobi": Interface(
        "gurobi",
        "pip install gurobipy, and a licence from gurobi.com",
        time_limit="TimeLimit",
        gap="MIPGap",
        threads="Threads",
        seed="Seed",
        seed_modulus=2 * 10**9,
        warm_start=True,
    ),
    "cplex": Interface(
        "cplex",
        "the CPLEX studio of IBM, with its executable on the PATH",
        time_limit="timelimit",
        gap="mip_tolerances_mipgap",
        threads="threads",
        seed="randomseed",
        seed_modulus=2 * 10**9,
        warm_start=True,
    ),
    "xpress": Interface(
        "xpress",
        "pip install xpress, and a licence from fico.com",
        time_limit="maxtime",
        gap="miprelstop",
        threads="threads",
        seed="randomseed",
    ),
    "mosek": Interface(
        "mosek",
        "pip install mosek, and a licence from mosek.com",
        time_limit="dparam.optimizer_max_time",
        gap="dparam.mio_tol_rel_gap",
        threads="iparam.num_threads",
        seed="iparam.mio_seed",
    ),
}
"""The solvers whose options are known; ``highs`` has a back end of its own."""

# Pyomo's termination conditions by name, of both generations of its interfaces. A condition that
# is not in the table raises an error.
_TERMINATIONS = {
    "optimal": Termination.PROVED,
    "globallyOptimal": Termination.PROVED,
    "convergenceCriteriaSatisfied": Termination.PROVED,
    "infeasible": Termination.INFEASIBLE,
    "provenInfeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "maxTimeLimit": Termination.TIME_LIMIT,
    "maxIterations": Termination.ITERATION_LIMIT,
    "iterationLimit": Termination.ITERATION_LIMIT,
    "objectiveLimit": Termination.OBJECTIVE_LIMIT,
    "userInterrupt": Termination.INTERRUPTED,
    "interrupted": Termination.INTERRUPTED,
    "feasible": Termination.UNDECIDED,
    "intermediateNonInteger": Termination.UNDECIDED,
}
_INFINITE = 1e100
_NO_SOLUTION = {"infeasible", "provenInfeasible", "unbounded", "intermediateNonInteger"}
"""Conditions after which the values that a solver returns are no solution."""


class PyomoBackend:
    """A solver by its name in `INTERFACES` or Pyomo, or an executable; see `find_backend`."""

    def __init__(self, name: str) -> None:
        import pyomo.environ as pyo

        default = Interface(name, "the vendor, and put it on the PATH")
        self.name, self.interface = name, INTERFACES.get(name, default)
        if name not in INTERFACES and name not in pyo.SolverFactory and not shutil.which(name):
            raise UnknownName("solver", name, ["highs", *INTERFACES])
        self.solver = pyo.SolverFactory(self.interface.plugin)
        if not self.solver.available(exception_flag=False):
            raise SolverMissing(
                f"the solver {name!r} is not installed here; get it with: "
                f"{self.interface.install} (solver='highs' comes with dlsched)"
            )

    @property
    def version(self) -> str:
        """Version of the solver."""
        return ".".join(map(str, self.solver.version() or ["unknown"]))

    def validate_limits(self, run: Run) -> None:
        """Raise `OptionError` if the solver lacks a limit of the run."""
        self._options(run)

    def _options(self, run: Run) -> dict[str, Any]:
        """Return the run's limits as options of the solver."""
        asked = [
            ("time_limit", max(run.remaining(), 0.01), run.time_limit is not None),
            ("gap", run.gap, run.gap),
            ("seed", run.seed % self.interface.seed_modulus, run.seed),
            ("threads", run.threads, run.threads != 1),
        ]
        options: dict[str, Any] = {}
        for limit, value, given in asked:
            option = getattr(self.interface, limit)
            if given and option is None:
                known = ", ".join(n for n, i in INTERFACES.items() if getattr(i, limit))
                raise OptionError(
                    f"dlsched cannot pass {limit}= to {self.name!r}; "
                    f"leave it out, or use one of: {known}"
                )
            if given:
                options[option] = value
        if self.name == "glpk" and "tmlim" in options:
            options["tmlim"] = max(1, int(options["tmlim"]))  # whole seconds
        return options

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
        """Optimize one level; see `Backend.solve`. No progress is recorded."""
        run.record_solver(self.name, self.version)
        model = pyomo_model(form, level, start)
        used = start is not None and self.interface.warm_start
        keywords = {"load_solutions": False, "tee": run.log} | ({"warmstart": True} if used else {})
        answer = self.solver.solve(model, options=self._options(run), **keywords)
        condition = str(answer.solver.termination_condition)
        if condition not in _TERMINATIONS:
            raise SolverFailure(f"{self.name} ended with {condition}: {answer.solver.message}")
        values = None
        if condition not in _NO_SOLUTION and len(answer.solution):
            model.solutions.load_from(answer, default_variable_value=0.0)
            values = np.array([x.value for x in model.x.values()])
        low, high = answer.problem.lower_bound, answer.problem.upper_bound
        bound = low if form.sign(level) == 1 else high
        finite = bound is not None and abs(float(bound)) < _INFINITE
        passed = f"passed to {self.name}" if used else f"Pyomo passes no start to {self.name}"
        return Outcome(
            solver=self.name,
            termination=_TERMINATIONS[condition],
            message=f"{condition}: {answer.solver.message}",
            values=values,
            objective=None if values is None else form.value(level, values),
            bound=float(bound * form.conditioned(level).unit) if finite else None,
            start=None if start is None else Start(used, passed),
        )
