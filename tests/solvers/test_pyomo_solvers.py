"""The back end for solvers other than HiGHS: optima, limits, names, missing solvers."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyomo.environ as pyo
import pytest
from forms import INF, make_form

import dlsched
from dlsched import Run, Termination
from dlsched.doctor import INTERFACES, find_backend, highs
from dlsched.problems.reclaiming import Instance, model
from dlsched.problems.sensitivity import model as sensitivity_model
from dlsched.results.result import Status
from dlsched.solvers.pyomo_backend import PyomoBackend
from dlsched.solvers.standard_form import compile_model
from dlsched.solvers.terminations import LOGS, PYOMO

EXECUTABLES = {"cbc": "cbc", "glpk": "glpsol"}


def need(solver: str) -> None:
    """Skip the test, with the reason, if a solver is not installed."""
    if solver == "scip":
        pytest.importorskip("pyscipopt", reason="SCIP comes with PySCIPOpt")
    elif not shutil.which(EXECUTABLES[solver]):
        pytest.skip(f"{solver} is not installed here: {INTERFACES[solver].install}")


@pytest.fixture(params=["scip", *EXECUTABLES])
def solver(request: pytest.FixtureRequest) -> str:
    """Give the name of each solver that is installed."""
    need(request.param)
    return str(request.param)


def small(seed: int) -> Instance:
    """Return a random instance that needs a search."""
    made = dlsched.generate("reclaiming", seed=seed, servers=14, demand=5, spread=0.9, flexible=0.3)
    assert isinstance(made, Instance)
    return made


def test_same_optima(solver: str) -> None:
    """On random instances the solver's optima are those of HiGHS, level by level."""
    for seed in range(12 if solver == "scip" else 10):
        expected, found = dlsched.solve(small(seed)), dlsched.solve(small(seed), solver=solver)
        assert expected.status is found.status is Status.OPTIMAL
        assert expected.objective == found.objective
        assert found.solver == solver and found.solver_version not in (None, "unknown")
        assert solver != "scip" or found.solver_message.startswith("optimal")


def test_unknown_name(capfd: pytest.CaptureFixture[str]) -> None:
    """It is an error that suggests similar names; Pyomo's own complaints are not printed."""
    with pytest.raises(dlsched.UnknownName, match="did you mean 'gurobi'"):
        dlsched.solve(small(0), solver="gurobbi")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", INTERFACES)
