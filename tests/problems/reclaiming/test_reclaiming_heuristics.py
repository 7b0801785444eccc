"""The heuristics: the servers that they return first, and why."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reclaiming_instances import hand

import dlsched
from dlsched.problems.reclaiming import Instance
from dlsched.problems.reclaiming.definition.oracle import brute_force
from dlsched.problems.reclaiming.kernels.densest import empty
from dlsched.problems.reclaiming.structures.job_arrays import comparable_weights, layout_of
from dlsched.problems.reclaiming.structures.job_shares import gpu_shares
from dlsched.testing.strategies import reclaiming
from drawing import drawn

RULES = ("lyra", "gpu_fraction", "scf", "densest", "random")


def test_servers_without_base_workers_are_first() -> None:
    """They cost 0, also when full of flexible workers."""
    jobs = {"a": "1:4 2:8f", "b": "3:1", "c": "4:1"}
    assert dlsched.solve(hand(1, jobs), "lyra").solution.returned == ("s2",)


def test_ties_go_to_the_least_collateral_then_to_the_file() -> None:
    """Equal costs: the server whose jobs hold least elsewhere, then the earlier one."""
    jobs = {"a": "1:2 2:1 4:2f", "b": "3:2 4:1 1:1f"}
    # All cost 1/2. Taking s1 vacates 1 + 2 GPUs elsewhere, s2 2 + 2, s3 1 + 1, and s4 2 + 1.
    assert dlsched.solve(hand(1, jobs), "lyra").solution.returned == ("s3",)
    alone = {f"j{i}": f"{i}" for i in range(1, 5)}
    assert dlsched.solve(hand(2, alone), "lyra").solution.returned == ("s1", "s2")


def test_idled_servers_are_no_collateral_that_the_demand_absorbs() -> None:
    """Figure 5's tie of 1, 2, 4 and 6 goes to 1: its job's other server can be returned next."""
    assert dlsched.solve("lyra-fig5", "lyra").solution.returned[0] == "1"


@pytest.mark.parametrize("rule", RULES)
def test_only_random_depends_on_the_seed(rule: str) -> None:
    """Another seed gives other servers for `random`, the same for every other rule."""
    inst = dlsched.generate("reclaiming", 5, servers=60)
    first, other = (dlsched.solve(inst, rule, seed=s).solution.returned for s in (1, 2))
    assert (first == other) == (rule != "random")


def read_directly(instance: Instance, rule: str, ties: str) -> tuple[str, ...]:
    """Return what a greedy rule returns, with all costs and ties computed anew at each step."""
    base, held, n = instance.base_servers, instance.held, len(instance.servers)
    alive, left = set(range(len(instance.jobs))), set(range(n))
    counted = rule == "lyra" and instance.demand == 1

    def share(j: int, s: int) -> Fraction:
        if counted:
            return Fraction(1)
        if rule == "lyra":
            return Fraction(1, len(base[j]))
        return Fraction(held[j][s], sum(held[j].values()))

    def damage(s: int, room: int) -> int:
        stopped = {j for j in alive if s in base[j]}
        vacated = {t: sum(held[j].get(t, 0) for j in stopped) for t in left - {s}}
        idle = sorted(
            gpus
            for t, gpus in vacated.items()
            if gpus and not any(t in base[j] for j in alive - stopped)
        )
        absorbed = idle[max(0, len(idle) - room) :] if ties == "absorbed" else []
        return sum(vacated.values()) - sum(absorbed)

    taken = []
    for room in reversed(range(instance.demand)):
        costs = {
            s: sum(instance.jobs[j].weight * share(j, s) for j in alive if s in base[j])
            for s in left
        }
        equal = [s for s in sorted(left) if costs[s] == min(costs.values())]
        server = equal[0] if ties == "file" else min(equal, key=lambda s: damage(s, room))
        taken.append(instance.servers[server].id)
        left.remove(server)
        alive -= {j for j in alive if server in base[j]}
    return tuple(taken)


GREEDY = [
    (rule, ties) for rule in ("lyra", "gpu_fraction") for ties in ("absorbed", "collateral", "file")
]


@drawn(50, reclaiming(mixed=True) | reclaiming())
def test_greedy_rules_are_what_their_definitions_say(instance: Instance) -> None:
    """Each server taken has the least cost at that time, and ties go where the rule says."""
    for rule, ties in GREEDY:
        found = dlsched.solve(instance, rule, ties=ties).solution.returned
        assert found == read_directly(instance, rule, ties)


@pytest.mark.parametrize(
    "fleet",
    [
        {"spread": 0.2},
        {"churn": 2.0, "odd": 0.5},
        {"spread": 1.0, "flexible": 0.8, "churn": 1.0},
        {"placement": "remnants", "odd": 0.5, "churn": 2.0, "flexible": 0.5},
    ],
    ids=["arrivals", "departures", "flexible", "remnants"],
)
def test_greedy_rules_are_what_they_say_on_fleets(fleet: dict[str, Any]) -> None:
    """The same on 40 servers, where jobs have many neighbours and ties are many."""
    for seed, demand in ((1, 4), (2, 25)):
        made = dlsched.generate("reclaiming", seed, servers=40, demand=demand, **fleet)
        for rule, ties in GREEDY:
            found = dlsched.solve(made, rule, ties=ties).solution.returned
            assert found == read_directly(made, rule, ties)


def test_a_demand_of_one_takes_the_server_with_the_fewest_jobs() -> None:
    """Lyra, section 4: for one server the fewest preemptions, not the least sum of fractions."""
    jobs = {
        "a": "1:1 2:1 3:1 4:1",
        "b": "1:1 2:1 3:1",
        "c": "4:2 1:1f",
        "d": "1:2 2:1 3:1",
        "e": "2:2",
    }
    # Fractions: s1, s2, s3, s4 = 11/12, 23/12, 11/12, 15/12; jobs: 3, 4, 3, 2.
    assert dlsched.solve(hand(1, jobs), "lyra").solution.returned == ("s4",)
    assert dlsched.solve(hand(1, jobs), "lyra").objective.preempted == 2
    assert dlsched.solve(hand(2, jobs), "lyra").solution.returned[0] in ("s1", "s3")


def test_weights_multiply_the_shares() -> None:
    """A job of weight 5 on two servers costs 5/2 on each, more than two jobs of weight 1 on one."""
    jobs = {"a": "1:4 2:4", "b": "3:4", "c": "3:4", "d": "4:4"}
    light = dlsched.solve(hand(2, jobs), "lyra")
    heavy = dlsched.solve(hand(2, jobs, a=5), "lyra")
    assert set(light.solution.returned) == {"s1", "s2"}
    assert set(heavy.solution.returned) == {"s3", "s4"}
    assert tuple(heavy.objective) == (3, 0)
    parts = gpu_shares(Instance.parse(hand(2, jobs, a=5), "test")).costs(4)
    assert parts == [Fraction(5, 2), Fraction(5, 2), 2, 1]


def test_scf_counts_once_and_knows_no_weights() -> None:
    """Section 7.1: the top k by job count; the server that job a empties is not taken for free."""
    jobs = {"a": "1:4 2:4", "b": "2:1", "c": "3:1", "d": "4:1", "e": "4:1"}
    weights = {"c": 100.0, "b": 0.0}
    static = dlsched.solve(hand(2, jobs, **weights), "scf")
    assert static.solution.returned == ("s1", "s3")
    assert static.objective.preempted == 101


def test_plain_collateral_misses_figure_5() -> None:
    """With plain collateral damage 4 and 6 come first, and two jobs are preempted."""
    absorbed = dlsched.solve("lyra-fig5", "lyra")
    plain = dlsched.solve("lyra-fig5", "lyra", ties="collateral")
    assert set(absorbed.solution.returned) == {"1", "2"}
    assert set(plain.solution.returned) == {"4", "6"}
    assert (absorbed.objective.preempted, plain.objective.preempted) == (1, 2)


@pytest.mark.parametrize("ties", ["absorbed", "collateral"])
@pytest.mark.parametrize("gpus", [1, 2])
def test_figure_5_with_a_smaller_job_a(ties: str, gpus: int) -> None:
    """Where job a has at most 2 GPUs on each server, both readings return servers 1 and 2."""
    jobs = {"a": f"1:{gpus} 2:{gpus}", "b": "3:8", "c": "4:8 5:2", "d": "5:2 6:8"}
    found = dlsched.solve(hand(2, jobs, servers=6), "lyra", ties=ties).solution
    assert set(found.returned) == {"s1", "s2"}


@pytest.mark.parametrize("rule", ["lyra", "gpu_fraction", "scf"])
def test_ties_drawn_at_random_are_ties(rule: str) -> None:
    """With a seed the answer is fixed; over seeds every one of four equal servers is returned."""
    alone = dlsched.load(hand(2, {f"j{i}": f"{i}" for i in range(1, 5)}))
    taken = [dlsched.solve(alone, rule, seed=s, ties="random").solution for s in range(30)]
    assert {s for answer in taken for s in answer.returned} == {"s1", "s2", "s3", "s4"}
    assert dlsched.solve(alone, rule, seed=7, ties="random").solution == taken[7]


ALL_FOR_3 = {"a": "1 2 3 4", "b": "5"}
FAR_APART = {"a": 1e15, "b": 1e-300, "c": 2e-300, "d": 3e-300}
DENSEST: dict[str, tuple[dict[str, Any], str, float]] = {
    # Lyra's cost takes s4 first, at 1/3, and preempts all four jobs.
    "one job on three servers is better than three jobs":
        (hand(3, {"a": "2 3", "b": "2 3 4", "c": "1", "d": "2 3"}), "234", 3),
    "servers without base workers come first": (hand(2, {"a": "1", "b": "3"}), "24", 0),
    "a server is as good as idle if all its jobs weigh nothing, however many there are":
        (hand(2, {"a": "1", "b": "2 3", "c": "2 3", "d": "4"}, b=0, c=0), "23", 0),
    "jobs of weight 0 are spared where that costs nothing":
        (hand(1, {"a": "1 2", "b": "3", "c": "1 4"}, a=0, b=0, c=0), "3", 0),
    # Job a empties four servers for 3, less for each than b's 1.
    "what is emptied beyond the demand is worth nothing":
        (hand(1, ALL_FOR_3, servers=5, a=3), "5", 1),
    "what is emptied for the demand is": (hand(4, ALL_FOR_3, servers=5, a=3), "1234", 3),
    # Job b alone (1 for 1) looks best at first, but a alone (5) is less than a and b.
    "ending with one server is always considered":
        (hand(3, {"a": "2 3 4", "b": "1"}, a=5), "234", 5),
    "ties go to the least collateral": (hand(1, {"a": "1 2", "b": "3", "c": "4"}), "3", 1),
    # Exact multiples have more digits than a double, ratios do not.
    "weights of 1e-300 are compared beside 1e15":
        (hand(1, {"a": "1", "b": "2", "c": "3", "d": "4"}, **FAR_APART), "2", FAR_APART["b"]),
}  # fmt: skip


@pytest.mark.parametrize("rule", DENSEST)
def test_densest_by_hand(rule: str) -> None:
    """`densest` returns these servers, with jobs of this weight preempted."""
    data, servers, preempted = DENSEST[rule]
    found = dlsched.solve(data, "densest")
    assert "".join(s[1:] for s in sorted(found.solution.returned)) == servers
    assert float(found.objective.preempted) == preempted


def test_lyra_preempts_more_than_densest() -> None:
    """Where one job on three servers is better than three jobs, Lyra's cost preempts all four."""
    data, _, _ = DENSEST["one job on three servers is better than three jobs"]
    assert dlsched.solve(data, "lyra").objective.preempted == 4


