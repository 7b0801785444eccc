"""The interface of the solvers, those that Pyomo calls, and the back end for a solver's name."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from dlsched.errors import OptionError, SolverFailure, SolverMissing, UnknownName, describe
from dlsched.results.result import Start
from dlsched.run import Run
from dlsched.solvers import cp_sat, highs
from dlsched.solvers.outcome import LOGS, PYOMO, Outcome, Vector
from dlsched.solvers.pyomo_model import pyomo_model
from dlsched.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Interface:
    """How a solver is called through Pyomo, its names for the limits, and how to install it.

    Attributes
    ----------
    plugins
        Pyomo's names, between blanks: the first that is installed is used.
    time_limit, gap, threads, seed
        The solver's names, between blanks if it has several; ``None`` if it has none.
    fixed
        Options that are always given.
    """

    plugins: str
    install: str
    time_limit: str | None = None
    gap: str | None = None
    threads: str | None = None
    seed: str | None = None
    warm_start: bool = False
    fixed: Mapping[str, str] = field(default_factory=dict)


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
        fixed={"timeMode": "elapsed"},
        gap="ratio",
        threads="threads",
        seed="randomCbcSeed",
    ),
    "glpk": Interface("glpk", "apt install glpk-utils", time_limit="tmlim", gap="mipgap"),
    "gurobi": Interface(
        "gurobi gurobi_direct",
        "pip install gurobipy, and a licence from gurobi.com",
        time_limit="TimeLimit",
        gap="MIPGap",
        threads="Threads",
        seed="Seed",
        warm_start=True,
    ),
    "cplex": Interface(
        "cplex cplex_direct",
        "pip install cplex, or the CPLEX studio of IBM with its executable on the PATH",
        time_limit="timelimit",
        gap="mip_tolerances_mipgap",
        threads="threads",
        seed="randomseed",
        warm_start=True,
    ),
    "xpress": Interface(
        "xpress",
        "pip install xpress, and a licence from fico.com",
        time_limit="timelimit",  # maxtime is in whole seconds, and waits for a first solution
        gap="miprelstop",
        threads="threads",
        seed="randomseed",
    ),
    "mosek": Interface(
        "mosek",
        "pip install mosek, and a licence from mosek.com",
        time_limit="dparam.optimizer_max_time dparam.mio_max_time",  # of integer programs, too
        gap="dparam.mio_tol_rel_gap",
        threads="iparam.num_threads",
        seed="iparam.mio_seed",
    ),
}
"""The solvers whose options are known."""
BUILT_IN = {"highs": "pip install highspy", "cp_sat": "pip install 'dlsched[cp_sat]'"}
"""The solvers with back ends of their own, and how to install them."""

_UNSAID = ("other", "error")
"""What Pyomo says of Xpress at any limit, with a solution and without."""
_XPRESS_TIME_LIMIT = 1
"""Xpress's attribute STOPSTATUS at its time limit (StopType.TIMELIMIT)."""
_INFINITE = 1e100
_SEEDS = 2 * 10**9
"""Every solver takes seeds below this."""
_GLPK_BOUND = re.compile(r"(?:mip =|>>>>>).*>=\s*([-+0-9.e]+) ")
"""A line of GLPK's log of a minimization, with the bound of the tree at that time."""
_NO_SOLUTION = {"infeasible", "provenInfeasible", "unbounded", "intermediateNonInteger"}
"""Conditions after which the values that a solver returns are no solution."""


def require_known(name: str) -> None:
    """Raise `UnknownName` if neither Pyomo nor the shell knows a solver of this name."""
    if name in (*BUILT_IN, *INTERFACES):
        return
    import pyomo.environ as pyo

    if name not in pyo.SolverFactory and not shutil.which(name):
        raise UnknownName("solver", name, [*BUILT_IN, *INTERFACES])


