"""Solvers: levels in turn, other solvers than HiGHS, their limits, model files that all read."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import ByLevel, Report, Run, SolverDisagreement, Status, Termination, Violation
from dlsched.problems.reclaiming import PROBLEM, Instance
from dlsched.results.objective import Level
from dlsched.solvers.levels import solve_levels
from dlsched.solvers.standard_form import compile_model
from readers import highs_optimum, scip_optimum

EXECUTABLES = {"cbc": "cbc", "glpk": "glpsol"}
PACKAGES = {"scip": "pyscipopt", "cp_sat": "ortools"}


def need(solver: str) -> None:
    """Skip the test, with the reason, if a solver is not installed."""
    if solver in PACKAGES:
        pytest.importorskip(PACKAGES[solver], reason=f"{solver} comes with {PACKAGES[solver]}")
    elif not shutil.which(EXECUTABLES[solver]):
        pytest.skip(f"{solver} is not installed here, see docs/solvers.md")


@pytest.fixture(params=[*PACKAGES, *EXECUTABLES])
def solver(request: pytest.FixtureRequest) -> str:
    """Give the name of each solver that is installed."""
    need(request.param)
    return str(request.param)


def small(seed: int) -> Instance:
    """Return a random instance that needs a search."""
    return dlsched.generate("reclaiming", seed, servers=14, demand=5, spread=0.9, flexible=0.3)


def test_same_optima(solver: str) -> None:
    """On random instances the solver's optima are those of HiGHS, level by level."""
    for seed in range(6):
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


@pytest.mark.parametrize(
    ("solver", "limits"),
    [("scip", {"threads": 2}), ("glpk", {"threads": 2}), ("glpk", {"seed": 1})],
)
def test_unsupported_limit(solver: str, limits: dict[str, int]) -> None:
    """The error for a limit that the solver lacks names the solvers that have it."""
    need(solver)
    with pytest.raises(dlsched.OptionError, match="use one of: "):
        dlsched.solve(small(0), solver=solver, **limits)


def test_cp_sat_takes_integers_only() -> None:
    """A model with other columns is refused; one with long decimals has rows that are wider."""
    need("cp_sat")
    continuous = dlsched.load("mast-two-regions")
    with pytest.raises(dlsched.OptionError, match="integers only"):
        dlsched.solve(continuous, solver="cp_sat")
    for name in ("sensitivity-small-01", "elastic-loan-small-03", "interleaving-small-01"):
        found = dlsched.solve(name, "milp", solver="cp_sat", solver_options={"num_workers": 1})
        assert found.objective == dlsched.solve(name).objective
    with pytest.raises(dlsched.OptionError, match="CP-SAT takes no"):
        dlsched.solve(small(0), "milp", solver="cp_sat", solver_options={"frobnicate": 1})


@pytest.mark.parametrize(
    ("number", "low", "high"),
    [
        (0.1, None, 0.3),
        (0.1, 0.3, 0.3),
        (0.1234567, 0.3703701, None),
        (0.1234567, None, 0.3703701),
        (1e-9, None, 1e12),
        (1e20, None, 3e20),
    ],
)
def test_no_row_is_tighter_in_cp_sat(number: float, low: float | None, high: float | None) -> None:
    """A row lets three be taken, however its numbers are written; without a bound it is refused."""
    need("cp_sat")
    from dlsched.solvers.cp_sat import CpSat

    m = pyo.ConcreteModel()
    m.x = pyo.Var(domain=pyo.Integers, bounds=(-0.5, 9))
    m.row = pyo.Constraint(expr=(low, number * m.x, high))
    m.most = pyo.Objective(expr=m.x, sense=pyo.maximize if high else pyo.minimize)
    found = CpSat().solve(compile_model(m), 0, Run(threads=1))
    assert found.values is not None
    most = 9 if number == 1e-9 else 3
    assert (found.values[0], found.bound) == (most, most)
    m.x.setub(None)
    with pytest.raises(dlsched.OptionError, match="with bounds"):
        CpSat().solve(compile_model(m), 0, Run())


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


