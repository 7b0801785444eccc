"""The exact methods and the bounds of sensitivity: proofs, solvers, limits."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import dlsched
from calls import data

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
    pooled = dlsched.solve(instance, "pooled").bound[0].value
    result = dlsched.solve(instance, "synergy_opt")
    assert result.bound[0].value == pytest.approx(float(pooled), abs=1e-6)
    assert (result.status, result.termination) == ("no solution", "bound_only")
    assert result.solver == "highs"
    stated = re.search(r"(\d+) jobs fragmented, at a vertex at most 18", result.reason)
    assert stated is not None and int(stated[1]) <= 18


def test_synergy_opt_uses_the_solver_of_the_run() -> None:
    """From Python and the command line `solver` is that of stage one, with its version."""
    pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    name = "synergy-two-servers"
    result = dlsched.solve(name, "synergy_opt", solver="scip")
    version = dlsched.solve(name, "milp", solver="scip").solver_version or "none"
    assert result.solver == "scip" and version in str(result.solver_version)
    assert (result.bound[0].method, result.bound[0].value) == ("scip, stage one", 3.75)
    shown = data("solve", name, "--method", "synergy_opt", "--solver", "scip")
    assert (shown["solver"], shown["solver_version"]) == ("scip", result.solver_version)


@pytest.mark.parametrize("solver", ["highs", "scip", "glpk"])
def test_the_solver_of_synergy_opt_is_told_the_limit(solver: str) -> None:
    """A limit that ends stage one before it has a solution leaves no bound, and says so."""
    pytest.importorskip({"highs": "highspy", "scip": "pyscipopt", "glpk": "cvxopt"}[solver])
    instance = dlsched.generate("sensitivity", seed=3, servers=12)
    result = dlsched.solve(instance, "synergy_opt", solver=solver, time_limit=1e-9)
    assert result.termination == "time_limit"
    assert tuple(result.bound) == (None, None)
    assert "without a solution" in result.reason


def test_profiles_with_stairs_are_proved() -> None:
    """Three servers, 15 jobs, 8 x 6 choices with stairs: more patterns matter than are listed."""
    # The heuristics have 25.414, and the program with every server proves 33.414.
    instance = dlsched.load(Path(__file__).with_name("three_servers.json"))
    result = dlsched.solve(instance)
    assert (result.status, tuple(result.objective)) == ("optimal", (Fraction("33.414"), 1))
