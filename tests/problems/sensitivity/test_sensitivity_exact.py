"""The exact methods and the model of sensitivity: proofs, solvers, limits, starts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from sensitivity_instances import by_cpus
from sensitivity_instances import instance as made_of
from typer.testing import CliRunner

import dlsched
from dlsched import Run, Status
from dlsched.cli import app
from dlsched.problems.sensitivity import Instance, Solution, exact
from dlsched.problems.sensitivity.definition.check import explain
from dlsched.problems.sensitivity.exact import levels
from dlsched.problems.sensitivity.instances.generate import examples
from dlsched.problems.sensitivity.programs.cvxpy_reference import (
    solver_version,
    stage_one,
    stage_two,
)
from dlsched.sweeps import Store, run_suite
from dlsched.testing import oracles, strategies
from drawing import drawn


def test_only_jobs_of_several_gpus_can_be_split() -> None:
    """The two-server example: c alone has variables for its servers and for being split."""
    m = dlsched.model("synergy-two-servers")
    assert list(m.SEVERAL) == ["c"]
    assert len(m.z) == 2
    whole = dlsched.load("synergy-two-servers").model_copy(update={"allow_split": False})
    assert dlsched.model(whole).q["c"].ub == 0


SLOW = pytest.mark.slow


@pytest.mark.parametrize("servers", [5, pytest.param(6, marks=SLOW)])
@pytest.mark.parametrize(("multi", "allow_split"), [(True, True), (True, False), (False, True)])
def test_small_clusters_are_proved(servers: int, multi: bool, allow_split: bool) -> None:
    """Clusters are proved, the certified bound holds, and the order of jobs does not matter."""
    options = {"servers": servers, "multi": multi, "allow_split": allow_split}
    instance = dlsched.generate("sensitivity", 2, **options)
    best = dlsched.solve(instance)
    assert (best.status, best.termination) == ("optimal", "proved")
    assert best.certified[0].value >= best.objective[0]
    reverse = instance.model_copy(update={"jobs": instance.jobs[::-1]})
    assert dlsched.solve(reverse).objective == best.objective


@pytest.mark.parametrize(("seed", "servers"), [(2, 5), pytest.param(5, 8, marks=pytest.mark.slow)])
def test_distinct_profiles_are_proved(seed: int, servers: int) -> None:
    """Clusters full of single-GPU jobs, each with a profile of its own, are proved."""
    instance = dlsched.generate("sensitivity", seed, servers=servers, distinct=True)
    assert len(instance.profiles) == 8 * servers
    assert dlsched.solve(instance).status == "optimal"


@pytest.mark.parametrize(
    ("servers", "split", "found"),
    [(16, "30/60/10", (Fraction("89.888"), 9)), (128, "20/70/10", (Fraction("852.473"), 48))],
)
@pytest.mark.slow
def test_mixes_that_left_the_split_jobs_open(
    servers: int, split: str, found: tuple[Fraction, int]
) -> None:
    """Mixes of one to eight GPUs of which 20 CPU seconds proved only one level are proved."""
    instance = dlsched.generate("sensitivity", 13, servers=servers, split=split, multi=True)
    result = dlsched.solve(instance, time_limit=120)
    assert (result.status, tuple(result.objective)) == ("optimal", found)


@pytest.mark.parametrize("multi", [True, False])
def test_a_vertex_of_stage_two_fragments_few_jobs(multi: bool) -> None:
    """The paper's linear program fragments at most 3 x servers jobs; stage one is `pooled`."""
    instance = dlsched.generate("sensitivity", 1, servers=6, multi=multi)
    first = stage_one(instance)
    assert stage_two(instance, first).fragmented <= 3 * 6
    pooled = dlsched.solve(instance, "pooled").bound[0].value
    assert first.throughput == pytest.approx(float(pooled), abs=1e-6)
    result = dlsched.solve(instance, "synergy_opt")
    assert (result.status, result.termination) == ("no solution", "bound_only")
    assert (result.solver, result.solver_version) == ("highs", solver_version("highs"))
    assert "at a vertex at most 18" in result.reason


