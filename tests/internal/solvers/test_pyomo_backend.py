"""Internal: the back end of Pyomo's solvers, with interfaces of vendors not installed here."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyomo.environ as pyo
import pytest
from forms import make_form

import dlsched
from dlsched import Run, Status, Termination
from dlsched.solvers import highs
from dlsched.solvers.backend import BUILT_IN, INTERFACES, PyomoBackend
from dlsched.solvers.outcome import LOGS, PYOMO
from dlsched.solvers.standard_form import INF


@pytest.mark.parametrize("solver", INTERFACES)
def test_missing(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a solver that is not installed says how to install it."""
    plugin = type(pyo.SolverFactory(INTERFACES[solver].plugins.split()[0]))
    monkeypatch.setattr(plugin, "available", lambda *a, **k: False)
    with pytest.raises(dlsched.SolverMissing, match="get it with") as raised:
        dlsched.solve("lyra-fig5", solver=solver)
    assert INTERFACES[solver].install in str(raised.value)


def test_names_are_those_of_pyomo() -> None:
    """The table of interfaces names plugins that Pyomo has, that of conditions its conditions."""
    from pyomo.contrib.solver.common.results import TerminationCondition as New
    from pyomo.opt import TerminationCondition as Old

    assert set(LOGS) <= set(INTERFACES)
    known = set(pyo.SolverFactory)
    assert {p for interface in INTERFACES.values() for p in interface.plugins.split()} <= known
    assert set(PYOMO) <= {c.value for c in Old} | {c.name for c in New}


@pytest.mark.parametrize("solver", ["scip", "cbc", "glpk"])
def test_forms(solver: str) -> None:
    """Two-sided rows, equations, empty rows, unused and fixed columns and offsets are passed on."""
    try:
        backend = PyomoBackend(solver)
    except dlsched.SolverMissing as error:
        pytest.skip(str(error))
    rows = [[1, 1, 1, 0, 0], [1, -1, 0, 0, 0], [0, 0, 0, 0, 0]]
    sides = [(2, 5), (1, 1), (-INF, 0)]
    bounds = [(-3, INF), (-INF, INF), (2, 2), (3, 7), (-INF, INF)]
    for sense in ("min", "max"):
        form = make_form(rows, sides, bounds, [1e9, 2e9, 1e9, 0, 0], sense, offset=3e9)
        outcome = backend.solve(form, 0, Run())
        expected = highs.solve(form, 0, Run())
        assert outcome.objective == pytest.approx(expected.objective)
        assert outcome.bound is None or outcome.bound == pytest.approx(expected.objective)
        assert outcome.values is not None and outcome.values[2:].tolist() == [2, 3, 0]


def test_the_page_has_every_solver_with_its_limits() -> None:
    """The table of docs/solvers.md states for every solver the names of its limits."""
    page = (Path(__file__).parents[3] / "docs" / "solvers.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    table = {row[0].strip("`"): row[1:] for row in rows}
    assert [*table] == ["solver=", *BUILT_IN, *INTERFACES]
    assert table["cp_sat"][0] == BUILT_IN["cp_sat"]
    for name, interface in INTERFACES.items():
        install, *limits, start = table[name]
        assert install.strip("`") == interface.install
        stated = [interface.time_limit, interface.gap, interface.threads, interface.seed]
        names = [
            limit.replace(", of elapsed time", "").replace("`", "").replace(",", "")
            for limit in limits
        ]
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


def test_no_solution_at_cbc_s_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyomo says that what there is is not integer; the log that it was the limit."""
    backend = vendor_backend("cbc", "intermediateNonInteger", monkeypatch)
    backend.solver._log = "\nResult - Stopped on time limit\n"
    outcome = backend.solve(make_form([[1]], [(0, 1)], [(0, 1)], [1]), 0, Run(5.0))
    assert outcome.status is Status.NO_SOLUTION
    assert outcome.termination is Termination.TIME_LIMIT
    assert Vendor.options["timeMode"] == "elapsed"  # else processor time