def test_jobs_that_need_not_stop_are_resumed() -> None:
    """From a state in which all are preempted, only the lightest that suffice stay so."""
    made = Instance.parse(hand(2, {"a": "1", "b": "2", "c": "3 4"}, a=3, b=2, c=2), "test")
    layout = layout_of(made)
    preempted = np.ones(3, dtype=np.bool_)
    order = np.argsort(-layout.weight, kind="stable")
    assert empty(layout, 2, 2, order, preempted.view(np.uint8)) == 2.0
    assert preempted.tolist() == [False, False, True]


@pytest.mark.parametrize(("seed", "demand", "least"), [(1002, 130, 68), (1003, 260, 207)])
def test_the_better_of_two_exponents_counts(seed: int, demand: int, least: int) -> None:
    """Both are optima: with the exponent 4 alone the first is 69, with 8 alone the second 208."""
    made = dlsched.generate("reclaiming", seed, servers=520, demand=demand, spread=1.0)
    assert dlsched.solve(made, "densest").objective.preempted == least


@pytest.mark.parametrize(("seed", "spread", "most"), [(50_002, 1.0, 135), (50_001, 0.2, 111)])
def test_jobs_are_exchanged_at_the_end(seed: int, spread: float, most: int) -> None:
    """Of fleets with optima of 134 and 111 it preempted 139 and 113 jobs without exchanges."""
    made = dlsched.generate(
        "reclaiming", seed, servers=520, demand=130, spread=spread, churn=2.0, odd=0.5
    )
    assert dlsched.solve(made, "densest").objective.preempted <= most


