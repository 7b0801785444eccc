"""scipy.optimize.milp and SCIP on the compiled model; one thread, the run's time limit."""

from typing import Any

import numpy as np
from benchmarks.peers.levels import Answer, by_levels

from dlsched import Claim
from dlsched.run import Run
from dlsched.schema import Instance
from dlsched.solvers.standard_form import StandardForm


def scipy_milp(instance: Instance, run: Run) -> Claim:
    """scipy.optimize.milp on the whole model, level by level."""
    return by_levels(instance, run, _scipy, "scipy")


def scip(instance: Instance, run: Run) -> Claim:
    """SCIP on the whole model, level by level."""
    return by_levels(instance, run, _scip, "pyscipopt")


def _scipy(form: StandardForm, level: int, run: Run) -> Answer:
    from scipy.optimize import Bounds, LinearConstraint, milp

    sign = 1 if form.senses[level] == "min" else -1
    options: dict[str, Any] = {"mip_rel_gap": run.gap}
    if run.remaining() < float("inf"):
        options["time_limit"] = max(run.remaining(), 0.01)
    found = milp(
        sign * form.costs[level],
        integrality=form.integer.astype(int),
        bounds=Bounds(form.lower, form.upper),
        constraints=LinearConstraint(form.A, form.row_lower, form.row_upper),
        options=options,
    )
    bound = getattr(found, "mip_dual_bound", None)
    stated = None if bound is None else sign * float(bound) + form.offsets[level]
    return Answer(found.x, stated, found.status == 0, found.message)


def _scip(form: StandardForm, level: int, run: Run) -> Answer:
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/gap", run.gap)
    model.setParam("parallel/maxnthreads", run.threads)
    model.setParam("randomization/randomseedshift", run.seed)
    if run.remaining() < float("inf"):
        model.setParam("limits/time", max(run.remaining(), 0.01))
    bounds = zip(form.lower, form.upper, form.integer, strict=True)
    columns = [
        model.addVar(
            lb=None if low == -np.inf else low,
            ub=None if high == np.inf else high,
            vtype="I" if whole else "C",
        )
        for low, high, whole in bounds
    ]
    rows = form.A.tocsr()
    for i, (low, high) in enumerate(zip(form.row_lower, form.row_upper, strict=True)):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        expression = pyscipopt.quicksum(
            a * columns[j] for j, a in zip(rows.indices[part], rows.data[part], strict=True)
        )
        if low == high:
            model.addCons(expression == low)
        else:
            if low > -np.inf:
                model.addCons(expression >= low)
            if high < np.inf:
                model.addCons(expression <= high)
    costs = zip(form.costs[level].tolist(), columns, strict=True)
    sense = "minimize" if form.senses[level] == "min" else "maximize"
    model.setObjective(pyscipopt.quicksum(c * x for c, x in costs if c), sense)
    model.optimize()
    proven = model.getStatus() in ("optimal", "gaplimit")
    best = model.getBestSol() if model.getNSols() else None
    values = None if best is None else np.array([best[x] for x in columns])
    bound = model.getDualbound() + form.offsets[level]
    return Answer(values, bound if abs(bound) < 1e19 else None, proven, model.getStatus())


def glpk(instance: Instance, run: Run) -> Claim:
    """GLPK on the whole model, level by level, the solver of Sia's public code."""
    return by_levels(instance, run, _glpk, "cvxopt")


def _glpk(form: StandardForm, level: int, run: Run) -> Answer:
    from cvxopt import glpk as solver
    from cvxopt import matrix, spmatrix

    sign = 1.0 if form.senses[level] == "min" else -1.0
    rows = form.A.tocoo()
    count = form.A.shape[1]
    sides = [(form.row_upper, 1.0), (form.row_lower, -1.0), (form.upper, 1.0), (form.lower, -1.0)]
    data, places, columns, limits = [], [], [], []
    first = 0
    for limit, direction in sides:
        bound = np.isfinite(limit)
        place = np.cumsum(bound) - 1 + first
        of_rows = (
            len(limit) == form.A.shape[0] and limit is not form.upper and limit is not form.lower
        )
        i, j, v = (
            (rows.row, rows.col, rows.data)
            if of_rows
            else (np.arange(count),) * 2 + (np.ones(count),)
        )
        kept = bound[i]
        data += (direction * v[kept]).tolist()
        places += place[i[kept]].tolist()
        columns += j[kept].tolist()
        limits += (direction * limit[bound]).tolist()
        first += int(bound.sum())
    status, found = solver.ilp(
        matrix(sign * form.costs[level]),
        spmatrix(data, places, columns, (first, count)),
        matrix(limits),
        I=set(np.flatnonzero(form.integer).tolist()),
        options={"msg_lev": "GLP_MSG_OFF", "tm_lim": max(1, int(1000 * min(run.remaining(), 1e6)))},
    )
    values = None if found is None else np.array(found).ravel()
    value = None if values is None else form.value(level, values)
    return Answer(values, value, status == "optimal", status)
