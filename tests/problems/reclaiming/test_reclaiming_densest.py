"""`densest`: the servers that it empties for the least weight, and what its rounds improve."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.reclaiming.definition.oracle import brute_force
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.problems.reclaiming.heuristics.densest_loops import empty
from dlsched.problems.reclaiming.structures.job_arrays import comparable_weights, layout_of
from dlsched.solvers.compilation import interpreted
from dlsched.testing import check_heuristic
from dlsched.testing.strategies import reclaiming


def instance(
    demand: int, jobs: dict[str, str], servers: int = 4, **weights: float
) -> dict[str, Any]:
    """Return servers s1, s2, ... and jobs with one GPU on each; ``"12"`` is on s1 and s2."""
    rows = [
        {
            "id": j,
            "weight": weights.get(j, 1),
            "workers": [{"server": f"s{s}", "gpus": 1} for s in where],
        }
        for j, where in jobs.items()
    ]
    names = [{"id": f"s{i}", "gpus": 8} for i in range(1, servers + 1)]
    head = {"dlsched": 1, "problem": "reclaiming", "name": "hand", "demand": demand}
    return head | {"servers": names, "jobs": rows}


def returned(data: dict[str, Any], **options: Any) -> str:
    """Return the digits of the servers that `densest` returns."""
    found = dlsched.solve(data, "densest", **options).solution
    return "".join(s[1:] for s in sorted(found.returned))


def test_one_job_on_three_servers_is_better_than_three_jobs() -> None:
    """Lyra's cost takes s4 first, at 1/3, and preempts all four jobs; three jobs empty s2 to s4."""
    data = instance(3, {"a": "23", "b": "234", "c": "1", "d": "23"})
    assert returned(data) == "234"
    assert dlsched.solve(data, "lyra").objective.preempted == 4


def test_servers_without_base_workers_come_first() -> None:
    """They are idle already and cost nothing."""
    assert returned(instance(2, {"a": "1", "b": "3"})) == "24"


def test_jobs_of_weight_0_are_no_obstacle() -> None:
    """A server is as good as idle if all its jobs weigh nothing, however many there are."""
    data = instance(2, {"a": "1", "b": "23", "c": "23", "d": "4"}, b=0, c=0)
    assert dlsched.solve(data, "densest").objective.preempted == 0
    assert returned(data) == "23"


def test_jobs_of_weight_0_are_spared_where_that_costs_nothing() -> None:
    """All servers are as good as idle; returning s3 alone vacates no GPU elsewhere."""
    data = instance(1, {"a": "12", "b": "3", "c": "14"}, a=0, b=0, c=0)
    assert returned(data) == "3"


def test_what_is_emptied_beyond_the_demand_is_worth_nothing() -> None:
    """Job a empties four servers for 3, less for each than b's 1; but only one is wanted."""
    data = instance(1, {"a": "1234", "b": "5"}, servers=5, a=3)
    assert returned(data) == "5"
    assert returned(data | {"demand": 4}) == "1234"


def test_ending_with_one_server_is_always_considered() -> None:
    """Job b alone (1 for 1) looks best at first, but a alone (5) is less than a and b."""
    data = instance(3, {"a": "234", "b": "1"}, a=5)
    assert returned(data) == "234"
    assert dlsched.solve(data, "densest").objective.preempted == 5


def test_jobs_that_need_not_stop_are_resumed() -> None:
    """From a state in which all are preempted, only the lightest that suffice stay so."""
    made = Instance.parse(instance(2, {"a": "1", "b": "2", "c": "34"}, a=3, b=2, c=2), "test")
    layout = layout_of(made)
    preempted = np.ones(3, dtype=np.bool_)
    order = np.argsort(-layout.weight, kind="stable")
    with interpreted():
        assert empty(layout, 2, 2, order, preempted) == 2.0
    assert preempted.tolist() == [False, False, True]


def test_ties_go_to_the_least_collateral() -> None:
    """One server is wanted, each has one job: s3's holds nothing elsewhere."""
    assert returned(instance(1, {"a": "12", "b": "3", "c": "4"}, servers=4)) == "3"


