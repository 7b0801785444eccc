"""The exact methods, the bounds and `price_round`: proofs, solvers, steps by hand."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.testing import oracles, strategies
from drawing import drawn
from sensitivity_instances import by_cpus, profile
from sensitivity_instances import instance as made_of


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


@pytest.mark.parametrize("multi", [True, False])
@pytest.mark.parametrize("seed", range(1, 7))
def test_stage_one_is_at_least_the_optimum(seed: int, multi: bool) -> None:
    """Theorem 4.1: no solution has more throughput than the program over one large server."""
    instance = dlsched.generate("sensitivity", seed, servers=2, multi=multi)
    best = dlsched.solve(instance)
    assert best.status == "optimal"
    assert dlsched.solve(instance, "synergy_opt").bound[0].value >= float(best.objective[0]) - 1e-6


def test_synergy_opt_uses_the_solver_of_the_run() -> None:
    """The option `solver` is that of stage one."""
    pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    result = dlsched.solve("synergy-two-servers", "synergy_opt", solver="scip")
    assert result.solver == "scip" and result.solver_version
    assert (result.bound[0].method, result.bound[0].value) == ("scip, stage one", 3.75)


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


@drawn(40, strategies.sensitivity(max_jobs=4, max_servers=4))
def test_price_round_on_small_instances(instance: Instance) -> None:
    """The certified bound is no less than the optimum, and what is found is no less than TUNE's."""
    # All patterns that can matter are added, so that nearly all are solved to the optimum; with one
    # server the optimum is always found.
    optimum = oracles.sensitivity(instance)
    result = dlsched.solve(instance, "price_round")
    if optimum is None:
        assert result.solution is None
        return
    assert result.certified[0].value >= optimum[0]
    tuned = dlsched.solve(instance, "tune")
    if tuned.solution is not None:
        assert result.objective[0] >= tuned.objective[0]
    if instance.servers.count == 1:
        assert result.objective[0] == optimum[0]


WHOLE = {"allow_split": False}
ALONE = WHOLE | {"may_wait": True}
TWO_AND_THREE = {f"p{g}": by_cpus(1, gpus=g) for g in (2, 3)}


# The large job runs at 2 with 1 CPU a GPU or with its share of 2, and at 3 with 3; the small one
# at 1 with 2 CPUs and at 5 with 3.
LARGE = {"large": by_cpus(2, 2, 3, gpus=3), "small": profile(1, [2, 3], [1], [[1], [5]])}
SCARCE = {"m": profile(1, [1], [1, 2, 3], [[1, 1, 2]])}
BY_HAND: dict[str, tuple[Instance, tuple[int, int] | str, int]] = {
    "of jobs of 3, 3 and 2 GPUs on two servers of 4 one is split":
        (made_of((2, 4, 4, 4), TWO_AND_THREE, ["p2", "p3", "p3"]), (3, 1), 0),
    "if none may be split there is no solution":
        (made_of((2, 4, 4, 4), TWO_AND_THREE, ["p2", "p3", "p3"], **WHOLE), "finished", 0),
    "a job larger than a server is split, beside one that wants 3 of the 4 CPUs":
        (made_of((2, 2, 4, 2), LARGE, ["large", "small"]), (7, 1), 0),
    "it has no place if not": (made_of((2, 2, 4, 2), LARGE, LARGE, **WHOLE), "infeasible", 0),
    "and waits if jobs may wait": (made_of((2, 2, 4, 2), LARGE, LARGE, **ALONE), (5, 0), 1),
    # With 1 GB a job runs at 1, with 3 GB at 2; a server has 8 GB for four jobs.
    "memory is for two of four jobs on each of two servers":
        (made_of((2, 4, 4, 8), SCARCE, ["m"] * 8), (12, 0), 0),
    "of four equal jobs of one GPU on two, two wait":
        (made_of((1, 2, 2, 2), {"p": by_cpus(1)}, ["p"] * 4, may_wait=True), (2, 0), 2),
    "without jobs nothing happens":
        (made_of((1, 2, 2, 2), {"p": by_cpus(1)}, [], may_wait=True), (0, 0), 0),
}  # fmt: skip
"""Instances, throughput and split jobs or why there is no solution, and how many jobs wait."""


@pytest.mark.parametrize("case", BY_HAND)
def test_price_round_by_hand(case: str) -> None:
    """It finds the best there is, or no solution."""
    made, objective, waiting = BY_HAND[case]
    result = dlsched.solve(made, "price_round")
    if isinstance(objective, str):
        assert (result.solution, result.termination) == (None, objective)
    else:
        assert tuple(result.objective) == objective
        assert result.details["waiting"] == waiting
