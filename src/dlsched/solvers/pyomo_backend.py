"""Any other solver that Pyomo knows, by name."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

from dlsched.errors import OptionError, SolverFailure, SolverMissing, UnknownName
from dlsched.result import Start, Status
from dlsched.run import Run
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm


@dataclass(frozen=True)
class Interface:
    """How a solver is called, what it calls our limits, and where it comes from."""

    plugin: str
    get: str
    time_limit: str | None = None
    gap: str | None = None
    threads: str | None = None
    seed: str | None = None
    largest_seed: int = 2**31 - 1
    warm_start: bool = False


INTERFACES: dict[str, Interface] = {
    "scip": Interface(
        "scip_direct", "pip install pyscipopt",
        "limits/time", "limits/gap", None, "randomization/randomseedshift",
    ),
    "cbc": Interface(
        "cbc", "apt install coinor-cbc, or conda install coincbc",
        "sec", "ratio", "threads", "randomCbcSeed",
    ),
    "glpk": Interface("glpk", "apt install glpk-utils", "tmlim", "mipgap"),
    "gurobi": Interface(
        "gurobi", "pip install gurobipy, and a licence from gurobi.com",
        "TimeLimit", "MIPGap", "Threads", "Seed", 2 * 10**9, True,
    ),
    "cplex": Interface(
        "cplex", "the CPLEX studio of IBM, with its executable on the PATH",
        "timelimit", "mip_tolerances_mipgap", "threads", "randomseed", 2 * 10**9, True,
    ),
    "xpress": Interface(
        "xpress", "pip install xpress, and a licence from fico.com",
        "maxtime", "miprelstop", "threads", "randomseed",
    ),
    "mosek": Interface(
        "mosek", "pip install mosek, and a licence from mosek.com",
        "dparam.optimizer_max_time", "dparam.mio_tol_rel_gap",
        "iparam.num_threads", "iparam.mio_seed",
    ),
}  # fmt: skip
"""The solvers whose options are known here; ``highs`` has a back end of its own."""

# Pyomo's termination conditions by name, of both generations of its interfaces:
# (status with a solution, status without one, reason). An unknown one is an error.
_VERDICTS: dict[str, tuple[Status, Status, str]] = {
    "optimal": (Status.OPTIMAL, Status.NO_SOLUTION, "proved optimal"),
    "globallyOptimal": (Status.OPTIMAL, Status.NO_SOLUTION, "proved optimal"),
    "convergenceCriteriaSatisfied": (Status.OPTIMAL, Status.NO_SOLUTION, "proved optimal"),
    "infeasible": (Status.INFEASIBLE, Status.INFEASIBLE, "proved infeasible"),
    "provenInfeasible": (Status.INFEASIBLE, Status.INFEASIBLE, "proved infeasible"),
    "unbounded": (Status.UNBOUNDED, Status.UNBOUNDED, "proved unbounded"),
    "maxTimeLimit": (Status.FEASIBLE, Status.NO_SOLUTION, "time limit"),
    "maxIterations": (Status.FEASIBLE, Status.NO_SOLUTION, "iteration limit"),
    "iterationLimit": (Status.FEASIBLE, Status.NO_SOLUTION, "iteration limit"),
    "objectiveLimit": (Status.FEASIBLE, Status.NO_SOLUTION, "objective limit reached"),
    "userInterrupt": (Status.FEASIBLE, Status.NO_SOLUTION, "interrupted"),
    "interrupted": (Status.FEASIBLE, Status.NO_SOLUTION, "interrupted"),
    "feasible": (Status.FEASIBLE, Status.NO_SOLUTION, "stopped with a feasible solution"),
    "intermediateNonInteger": (Status.NO_SOLUTION, Status.NO_SOLUTION, "stopped early"),
}


def find(name: str) -> tuple[Interface, Any]:
    """Return a solver's interface and its Pyomo object.

    Raises
    ------
    UnknownName
        If Pyomo has never heard of it.
    SolverMissing
        If it is not installed; the message says how to get it.
    """
    import pyomo.environ as pyo

    interface = INTERFACES.get(name) or Interface(name, "the vendor, and put it on the PATH")
    if name not in INTERFACES and name not in list(pyo.SolverFactory) and not shutil.which(name):
        raise UnknownName("solver", name, ["highs", *INTERFACES])
    solver = pyo.SolverFactory(interface.plugin)
    if not solver.available(exception_flag=False):
        raise SolverMissing(
            f"the solver {name!r} is not installed here; get it with: {interface.get} "
            f"(solver='highs' comes with dlsched)"
        )
    return interface, solver


def validate_solver(name: str, run: Run) -> None:
    """Raise what `solve` would: the solver is unknown, missing, or lacks a limit of the run."""
    _options(name, find(name)[0], run)


def version(name: str) -> str:
    """Return a solver's version as Pyomo reports it."""
    found = find(name)[1].version()
    return ".".join(map(str, found)) if found else "unknown"