@pytest.mark.parametrize("demand", [0, 4])
def test_none_and_all_can_be_asked_for(demand: int) -> None:
    """A demand of no server preempts nothing, one of all servers everything."""
    data = instance(demand, {"a": "12", "b": "23", "c": "1"})
    found = dlsched.solve(data, "densest", rounds=3)
    assert len(found.solution.returned) == demand
    assert found.objective.preempted == (3 if demand else 0)


@pytest.mark.parametrize("options", [{}, {"mixed": True}, {"weighted": False}], ids=str)
def test_properties(options: dict[str, Any]) -> None:
    """Feasible, deterministic, independent of names, and never below the optimum."""
    strategy = reclaiming(max_servers=8, max_jobs=10, **options)
    found = check_heuristic("reclaiming", "densest", examples=60, instances=strategy)
    assert found, str(found)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(made=reclaiming(max_servers=8, max_jobs=10, weighted=False))
def test_it_is_nearly_always_optimal_on_small_instances(made: Instance) -> None:
    """At most one more job than the optimum, found by brute force, is preempted."""
    best = brute_force(made)
    assert best is not None
    assert dlsched.solve(made, "densest").objective.preempted <= best[0] + 1


@settings(max_examples=40, derandomize=True, deadline=None)
@given(made=reclaiming(max_servers=8, max_jobs=10, mixed=True))
def test_the_unit_of_weights_does_not_matter(made: Instance) -> None:
    """With all weights a thousandth or a third million times as large, the answer is the same."""
    answers = set()
    for factor in (Fraction(1), Fraction(1, 1000), Fraction(250_000)):
        data = made.to_data()
        for row, job in zip(data["jobs"], made.jobs, strict=True):
            row["weight"] = job.weight * factor
        answers.add(dlsched.solve(Instance.parse(data, "test"), "densest").solution.returned)
    assert len(answers) == 1


def test_weights_far_apart_are_compared() -> None:
    """1e-300 beside 1e15: exact multiples have more digits than a double, ratios do not."""
    weights = {"a": 1e15, "b": 1e-300, "c": 2e-300, "d": 3e-300}
    data = instance(1, {"a": "1", "b": "2", "c": "3", "d": "4"}, **weights)
    assert returned(data) == "2"
    ratios = comparable_weights(Instance.parse(data, "test"))
    assert ratios[0] == 1.0
    assert 0.0 <= ratios[1] <= ratios[2] <= ratios[3] < 1e-308


@pytest.mark.parametrize("fleet", [{}, {"churn": 2.0, "odd": 0.5, "flexible": 0.3}], ids=str)
@pytest.mark.parametrize("demand", [26, 60])
def test_it_is_close_to_the_optimum_on_a_fleet(demand: int, fleet: dict[str, Any]) -> None:
    """On fleets of 200 servers it preempts no more than lyra and at most 3 % above the optimum."""
    made = dlsched.generate("reclaiming", 1, servers=200, demand=demand, **fleet)
    best = dlsched.solve(made, levels=1).objective.preempted
    rule, ours = (dlsched.solve(made, m).objective.preempted for m in ("lyra", "densest"))
    assert best <= ours <= min(rule, Fraction(103, 100) * best)


def test_rounds_only_improve_and_depend_on_the_seed() -> None:
    """More rounds are never worse in both levels; with one seed the answer is always the same."""
    made = dlsched.generate("reclaiming", 0, servers=60, gpus=64, jobs=120, demand=20, scattered=4)
    plain = dlsched.solve(made, "densest").objective
    first, again, other = (
        dlsched.solve(made, "densest", rounds=60, seed=seed) for seed in (3, 3, 4)
    )
    assert first.solution == again.solution
    assert all(tuple(found.objective) <= tuple(plain) for found in (first, other))
    assert first.solution != other.solution


def test_rounds_end_with_the_time_limit() -> None:
    """A limit of no time leaves the answer without rounds."""
    made = dlsched.generate("reclaiming", 2, servers=40, demand=9, churn=2.0)
    plain = dlsched.solve(made, "densest")
    limited = dlsched.solve(made, "densest", rounds=10**9, time_limit=1e-9)
    assert limited.solution.returned == plain.solution.returned
    for wrong in (-1, 2.5, "3"):
        with pytest.raises(dlsched.OptionError, match=f"rounds={wrong!r} must be a whole number"):
            dlsched.solve(made, "densest", rounds=wrong)