def test_missing(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a solver that is not installed says how to install it."""
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
    """The error for a limit that the solver lacks names the solvers that have it."""
    need(solver)
    with pytest.raises(dlsched.OptionError, match="use one of: "):
        dlsched.solve(small(0), solver=solver, **limits)  # type: ignore[arg-type]


def test_names_are_those_of_pyomo() -> None:
    """The table of interfaces names plugins that Pyomo has, that of conditions its conditions."""
    from pyomo.contrib.solver.common.results import TerminationCondition as New
    from pyomo.opt import TerminationCondition as Old

    assert set(LOGS) <= set(INTERFACES)
    known = set(pyo.SolverFactory)
    assert {interface.plugin for interface in INTERFACES.values()} <= known
    assert set(PYOMO) <= {c.value for c in Old} | {c.name for c in New}


def test_time_limit(solver: str) -> None:
    """After the limit there is a checked solution or none, and a bound that holds."""
    instance = dlsched.generate(
        "reclaiming", servers=200, demand=60, spread=1.0, gpus=16, sizes={8: 0.5, 16: 0.5}, jobs=600
    )
    best = dlsched.solve(instance, "lyra").objective
    result = dlsched.solve(instance, solver=solver, time_limit=1, levels=1)
    assert result.status in (Status.FEASIBLE, Status.NO_SOLUTION, Status.OPTIMAL)
    assert (result.solution is None) == (result.status is Status.NO_SOLUTION)
    assert best is not None and result.bound[0] is not None and result.bound[0].value <= best[0]
    assert result.termination in (Termination.TIME_LIMIT, Termination.LEVELS_DONE)


@pytest.mark.parametrize("name", ["highs", "scip", *EXECUTABLES])
def test_a_gap_that_is_reached_is_a_proof(name: str) -> None:
    """Also GLPK's, which then calls its solution feasible, and states the bound in its log."""
    if name != "highs":
        need(name)
    form = compile_model(model.build(many_loans()))
    outcome = find_backend(name).solve(form, 0, Run(gap=0.2, solver=name))
    assert outcome.status is Status.OPTIMAL and outcome.objective is not None
    assert outcome.bound is not None and 29 >= outcome.bound >= 0.8 * outcome.objective
    result = dlsched.solve(many_loans(), "milp", solver=name, gap=0.2)
    assert result.status is Status.OPTIMAL and max(filter(None, result.gap), default=0) <= 0.2


def many_loans() -> Instance:
    """Return an instance of which 29 is the optimum of the first level."""
    sizes = {8: 0.5, 16: 0.5}
    options = {"servers": 60, "demand": 20, "spread": 1.0, "gpus": 16, "sizes": sizes, "jobs": 200}
    made = dlsched.generate("reclaiming", seed=3, **options)
    assert isinstance(made, Instance)
    return made


@pytest.mark.parametrize(
    ("name", "options", "termination"),
    [
        ("highs", {"mip_max_nodes": 0}, Termination.SOLUTION_LIMIT),
        ("scip", {"limits/nodes": 1}, Termination.ITERATION_LIMIT),
        ("cbc", {"maxNodes": 1}, Termination.ITERATION_LIMIT),
        ("cbc", {"maxSolutions": 1}, Termination.SOLUTION_LIMIT),
    ],
)
def test_a_limit_of_the_solver_s_own(
    name: str, options: dict[str, Any], termination: Termination, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named; what CBC states of a maximization is a bound; Pyomo warns of no solution."""
    if name != "highs":
        need(name)
    instance = dlsched.generate("sensitivity", seed=1, servers=8, multi=True)
    form = compile_model(sensitivity_model.build(instance))
    outcome = find_backend(name).solve(form, 0, Run(solver=name, solver_options=options))
    assert outcome.termination is termination
    assert outcome.bound is None or 40.58 <= outcome.bound < 41.1
    assert not caplog.records


def test_no_solution_at_cbc_s_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyomo says that what there is is not integer; the log that it was the limit."""
    backend = vendor_backend("cbc", "intermediateNonInteger", monkeypatch)
    backend.solver._log = "\nResult - Stopped on time limit\n"
    outcome = backend.solve(make_form([[1]], [(0, 1)], [(0, 1)], [1]), 0, Run(5.0))
    assert outcome.status is Status.NO_SOLUTION
    assert outcome.termination is Termination.TIME_LIMIT
    assert Vendor.options["timeMode"] == "elapsed"  # else processor time


def test_a_solver_that_is_not_used_is_said_so(caplog: pytest.LogCaptureFixture) -> None:
    """A heuristic passes no model to one; what nobody knows is an error all the same."""
    with caplog.at_level("WARNING", "dlsched"):
        dlsched.solve(small(1), "lyra", solver="scip")
    assert "lyra passed no model to scip: solver is not used" in caplog.text
    for method in ("lyra", "milp"):
        with pytest.raises(dlsched.UnknownName, match="did you mean 'gurobi'"):
            dlsched.solve(small(1), method, solver="GUROBI")


def test_infeasible(solver: str) -> None:
    """An infeasible model has the status infeasible, and is unchanged."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
    m.first = pyo.Objective(expr=m.x + m.y)
    m.second = pyo.Objective(expr=m.y, sense=pyo.maximize)
    m.row = pyo.Constraint(expr=2 * m.x + 2 * m.y == 1)
    outcome = PyomoBackend(solver).solve(compile_model(m), 0, Run())
    assert outcome.status is Status.INFEASIBLE and outcome.values is None
    assert m.first.active and m.second.active


def test_forms(solver: str) -> None:
    """Two-sided rows, equations, empty rows, unused and fixed columns and offsets are passed on."""
    rows = [[1, 1, 1, 0, 0], [1, -1, 0, 0, 0], [0, 0, 0, 0, 0]]
    sides = [(2, 5), (1, 1), (-INF, 0)]
    bounds = [(-3, INF), (-INF, INF), (2, 2), (3, 7), (-INF, INF)]
    for sense in ("min", "max"):
        form = make_form(rows, sides, bounds, [1e9, 2e9, 1e9, 0, 0], sense, offset=3e9)
        outcome = PyomoBackend(solver).solve(form, 0, Run())
        expected = highs.solve(form, 0, Run())
        assert outcome.objective == pytest.approx(expected.objective)
        assert outcome.bound is None or outcome.bound == pytest.approx(expected.objective)
        assert outcome.values is not None and outcome.values[2:].tolist() == [2, 3, 0]


def test_start_is_not_used() -> None:
    """If Pyomo passes no start to the solver, the result says so."""
    need("scip")
    start = dlsched.solve(small(1), "lyra")
    result = dlsched.solve(small(1), solver="scip", start=start)
    assert result.start is not None and not result.start.accepted
    assert "no start" in result.start.reason


def test_the_page_has_every_solver_with_its_limits() -> None:
    """The table of docs/solvers.md states for every solver the names of its limits."""
    page = (Path(__file__).parents[2] / "docs" / "solvers.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    table = {row[0].strip("`"): row[1:] for row in rows}
    assert [*table] == ["solver=", "highs", *INTERFACES]
    for name, interface in INTERFACES.items():
        install, *limits, start = table[name]
        assert install.strip("`") == interface.install
        stated = [interface.time_limit, interface.gap, interface.threads, interface.seed]
        names = [limit.replace("`", "").split(", ")[0] for limit in limits]
        assert names == [limit or "no" for limit in stated]
        assert (start == "yes") == interface.warm_start
        assert interface.time_limit is not None


class Vendor:
    """Stands for a vendor's interface: it fails as they do, or stops at a limit as Xpress does."""

    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, condition: str | None) -> None:
        self.condition = condition
        self._solver_model = SimpleNamespace(attributes=SimpleNamespace(stopstatus=1))

    def version(self) -> tuple[int, ...]:
        """Return one."""
        return (1, 2)

    def solve(self, _model: object, options: dict[str, Any], **_keywords: object) -> object:
        """Fail, or end without a solution."""
        Vendor.options = options
        if self.condition is None:
            raise RuntimeError("License cannot be located")
        solver = SimpleNamespace(termination_condition=self.condition, message="")
        problem = SimpleNamespace(lower_bound=None, upper_bound=None)
        return SimpleNamespace(solver=solver, problem=problem, solution=[])


def vendor_backend(name: str, condition: str | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the back end of a solver that is not installed here."""
    monkeypatch.setattr(PyomoBackend, "_available", lambda _self: Vendor(condition))
    return PyomoBackend(name)


def test_a_vendors_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a vendor raises is a failure of the solver, with its own message."""
    backend = vendor_backend("mosek", None, monkeypatch)
    with pytest.raises(dlsched.SolverFailure, match=r"mosek cannot solve .*License cannot be"):
        backend.solve(make_form([[1]], [(0, 1)], [(0, 1)], [1]), 0, Run())


@pytest.mark.parametrize("condition", ["other", "error"])
def test_xpress_at_its_time_limit(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyomo says nothing of Xpress's limit; its own attribute does."""
    backend = vendor_backend("xpress", condition, monkeypatch)
    run = Run(5.0, gap=0.1, threads=2, seed=3, solver_options={"presolve": 0, "threads": 1})
    outcome = backend.solve(make_form([[1]], [(0, 1)], [(0, 1)], [1]), 0, run)
    assert outcome.termination is Termination.TIME_LIMIT
    assert 0 < Vendor.options.pop("timelimit") <= 5
    assert Vendor.options == {"miprelstop": 0.1, "threads": 1, "randomseed": 3, "presolve": 0}
    assert run.options_used


def test_direct_interfaces_have_the_limits_of_their_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """`cplex_direct` is CPLEX: the same names of limits."""
    backend = vendor_backend("cplex_direct", "optimal", monkeypatch)
    assert backend._options(Run(gap=0.5)) == {"mip_tolerances_mipgap": 0.5}
    mosek = vendor_backend("mosek", "optimal", monkeypatch)._options(Run(9.0))
    assert set(mosek) == {"dparam.optimizer_max_time", "dparam.mio_max_time"}


def test_options_of_the_solver(caplog: pytest.LogCaptureFixture) -> None:
    """They are passed on and stated in the result; unknown ones are refused, unused ones logged."""
    result = dlsched.solve(small(1), "milp", solver_options={"presolve": "off"})
    assert result.options == {"solver_options": {"presolve": "off"}}
    assert result.objective == dlsched.solve(small(1), "milp").objective
    with pytest.raises(dlsched.OptionError, match="no option 'nix'"):
        dlsched.solve(small(1), "milp", solver_options={"nix": 1})
    with caplog.at_level("WARNING", "dlsched"):
        dlsched.solve(small(1), "lyra", solver_options={"presolve": "off"})
    assert "lyra passed no model to highs: solver_options are not used" in caplog.text
