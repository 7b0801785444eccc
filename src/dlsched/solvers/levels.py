"""Lexicographic optimization of a problem's model, level by level, and the bound of its first."""

from __future__ import annotations

import time
from dataclasses import replace

from dlsched.errors import OptionError
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema.solution import Solution
from dlsched.solvers.backend import find_backend
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.garbage import no_collection
from dlsched.solvers.level_search import LevelSearch
from dlsched.solvers.single_level import ModelModule, T_contra
from dlsched.solvers.standard_form import compile_model

SOLVER_LIBRARIES = (
    "highspy",
    "scipy.sparse",
    "dlsched.solvers.pyomo_import",
    "pyomo.repn.plugins.standard_form",
)
"""What a method that solves a model preloads; importing it takes a quarter of a second."""


def solve_levels(
    instance: T_contra,
    run: Run,
    model: ModelModule[T_contra],
    depth: int | None = None,
    *,
    relaxations: bool = True,
    first: Solution | None = None,
    earlier: Earlier | None = None,
) -> Claim:
    """Solve an instance's model lexicographically.

    Parameters
    ----------
    instance, run, model
        What to solve, the limits, and the problem's ``model`` module.
    depth
        Number of levels to solve; all by default.
    relaxations
        Whether linear relaxations are solved first, for certified bounds. Not where the model is a
        part of the instance's, as a bound on its schedules alone would not be one on all.
    first
        A feasible solution of a heuristic, from which the search begins where the run has no start.
    earlier
        What is known of the same model with fewer rows; filled here if nothing is known.

    Raises
    ------
    OptionError, UnknownName, SolverMissing
        If there are fewer levels, the solver lacks a limit of the run, or is not installed.
    SolverDisagreement
        If the model is infeasible although there is a feasible start.
    """
    backend = find_backend(run.solver)
    backend.validate_limits(run)  # before the model is built
    known = first if run.known is None else run.known
    search = _build(instance, run, model)
    if isinstance(search, Claim):
        return search
    if known is not None and run.start is None:
        search.begin_from(known)
    levels = len(search.form.costs)
    if depth is not None and not (isinstance(depth, int) and 1 <= depth <= levels):
        raise OptionError(f"levels={depth} must be from 1 to {levels}")
    search.backend, search.relaxations = backend, relaxations
    if not relaxations:
        search.exact.check = None  # it knows the whole schedule's values only
    search.earlier = earlier
    shape = search.form.shape
    search.solve(levels if depth is None else depth)
    if earlier is not None and earlier.shape is None:
        earlier.shape, earlier.optima, earlier.bounds = shape, search.optima, search.bounds
    return search.claim()


def relax_first_level(instance: T_contra, run: Run, model: ModelModule[T_contra]) -> Claim:
    """Return the bound of level 1 from the duals of the linear relaxation, re-checked exactly."""
    search = _build(instance, run, model)
    if isinstance(search, Claim):
        return search
    run.announce(Stage.SEARCHING, f"the linear relaxation, {search.form.size}")
    search.bounds.append([])
    outcome = search.relax(0)
    claim = Claim(
        status=Status.NO_SOLUTION,
        termination=Termination.BOUND_ONLY,
        bounds=search.bounds,
        build_seconds=search.build_seconds,
    )
    if outcome is not None and outcome.status is not Status.OPTIMAL:
        return replace(claim, status=outcome.status, termination=outcome.termination)
    return claim


def _build(instance: T_contra, run: Run, model: ModelModule[T_contra]) -> LevelSearch | Claim:
    """Build and compile the model; a claim if a constraint without variables is violated."""
    from pyomo.common.errors import InfeasibleConstraintException

    run.announce(Stage.BUILDING, f"the model of {instance.name}")
    began = time.perf_counter()
    try:
        with no_collection():
            pyomo_model = model.build(instance)
            form = compile_model(pyomo_model)
    except InfeasibleConstraintException as error:
        return Claim(None, Status.INFEASIBLE, str(error), termination=Termination.INFEASIBLE)
    return LevelSearch(instance, run, model, pyomo_model, form, time.perf_counter() - began)
