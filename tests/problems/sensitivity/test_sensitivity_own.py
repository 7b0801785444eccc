"""The library's own heuristic, `price_round`: steps by hand, bounds, limits."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.testing import oracles, strategies
from drawing import drawn
from sensitivity_instances import by_cpus, profile
from sensitivity_instances import instance as made_of


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


@pytest.mark.parametrize(
    ("servers", "multi", "split"),
    [(64, False, "20/70/10"), (64, True, "20/70/10"), (128, False, "60/30/10")],
)
def test_large_clusters_are_near_the_bound(servers: int, multi: bool, split: str) -> None:
    """On 64 servers and more price_round is within 0.1 % of its own certified bound."""
    instance = dlsched.generate("sensitivity", 7, servers=servers, multi=multi, split=split)
    result = dlsched.solve(instance, "price_round")
    assert result.certified[0] is not None
    assert result.gap[0] <= 1e-3
    assert result.objective[0] > dlsched.solve(instance, "tune").objective[0]


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


def test_the_bound_is_a_sum_of_throughputs_that_jobs_can_have() -> None:
    """The pooled cluster has 2.33, a third of it from a job that fits on no server; so 2.3."""
    # Two jobs have 1, with 3 CPUs each, and two 0.3, with 12: one of these has the other server.
    profiles = {
        "alone": profile(4, [2, 3], [2], [[0], [0.3]]),
        "small": profile(1, [3], [2], [[1]]),
        "never": profile(5, [3, 8], [2], [[1 / 3], [1]]),
    }
    jobs = ["never", "small", "small", "alone", "alone"]
    made = made_of((2, 4, 12, 8), profiles, jobs, allow_split=False, may_wait=True)
    result = dlsched.solve(made, "patterns")
    assert result.status == "optimal"
    assert result.objective[0] == result.bound[0].value == Fraction(23, 10)
    assert oracles.sensitivity(made)[0] == Fraction(23, 10)


def test_no_time() -> None:
    """With no time left, before there are prices, jobs are where TUNE has them, or run faster."""
    instance = dlsched.generate("sensitivity", 1, servers=4)
    result = dlsched.solve(instance, "price_round", time_limit=1e-9)
    tuned = dlsched.solve(instance, "tune")
    places = [{n: j.gpus for n, j in r.solution.allocation.items()} for r in (result, tuned)]
    assert places[0] == places[1]
    assert result.objective[0] > tuned.objective[0]