@pytest.mark.parametrize("name", ["highs", *PACKAGES, *EXECUTABLES])
def test_a_gap_that_is_reached_is_a_proof(name: str) -> None:
    """Also GLPK's, which then calls its solution feasible, and states the bound in its log."""
    if name != "highs":
        need(name)
    sizes = {8: 0.5, 16: 0.5}
    n = 12 if name == "cp_sat" else 20  # for 20 CP-SAT takes 24 s
    options = {"servers": 3 * n, "demand": n, "spread": 1.0, "gpus": 16, "sizes": sizes}
    instance = dlsched.generate("reclaiming", seed=3, flexible=0, jobs=10 * n, **options)
    exact = dlsched.solve(instance, "milp", levels=1)
    assert exact.bound[0].value == exact.objective[0]
    result = dlsched.solve(instance, "milp", solver=name, gap=0.2, levels=1)
    assert result.termination in (Termination.GAP_REACHED, Termination.LEVELS_DONE)
    bound, found = result.bound[0].value, result.objective[0]
    assert 0.8 * found <= bound <= exact.objective[0] <= found


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
    instance = dlsched.generate("sensitivity", seed=1, servers=4, multi=True)
    result = dlsched.solve(instance, "milp", solver=name, solver_options=options)
    assert result.termination is termination
    optimum = dlsched.solve(instance).objective[0]
    assert result.bound[0] is None or optimum <= result.bound[0].value < Fraction("1.06") * optimum
    assert not caplog.records


def test_infeasible(solver: str) -> None:
    """What no row contradicts is found out by the search: whole numbers have no half."""

    def half(m: Any, instance: Any) -> None:
        m.x1, m.x2 = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
        m.row = pyo.Constraint(expr=2 * m.x1 + 2 * m.x2 == 1)

    change = dlsched.Variant("reclaiming", "half", half)
    result = dlsched.solve(small(0), solver=solver, variant=change)
    assert (result.status, result.solver) == (Status.INFEASIBLE, solver)


def test_a_solver_that_is_not_used_is_said_so(caplog: pytest.LogCaptureFixture) -> None:
    """A heuristic passes no model to one; what nobody knows is an error all the same."""
    with caplog.at_level("WARNING", "dlsched"):
        dlsched.solve(small(1), "lyra", solver="scip")
    assert "lyra passed no model to scip: solver is not used" in caplog.text
    for method in ("lyra", "milp"):
        with pytest.raises(dlsched.UnknownName, match="did you mean 'gurobi'"):
            dlsched.solve(small(1), method, solver="GUROBI")


def test_start_is_not_used() -> None:
    """If Pyomo passes no start to the solver, the result says so."""
    need("scip")
    start = dlsched.solve(small(1), "lyra")
    result = dlsched.solve(small(1), solver="scip", start=start)
    assert result.start is not None and not result.start.accepted
    assert "no start" in result.start.reason


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


def glpk_optimum(path: Path) -> float:
    """Return the optimum of an LP file by GLPK's own program."""
    if not shutil.which("glpsol"):
        pytest.skip("GLPK is not installed")
    answer = path.with_suffix(".txt")
    command = ["glpsol", "--lp", str(path), "-o", str(answer)]
    subprocess.run(command, check=True, capture_output=True)
    found = re.search(r"^Objective: .* = (\S+) \(", answer.read_text(), re.M)
    assert found is not None
    return float(found[1])


every_reader = pytest.mark.parametrize("solve", [highs_optimum, scip_optimum, glpk_optimum])


@every_reader
def test_every_kind_of_row_and_column(solve: Callable[[Path], float], tmp_path: Path) -> None:
    """Ranges, free and fixed columns, an unbounded integer and a constant keep their meaning.

    By hand: w = 2; b is the least integer from 1.5, so 2; a is at the range's lower end, b / 2 - 5
    = -4; the cost a + b + w + 10.25 is then 10.25.
    """
    m = pyo.ConcreteModel("kinds")
    m.a = pyo.Var()
    m.b = pyo.Var(domain=pyo.Integers, bounds=(None, None))
    m.w = pyo.Var(domain=pyo.Integers, bounds=(2, 2))
    m.unused = pyo.Var(domain=pyo.NonNegativeReals)
    m.range = pyo.Constraint(expr=(-5, m.a - m.b / 2, -3.5))
    m.least = pyo.Constraint(expr=m.b >= 1.5)
    m.cost = pyo.Objective(expr=m.a + m.b + m.w + 10.25)
    file = tmp_path / "kinds.lp"
    dlsched.export("lyra-fig5", file, built=m)
    assert solve(file) == pytest.approx(10.25)