def test_synergy_opt_uses_the_solver_of_the_run() -> None:
    """From Python and the command line `solver` is that of stage one, with its version."""
    pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    name, version = "synergy-two-servers", solver_version("scip")
    result = dlsched.solve(name, "synergy_opt", solver="scip")
    assert (result.solver, result.solver_version) == ("scip", version)
    assert (result.bound[0].method, result.bound[0].value) == ("scip, stage one", 3.75)
    shown = CliRunner().invoke(
        app, ["solve", name, "--method", "synergy_opt", "--solver", "scip", "--json"]
    )
    assert shown.exit_code == 0
    data = json.loads(shown.stdout)
    assert (data["solver"], data["solver_version"]) == ("scip", version)


@pytest.mark.parametrize("solver", ["highs", "scip", "glpk"])
def test_the_solver_of_synergy_opt_is_told_the_limit(solver: str) -> None:
    """A limit that ends stage one before it has a solution leaves no bound, and says so."""
    pytest.importorskip({"highs": "highspy", "scip": "pyscipopt", "glpk": "cvxopt"}[solver])
    instance = dlsched.generate("sensitivity", seed=3, servers=12)
    result = dlsched.solve(instance, "synergy_opt", solver=solver, time_limit=1e-9)
    assert result.termination == "time_limit"
    assert tuple(result.bound) == (None, None)
    assert "without a solution" in result.reason


@pytest.mark.slow
def test_synergy_opt_in_a_suite_uses_its_solver(tmp_path: Path) -> None:
    """So it is in the rows of a suite."""
    pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    name, version = "synergy-two-servers", solver_version("scip")
    dlsched.save(dlsched.load(name), tmp_path / f"{name}.json")
    suite = tmp_path / "suite.toml"
    suite.write_text(
        f'name = "stage"\nsolver = "scip"\n[[instances]]\nfiles = "{name}.json"\n'
        '[[methods]]\nname = "synergy_opt"\n'
    )
    run_suite(suite, tmp_path / "out", jobs=1)
    with Store(tmp_path / "out") as store:
        records = [json.loads(row["record"]) for row in store.rows()]
    assert [(r["solver"], r["solver_version"]) for r in records] == [("scip", version)]


def test_a_gap_is_good_enough() -> None:
    """Asked for 30 %, patterns ends with a heuristic's solution; the remaining gap is stated."""
    instance = dlsched.generate("sensitivity", 1, servers=3, multi=True)
    rough = dlsched.solve(instance, gap=0.3)
    assert (rough.status, rough.termination) == ("optimal", "gap_reached")
    assert 0 < rough.gap[0] <= 0.3
    assert rough.objective == dlsched.solve(instance, "price_round").objective


def test_a_start_that_is_no_solution_is_not_offered() -> None:
    """Patterns checks its initial solutions: a faulty heuristic does not change the optimum."""
    instance = examples()[1]

    def faulty(instance: Instance) -> Iterator[Solution]:
        best = dlsched.solve(instance, "proportional").solution
        given_ = best.allocation["a"].model_copy(update={"cpus": 3, "memory": 3})
        yield best.model_copy(update={"allocation": {**best.allocation, "a": given_}})

    assert not dlsched.verify(instance, next(faulty(instance)))
    run = Run(found=[*faulty(instance)])
    assert exact.patterns(instance, run).objective[0] == Fraction(15, 4)