def _options(name: str, interface: Interface, run: Run) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if run.time_limit is not None:
        asked["time_limit"] = max(run.remaining(), 0.01)
    if run.gap:
        asked["gap"] = run.gap
    if run.seed:
        asked["seed"] = run.seed % interface.largest_seed
    if run.threads != 1:
        asked["threads"] = run.threads
    options = {}
    for ours, value in asked.items():
        theirs = getattr(interface, ours)
        if theirs is None:
            raise OptionError(
                f"dlsched cannot pass {ours}= to {name!r}; leave it out, or use one of: "
                + ", ".join(n for n, i in INTERFACES.items() if getattr(i, ours))
            )
        options[theirs] = value
    if name == "glpk" and "tmlim" in options:  # whole seconds only
        options["tmlim"] = max(1, int(options["tmlim"]))
    return options


def solve(
    name: str, model: Any, form: StandardForm, level: int, run: Run, start: Vector | None = None
) -> Outcome:
    """Optimise one level of a Pyomo model with a named solver within the run's limits.

    Parameters
    ----------
    name
        Of the solver.
    model, form
        The model and its compiled form; the model holds the rows of earlier levels itself.
    start
        A point to start from; passed on to the solvers that take one through Pyomo.

    Raises
    ------
    OptionError
        If a limit was asked for that the solver does not have.
    SolverFailure
        If the solver breaks down or ends with a condition that is not on our list.
    """
    import pyomo.environ as pyo

    interface, solver = find(name)
    run.record_solver(name, version(name))
    objectives = list(model.component_data_objects(pyo.Objective))
    keywords: dict[str, Any] = {"load_solutions": False, "tee": run.log}
    if start is not None and interface.warm_start:
        form.load(start)
        keywords["warmstart"] = True
    for i, objective in enumerate(objectives):
        (objective.activate if i == level else objective.deactivate)()
    try:
        answer = solver.solve(model, options=_options(name, interface, run), **keywords)
        condition = str(answer.solver.termination_condition)
        if condition not in _VERDICTS:
            raise SolverFailure(f"{name} ended with {condition}: {answer.solver.message}")
        with_solution, without, reason = _VERDICTS[condition]
        values = None
        if with_solution in (Status.OPTIMAL, Status.FEASIBLE) and len(answer.solution):
            model.solutions.load_from(answer)
            values = form.point()
    finally:
        for objective in objectives:
            objective.activate()
    verdict = None
    if start is not None:
        verdict = Start(
            interface.warm_start,
            f"handed to {name}" if interface.warm_start else f"Pyomo passes no start to {name}",
        )
    side = answer.problem.lower_bound if form.senses[level] == "min" else answer.problem.upper_bound
    return Outcome(
        status=with_solution if values is not None else without,
        reason=reason,
        message=f"{condition}: {answer.solver.message}",
        values=values,
        objective=form.value(level, values) if values is not None else None,
        bound=float(side) if side is not None and abs(float(side)) < 1e100 else None,
        start=verdict,
    )