class PyomoBackend:
    """A solver by its name in `INTERFACES` or Pyomo, or an executable; see `find_backend`."""

    def __init__(self, name: str) -> None:
        default = Interface(name, "the vendor, and put it on the PATH")
        known = INTERFACES.get(name.removesuffix("_direct"), default)
        if name not in INTERFACES and known is not default:
            known = replace(known, plugins=name)
        self.name, self.interface = name, known
        require_known(name)
        self.solver = self._available()
        if self.solver is None:
            raise SolverMissing(
                f"the solver {name!r} is not installed here; get it with: "
                f"{self.interface.install} (solver='highs' comes with dlsched)"
            )

    def _available(self) -> Any:
        """Return the first of Pyomo's interfaces that is installed; None if none is."""
        import pyomo.environ as pyo

        solvers = map(pyo.SolverFactory, self.interface.plugins.split())
        return next((s for s in solvers if s.available(exception_flag=False)), None)

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
            ("seed", run.seed % _SEEDS, run.seed),
            ("threads", run.threads, run.threads != 1),
        ]
        options: dict[str, Any] = dict(self.interface.fixed)
        for limit, value, given in asked:
            option = getattr(self.interface, limit)
            if given and option is None:
                known = ", ".join(n for n, i in INTERFACES.items() if getattr(i, limit))
                raise OptionError(
                    f"dlsched cannot pass {limit}= to {self.name!r}; "
                    f"leave it out, or use one of: {known}"
                )
            options |= dict.fromkeys(option.split() if given else (), value)
        if self.name == "glpk" and "tmlim" in options:
            options["tmlim"] = max(1, int(options["tmlim"]))  # whole seconds
        return options

    def solve(
        self, form: StandardForm, level: int, run: Run, *, start: Vector | None = None, **_: bool
    ) -> Outcome:
        """Optimize one level; see `Backend.solve`. No progress is recorded."""
        run.record_solver(self.name, self.version)
        model = pyomo_model(form, level, start, minimize=True)
        used = start is not None and self.interface.warm_start
        keywords = {"load_solutions": False, "tee": run.log} | ({"warmstart": True} if used else {})
        options = self._options(run) | dict(run.solver_options)
        run.options_used = True
        try:
            answer = self.solver.solve(model, options=options, **keywords)
        except Exception as error:  # each vendor has exceptions of its own: licences, sizes, names
            raise SolverFailure(
                f"{self.name} cannot solve the model ({describe(error)}); see the solver's licence "
                "and limits, and solver_options, or use solver='highs'"
            ) from error
        condition = str(answer.solver.termination_condition)
        if condition in _UNSAID:
            attributes = getattr(getattr(self.solver, "_solver_model", None), "attributes", None)
            if getattr(attributes, "stopstatus", None) == _XPRESS_TIME_LIMIT:
                condition = "maxTimeLimit"
        log = str(getattr(self.solver, "_log", ""))
        said = next((line for line in LOGS.get(self.name, {}) if line in log), None)
        message = f"{condition}: {said or answer.solver.message}".removesuffix(": <undefined>")
        if said is None and condition not in PYOMO:
            raise SolverFailure(f"{self.name} ended with {message}")
        values = None
        if condition not in _NO_SOLUTION and len(answer.solution):
            answer.solver.status = "ok"  # of a limit, too, after which Pyomo would warn
            model.solutions.load_from(answer, default_variable_value=0.0)
            values = np.array([x.value for x in model.x.values()])
        bound = answer.problem.lower_bound
        if self.name == "glpk" and condition != "optimal":
            bound = next((float(stated) for stated in reversed(_GLPK_BOUND.findall(log))), None)
        if bound is not None and abs(float(bound)) >= _INFINITE:
            bound = None
        unit = form.sign(level) * form.conditioned(level).unit
        passed = f"passed to {self.name}" if used else f"Pyomo passes no start to {self.name}"
        return Outcome(
            solver=self.name,
            termination=PYOMO[condition] if said is None else LOGS[self.name][said],
            message=message,
            values=values,
            objective=None if values is None else form.value(level, values),
            bound=None if bound is None else float(bound * unit),
            start=None if start is None else Start(used, passed),
        )


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

    `UnknownName` is raised if Pyomo does not know the solver; `SolverMissing` if it is not
    installed; the message says how to install it.
    """
    if name == cp_sat.NAME:
        return cp_sat.CpSat()
    return highs if name == highs.NAME else PyomoBackend(name)