@every_reader
def test_a_level_without_costs(solve: Callable[[Path], float], tmp_path: Path) -> None:
    """A level that is constant, and has to be held at that, is a file that readers take."""
    m = pyo.ConcreteModel("constant")
    m.x = pyo.Var(domain=pyo.Binary)
    m.least = pyo.Constraint(expr=m.x >= 1)
    m.preempted = pyo.Objective(expr=7)
    m.collateral = pyo.Objective(expr=3 * m.x)
    file = tmp_path / "constant.lp"
    dlsched.export("lyra-fig5", file, built=m)
    assert solve(file) == pytest.approx(7)
    dlsched.export("lyra-fig5", file, level="collateral", held={"preempted": 7}, built=m)
    assert solve(file) == pytest.approx(3)


@every_reader
def test_any_ids(solve: Callable[[Path], float], tmp_path: Path) -> None:
    """Ids with operators, letters of any script or 400 characters stay apart.

    Returning s+2 preempts no job, any other server one.
    """
    servers = ["s 1", "s+2 <= 3", "机器", "机械"]
    jobs = {"e1" * 200: servers[0], "e1" * 200 + "x": servers[2], "free": servers[3]}
    instance = Instance(
        name="two wörds\n\\ *",
        demand=2,
        servers=[{"id": name, "gpus": 8} for name in servers],
        jobs=[{"id": j, "workers": [{"server": s, "gpus": 1}]} for j, s in jobs.items()],
    )
    dlsched.export(instance, tmp_path / "a.lp")
    text = (tmp_path / "a.lp").read_text()
    assert text.isascii()
    for name in ("preempted:", "x(s_1)", "x(s_2____3)", "x(__)", "x(__)_2", "y(free)", "demand"):
        assert name in text
    assert max(map(len, re.findall(r"\S+", text))) <= 255
    assert solve(tmp_path / "a.lp") == pytest.approx(1)


NAMES = {"a,b": "x(a,b)", "1": "x(1)", "é": "x(_)", "ü": "x(_)_2", "e+3": "x(e_3)", "": "x()"}
COMPONENTS = {"e1": "_e1", "E": "_E", "free": "_free", "End": "_End", "st": "_st"}


def test_names_are_legal_and_unique(tmp_path: Path) -> None:
    """No name begins with an exponent, none is a keyword, and none comes twice."""
    m = pyo.ConcreteModel("names")
    m.x = pyo.Var(list(NAMES), domain=pyo.Binary)
    for name in COMPONENTS:
        m.add_component(name, pyo.Var(bounds=(0, 1)))
    m.cost = pyo.Objective(expr=sum(v for v in m.component_data_objects(pyo.Var)))
    dlsched.export("lyra-fig5", tmp_path / "a.lp", built=m)
    terms = re.findall(r"^[+]1.0 (\S+)$", (tmp_path / "a.lp").read_text(), re.M)
    assert terms == [*NAMES.values(), *COMPONENTS.values()]


@pytest.mark.parametrize("name", ["a.lp", "a.mps"])
def test_an_instance_without_a_model(name: str, tmp_path: Path) -> None:
    """Where a constraint has no variable and is violated, the reason is said in one line."""
    instance = Instance(name="none", demand=1, servers=[], jobs=[])
    with pytest.raises(dlsched.InstanceError, match="none: has no solution, and a model"):
        dlsched.export(instance, tmp_path / name)
    assert not list(tmp_path.iterdir())


model = PROBLEM.module("model")
NAMED: Any = SimpleNamespace(name="two")


def module(build: Any) -> Any:
    """Return a ``model`` module that only builds a model, and reads no solution."""
    return SimpleNamespace(
        build=lambda instance: build(), read=lambda *_: None, assign=lambda *_: None
    )


