"""The heuristics: the servers that they return first, and why."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.problems.reclaiming.structures.job_shares import gpu_shares
from dlsched.testing.strategies import reclaiming

RULES = ("lyra", "gpu_fraction", "scf", "scf_updated", "densest", "random")


def instance(
    demand: int, jobs: dict[str, list[tuple[str, int, bool]]], **weights: float
) -> dict[str, Any]:
    """Return an instance on four servers of 8 GPUs."""
    rows: list[dict[str, Any]] = [
        {"id": j, "workers": [{"server": s, "gpus": g, "flexible": f} for s, g, f in workers]}
        for j, workers in jobs.items()
    ]
    for row in rows:
        row["weight"] = weights.get(row["id"], 1)
    servers = [{"id": f"s{i}", "gpus": 8} for i in range(1, 5)]
    head = {"dlsched": 1, "problem": "reclaiming", "name": "hand", "demand": demand}
    return head | {"servers": servers, "jobs": rows}


def test_servers_without_base_workers_are_first() -> None:
    """They cost 0, also when full of flexible workers."""
    jobs = {
        "a": [("s1", 4, False), ("s2", 8, True)],
        "b": [("s3", 1, False)],
        "c": [("s4", 1, False)],
    }
    assert dlsched.solve(instance(1, jobs), "lyra").solution.returned == ("s2",)


def test_ties_go_to_the_least_collateral_then_to_the_file() -> None:
    """Equal costs: the server whose jobs hold least elsewhere, then the earlier one."""
    jobs = {
        "a": [("s1", 2, False), ("s2", 1, False), ("s4", 2, True)],
        "b": [("s3", 2, False), ("s4", 1, False), ("s1", 1, True)],
    }
    # All cost 1/2. Taking s1 vacates 1 + 2 GPUs elsewhere, s2 2 + 2, s3 1 + 1, and s4 2 + 1.
    assert dlsched.solve(instance(1, jobs), "lyra").solution.returned == ("s3",)
    alone = {f"j{i}": [(f"s{i}", 1, False)] for i in range(1, 5)}
    assert dlsched.solve(instance(2, alone), "lyra").solution.returned == ("s1", "s2")


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
    counted = rule == "scf_updated" or (rule == "lyra" and instance.demand == 1)

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
    (rule, ties)
    for rule in ("lyra", "gpu_fraction", "scf_updated")
    for ties in ("absorbed", "collateral", "file")
]


@settings(max_examples=50, derandomize=True, deadline=None)
@given(instance=reclaiming(mixed=True) | reclaiming())
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
        "a": [("s1", 1, False), ("s2", 1, False), ("s3", 1, False), ("s4", 1, False)],
        "b": [("s1", 1, False), ("s2", 1, False), ("s3", 1, False)],
        "c": [("s4", 2, False), ("s1", 1, True)],
        "d": [("s1", 2, False), ("s2", 1, False), ("s3", 1, False)],
        "e": [("s2", 2, False)],
    }
    # Fractions: s1, s2, s3, s4 = 11/12, 23/12, 11/12, 15/12; jobs: 3, 4, 3, 2.
    assert dlsched.solve(instance(1, jobs), "lyra").solution.returned == ("s4",)
    assert dlsched.solve(instance(1, jobs), "lyra").objective.preempted == 2
    assert dlsched.solve(instance(2, jobs), "lyra").solution.returned[0] in ("s1", "s3")


def test_weights_multiply_the_shares() -> None:
    """A job of weight 5 on two servers costs 5/2 on each, more than two jobs of weight 1 on one."""
    jobs = {
        "a": [("s1", 4, False), ("s2", 4, False)],
        "b": [("s3", 4, False)],
        "c": [("s3", 4, False)],
        "d": [("s4", 4, False)],
    }
    light = dlsched.solve(instance(2, jobs), "lyra")
    heavy = dlsched.solve(instance(2, jobs, a=5), "lyra")
    assert set(light.solution.returned) == {"s1", "s2"}
    assert set(heavy.solution.returned) == {"s3", "s4"}
    assert tuple(heavy.objective) == (3, 0)
    parts = gpu_shares(Instance.parse(instance(2, jobs, a=5), "test")).costs(4)
    assert parts == [Fraction(5, 2), Fraction(5, 2), 2, 1]


def test_scf_counts_once_and_knows_no_weights() -> None:
    """Section 7.1: the top k by job count; the server that job a empties is not taken for free."""
    jobs = {
        "a": [("s1", 4, False), ("s2", 4, False)],
        "b": [("s2", 1, False)],
        "c": [("s3", 1, False)],
        "d": [("s4", 1, False)],
        "e": [("s4", 1, False)],
    }
    weights = {"c": 100.0, "b": 0.0}
    static = dlsched.solve(instance(2, jobs, **weights), "scf")
    updated = dlsched.solve(instance(2, jobs, **weights), "scf_updated")
    assert static.solution.returned == ("s1", "s3")
    assert set(updated.solution.returned) == {"s1", "s2"}
    assert (static.objective.preempted, updated.objective.preempted) == (101, 1)


def test_plain_collateral_misses_figure_5() -> None:
    """With plain collateral damage 4 and 6 come first, and two jobs are preempted."""
    absorbed = dlsched.solve("lyra-fig5", "lyra")
    plain = dlsched.solve("lyra-fig5", "lyra", ties="collateral")
    assert set(absorbed.solution.returned) == {"1", "2"}
    assert set(plain.solution.returned) == {"4", "6"}
    assert (absorbed.objective.preempted, plain.objective.preempted) == (1, 2)


@pytest.mark.parametrize("rule", ["lyra", "gpu_fraction", "scf", "scf_updated"])
def test_ties_drawn_at_random_are_ties(rule: str) -> None:
    """With a seed the answer is fixed; over seeds every one of four equal servers is returned."""
    alone = dlsched.load(instance(2, {f"j{i}": [(f"s{i}", 1, False)] for i in range(1, 5)}))
    taken = [dlsched.solve(alone, rule, seed=s, ties="random").solution for s in range(30)]
    assert {s for answer in taken for s in answer.returned} == {"s1", "s2", "s3", "s4"}
    assert dlsched.solve(alone, rule, seed=7, ties="random").solution == taken[7]
    with pytest.raises(dlsched.OptionError, match="ties='first'"):
        dlsched.solve(alone, rule, ties="first")
