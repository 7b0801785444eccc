"""Solvers other than HiGHS give the same optima, or say why they cannot."""

from __future__ import annotations

import shutil

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched.problems.reclaiming.schema import Instance
from dlsched.result import Status
from dlsched.run import Run
from dlsched.solvers.pyomo_backend import _TERMINATIONS, INTERFACES, PyomoBackend
from dlsched.solvers.standard_form import compile_model

EXECUTABLES = {"cbc": "cbc", "glpk": "glpsol"}


def need(solver: str) -> None:
    """Skip the test, with the reason, if a solver is not installed."""
    if solver == "scip":
        pytest.importorskip("pyscipopt", reason="SCIP comes with PySCIPOpt")
    elif not shutil.which(EXECUTABLES[solver]):
        pytest.skip(f"{solver} is not installed here: {INTERFACES[solver].install}")


def small(seed: int) -> Instance:
    """Return a random instance that needs a search."""
    made = dlsched.generate("reclaiming", seed=seed, servers=14, demand=5, spread=0.9, flexible=0.3)
    assert isinstance(made, Instance)
    return made


@pytest.mark.parametrize(("solver", "count"), [("scip", 30), ("cbc", 10), ("glpk", 10)])
def test_same_optima(solver: str, count: int) -> None:
    """On random instances the solver's optimum is HiGHS's, level by level."""
    need(solver)
    for seed in range(count):
        ours, theirs = dlsched.solve(small(seed)), dlsched.solve(small(seed), solver=solver)
        assert ours.status is theirs.status is Status.OPTIMAL
        assert ours.objective == theirs.objective
        assert theirs.solver == solver and theirs.solver_version not in (None, "unknown")


def test_the_named_solver_answers() -> None:
    """HiGHS's relaxation certifies, but the named solver is the one that solves."""
    need("scip")
    result = dlsched.solve(small(0), solver="scip")
    assert result.solver == "scip" and result.solver_message.startswith("optimal")


def test_unknown_name() -> None:
    """A name that nobody knows is refused with the near ones, before anything is built."""
    with pytest.raises(dlsched.UnknownName, match="did you mean 'gurobi'"):
        dlsched.solve(small(0), solver="gurobbi")


def test_unknown_name_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Pyomo's own complaints about an unknown name do not reach the terminal."""
    with pytest.raises(dlsched.UnknownName):
        dlsched.solve(small(0), solver="no-such-solver")
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize("solver", INTERFACES)
def test_missing(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is known but not installed says how to get it."""
    plugin = type(pyo.SolverFactory(INTERFACES[solver].plugin))
    monkeypatch.setattr(plugin, "available", lambda *a, **k: False)
    with pytest.raises(dlsched.SolverMissing, match="get it with") as raised:
        dlsched.solve(small(0), solver=solver)
    assert INTERFACES[solver].install in str(raised.value)


@pytest.mark.parametrize(
    ("solver", "limits"),
    [("scip", {"threads": 2}), ("glpk", {"threads": 2}), ("glpk", {"seed": 1})],
)
def test_unsupported_limit(solver: str, limits: dict[str, int]) -> None:
    """A limit that the solver does not have is refused, and those that have it are named."""
    need(solver)
    with pytest.raises(dlsched.OptionError, match="use one of: "):
        dlsched.solve(small(0), solver=solver, **limits)  # type: ignore[arg-type]


def test_every_known_plugin_exists() -> None:
    """The table of interfaces names plugins that Pyomo has."""
    known = set(pyo.SolverFactory)
    assert {interface.plugin for interface in INTERFACES.values()} <= known


def test_verdicts_name_conditions_that_exist() -> None:
    """The mapped conditions are Pyomo's, so that none is misspelt."""
    from pyomo.contrib.solver.common.results import TerminationCondition as New
    from pyomo.opt import TerminationCondition as Old

    assert set(_TERMINATIONS) <= {c.value for c in Old} | {c.name for c in New}


@pytest.mark.parametrize("solver", ["scip", "cbc", "glpk"])
def test_time_limit(solver: str) -> None:
    """A limit that strikes leaves a checked solution or none, and a bound that holds."""
    need(solver)
    instance = dlsched.generate(
        "reclaiming", servers=200, demand=60, spread=1.0, gpus=16, sizes={8: 0.5, 16: 0.5}, jobs=600
    )
    best = dlsched.solve(instance, "lyra").objective
    result = dlsched.solve(instance, solver=solver, time_limit=2, levels=1)
    assert result.status in (Status.FEASIBLE, Status.NO_SOLUTION, Status.OPTIMAL)
    assert (result.solution is None) == (result.status is Status.NO_SOLUTION)
    assert best is not None and result.bound[0] is not None and result.bound[0].value <= best[0]
    if result.status is Status.NO_SOLUTION:
        assert "time limit" in result.reason


@pytest.mark.parametrize("solver", ["scip", "cbc", "glpk"])
def test_infeasible_and_restored(solver: str) -> None:
    """An infeasible model gets its verdict, and its objectives are all active again."""
    need(solver)
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
    m.first = pyo.Objective(expr=m.x + m.y)
    m.second = pyo.Objective(expr=m.y, sense=pyo.maximize)
    m.row = pyo.Constraint(expr=2 * m.x + 2 * m.y == 1)
    outcome = PyomoBackend(solver).solve(compile_model(m), 0, Run())
    assert outcome.status is Status.INFEASIBLE and outcome.values is None
    assert m.first.active and m.second.active


@pytest.mark.parametrize("solver", ["scip", "cbc", "glpk"])
def test_maximise(solver: str) -> None:
    """A level to maximise has a bound from above and the right value."""
    need(solver)
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 9))
    m.gain = pyo.Objective(expr=3 * m.x + 2 * m.y + 1, sense=pyo.maximize)
    m.row = pyo.Constraint(expr=m.x + 2 * m.y <= 6)
    outcome = PyomoBackend(solver).solve(compile_model(m), 0, Run())
    assert outcome.status is Status.OPTIMAL and outcome.objective == 8
    assert outcome.bound is None or outcome.bound == pytest.approx(8)


def test_start_is_not_claimed_to_be_used() -> None:
    """A solver that takes no start through Pyomo says so."""
    need("scip")
    start = dlsched.solve(small(1), "lyra")
    result = dlsched.solve(small(1), solver="scip", start=start)
    assert result.start is not None and not result.start.accepted
    assert "no start" in result.start.reason