def contradiction(names: dict[str, tuple[int, int]]) -> Any:
    """Build a model of named rows ``low <= x + y <= high``, and one redundant row."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
    m.cost = pyo.Objective(expr=m.x)
    m.redundant = pyo.Constraint(expr=m.x <= m.y)
    for name, (low, high) in names.items():
        m.add_component(name, pyo.Constraint(expr=pyo.inequality(low, m.x + m.y, high)))
    return m


def test_contradicting_rows_are_named() -> None:
    """The reason of an infeasible model names an irreducible set of its constraints."""
    rows = {"floor": (2, 9), "ceiling": (-9, 0), "loose": (0, 2), "roof": (-9, 1)}
    claim = solve_levels(NAMED, Run(), module(lambda: contradiction(rows)))
    assert claim.status is Status.INFEASIBLE and claim.solution is None
    named = claim.reason.removeprefix("these constraints contradict each other: ").split(", ")
    kept = {name.rstrip("_") for name in named}

    def feasible(some: Any) -> bool:
        return any(
            all(rows[r][0] <= x + y <= rows[r][1] for r in some)
            for x, y in [(0, 0), (0, 1), (1, 1)]
        )

    assert kept < rows.keys() and not feasible(kept)
    assert all(feasible(some) for some in combinations(kept, len(kept) - 1))


def test_no_rows_are_to_blame() -> None:
    """An unbounded model has this status and no bound; bounds alone may have no solution."""

    def build(**options: Any) -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(domain=pyo.NonNegativeIntegers, **options)
        m.cost = pyo.Objective(expr=-m.x)
        m.row = pyo.Constraint(expr=m.x >= 0)
        return m

    claim = solve_levels(NAMED, Run(), module(build))
    assert claim.status is Status.UNBOUNDED and not claim.bounds[0]
    claim = solve_levels(NAMED, Run(), module(lambda: build(bounds=(0.2, 0.8))))
    assert claim.status is Status.INFEASIBLE
    assert claim.reason == "the variables' bounds and domains alone have no solution"


def test_start_against_an_infeasible_model() -> None:
    """A feasible start of an infeasible model raises `SolverDisagreement`."""

    def build(instance: Instance) -> Any:
        m = model.build(instance)
        m.absurd = pyo.Constraint(expr=sum(m.x.values()) >= instance.demand + 1)
        return m

    instance = dlsched.load("lyra-fig5")
    broken = SimpleNamespace(build=build, read=model.read, assign=model.assign)
    run = Run(start=dlsched.solve(instance, "lyra").solution)
    with pytest.raises(SolverDisagreement, match="the checker accepts the start"):
        solve_levels(instance, run, broken)


def two(coefficient: float) -> Any:
    """Return a module whose solutions are the values of two binary variables."""

    def build(instance: Any) -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var([0, 1], domain=pyo.Binary)
        m.value = pyo.Objective(expr=m.x[0] + 2 * m.x[1], sense=pyo.maximize)
        m.row = pyo.Constraint(expr=coefficient * (2 * m.x[0] + 2 * m.x[1]) <= 3 * coefficient)
        return m

    def read(instance: Any, m: Any) -> Any:
        return tuple(round(m.x[j].value) for j in (0, 1))

    def assign(instance: Any, m: Any, solution: Any) -> None:
        for j in (0, 1):
            m.x[j].set_value(solution[j])

    return SimpleNamespace(build=build, read=read, assign=assign)


def test_no_optimum_is_stated_of_rows_beyond_precision() -> None:
    """The point is returned, with the row's name; a bound of the solver is not."""
    claim = solve_levels(NAMED, Run(), two(3e12))
    assert claim.status is Status.FEASIBLE and claim.termination is Termination.TOLERANCES
    assert "precision" in claim.reason and claim.reason.endswith(": constraint row")
    assert all(bound.kind != "claimed" for level in claim.bounds for bound in level)
    assert solve_levels(NAMED, Run(), two(3.0)).status is Status.OPTIMAL


def refuse_the_second(instance: Any, solution: Any) -> Report:
    """Return a report in which the second variable must be 0."""
    violations = (Violation("second", "x[1]", "is over by a hair"),) if solution[1] else ()
    value = (Level("value", "max", "things"),)
    return Report(violations, ByLevel(value, [solution[0] + 2 * solution[1]]), {})


def test_a_refused_point_is_rejected() -> None:
    """Nothing is returned for it but what the search began from, and the reason says why."""
    run = replace(Run(), check=refuse_the_second)
    claim = solve_levels(NAMED, run, two(1.0))
    assert claim.status is Status.NO_SOLUTION and claim.solution is None
    assert claim.termination is Termination.TOLERANCES and "x[1]: is over by a hair" in claim.reason
    again = solve_levels(NAMED, run, two(1.0), first=(1, 0))
    assert again.status is Status.FEASIBLE and again.solution == (1, 0)