@pytest.mark.parametrize("demand", [0, 4])
def test_none_and_all_can_be_asked_for(demand: int) -> None:
    """A demand of no server preempts nothing, one of all servers everything."""
    data = hand(demand, {"a": "1 2", "b": "2 3", "c": "1"})
    found = dlsched.solve(data, "densest", rounds=3)
    assert len(found.solution.returned) == demand
    assert found.objective.preempted == (3 if demand else 0)


@drawn(100, reclaiming(max_servers=8, max_jobs=10, weighted=False))
def test_it_is_nearly_always_optimal_on_small_instances(made: Instance) -> None:
    """At most one more job than the optimum, found by brute force, is preempted."""
    best = brute_force(made)
    assert best is not None
    assert dlsched.solve(made, "densest").objective.preempted <= best[0] + 1


@drawn(40, reclaiming(max_servers=8, max_jobs=10, mixed=True))
def test_the_unit_of_weights_does_not_matter(made: Instance) -> None:
    """With all weights a thousandth or a third million times as large, the answer is the same."""
    answers = set()
    for factor in (Fraction(1), Fraction(1, 1000), Fraction(250_000)):
        data = made.to_data()
        for row, job in zip(data["jobs"], made.jobs, strict=True):
            row["weight"] = job.weight * factor
        answers.add(dlsched.solve(Instance.parse(data, "test"), "densest").solution.returned)
    assert len(answers) == 1


def test_weights_far_apart_are_comparable() -> None:
    """1e-300 beside 1e15: exact multiples have more digits than a double, ratios do not."""
    data, _, _ = DENSEST["weights of 1e-300 are compared beside 1e15"]
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
    made = dlsched.generate("reclaiming", 0, servers=100, gpus=64, jobs=200, demand=40, scattered=4)
    plain = dlsched.solve(made, "densest").objective
    first, again, other = (
        dlsched.solve(made, "densest", rounds=20, seed=seed) for seed in (3, 3, 4)
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