@drawn(25, strategies.sensitivity(max_jobs=5))
def test_patterns_prove_what_no_heuristic_has_proved(instance: Instance) -> None:
    """From a weak solution without a bound: `price_round` leaves it nothing on small instances."""
    if explain(instance):  # then no method is asked
        return
    optimum = oracles.sensitivity(instance)
    weak = dlsched.solve(instance, "proportional").solution
    claim = exact.patterns(instance, Run(found=[weak]))
    if optimum is None:
        assert claim.status is Status.INFEASIBLE
        return
    assert claim.status is Status.OPTIMAL
    found = dlsched.verify(instance, claim.solution).objective
    assert found.throughput == optimum.throughput
    assert found.split == optimum.split


def test_profiles_with_stairs_are_proved() -> None:
    """Three servers, 15 jobs, 8 x 6 choices with stairs: more patterns matter than are listed."""
    # The heuristics have 25.414, and the program with every server proves 33.414.
    instance = dlsched.load(Path(__file__).with_name("three_servers.json"))
    result = dlsched.solve(instance)
    assert (result.status, tuple(result.objective)) == ("optimal", (Fraction("33.414"), 1))


@pytest.mark.slow
def test_equal_servers_do_not_use_up_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five servers, 21 jobs with stairs: the program with every server has no proof in a minute."""
    # It has fewer columns than there are patterns that matter, and gets a few seconds; then the
    # patterns within a growing distance of the bound prove the optimum.
    monkeypatch.setattr(levels, "SECONDS", 1.0)
    instance = dlsched.load(Path(__file__).with_name("five_servers.json"))
    result = dlsched.solve(instance, time_limit=600)
    assert (result.status, tuple(result.objective)) == ("optimal", (Fraction("73.955"), 5))


@pytest.mark.parametrize("method", ["milp", "patterns"])
@pytest.mark.parametrize(
    ("last", "throughput", "placed"), [((0, 1, 1, 5), 5, ["j2"]), ((0, 1, 4, 5), 6, ["j0", "j2"])]
)
def test_jobs_that_may_wait_by_hand(
    method: str, last: tuple[int, ...], throughput: int, placed: list[str]
) -> None:
    """Two GPUs, 4 CPUs; three jobs run at 2, 1 and 5 with 1, 1 and 4 CPUs: the last one alone."""
    # If the last one runs at 4 with 3 CPUs, the first job is placed beside it.
    profiles = {"a": by_cpus(2, 2, 2, 2), "b": by_cpus(1, 1, 1, 1), "c": by_cpus(*last)}
    waits = made_of((1, 2, 4, 2), profiles, "abc", may_wait=True)
    best = dlsched.solve(waits, method)
    assert (best.status, tuple(best.objective)) == ("optimal", (throughput, 0))
    assert list(best.solution.allocation) == placed
    waiting = 3 - len(placed)
    assert (best.details["idle_gpus"], best.details["waiting"]) == (waiting - 1, waiting)


def test_a_time_limit_keeps_the_solution() -> None:
    """Stopped early, patterns returns a heuristic's solution or a better one."""
    instance = dlsched.generate("sensitivity", 1, servers=64, multi=True, distinct=True)
    result = dlsched.solve(instance, time_limit=0.3)
    assert (result.status, result.termination) == ("feasible", "time_limit")
    assert not dlsched.solve(instance, "tune").objective.better_than(result.objective)


def test_same_seed_same_answer() -> None:
    """Patterns is deterministic, also where it generates patterns and searches."""
    instance = dlsched.generate("sensitivity", 1, servers=6, multi=True, allow_split=False)
    assert dlsched.solve(instance).solution == dlsched.solve(instance).solution


@pytest.mark.parametrize("method", ["patterns", "milp"])
def test_no_time_is_no_excuse_to_be_worse_than_heuristics(method: str) -> None:
    """With no time left, both exact methods return the best that heuristics find in no time."""
    instance = dlsched.generate("sensitivity", 1, servers=3, multi=True)
    best = dlsched.solve(instance, method, time_limit=1e-9)
    for name in ("tune", "tune_public", "price_round"):
        found = dlsched.solve(instance, name, time_limit=1e-9)
        assert not found.objective.better_than(best.objective)
