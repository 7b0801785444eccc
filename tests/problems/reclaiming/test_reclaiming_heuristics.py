"""The optimum by hand; the servers that heuristics return first, and why (Lyra, section 4)."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from reclaiming_instances import hand

import dlsched
from dlsched.problems.reclaiming import Instance
from dlsched.testing.strategies import reclaiming
from drawing import drawn


class Reading:
    """What section 4 says of an instance: costs, ties and answers of the greedy rules."""

    def __init__(self, instance: Instance, rule: str) -> None:
        self.instance = instance
        self.rule = rule
        self.left = [server.id for server in instance.servers]
        self.running = {job.id: job for job in instance.jobs}
        self.held = {job.id: Counter[str]() for job in instance.jobs}
        for job in instance.jobs:
            for worker in job.workers:
                self.held[job.id][worker.server] += worker.gpus
        self.base = {j.id: {w.server for w in j.workers if not w.flexible} for j in instance.jobs}

    def on(self, server: str) -> list[str]:
        """Return the jobs with a base worker on a server that still run."""
        return [j for j in self.running if server in self.base[j]]

    def cost(self, server: str) -> Fraction:
        """Return the sum of the shares of the jobs on a server, by their weights."""
        share = {
            "lyra": lambda j: Fraction(1, len(self.base[j])),
            "gpu_fraction": lambda j: Fraction(self.held[j][server], self.held[j].total()),
            "scf": lambda j: Fraction(1),
        }["scf" if self.rule == "lyra" and self.instance.demand == 1 else self.rule]
        jobs = self.on(server)
        return sum((Fraction(self.running[j].weight) * share(j) for j in jobs), Fraction(0))

    def damage(self, server: str, room: int) -> int:
        """Return the GPUs vacated elsewhere, less the largest of `room` servers that get idle."""
        stopped = self.on(server)
        vacated = {t: sum(self.held[j][t] for j in stopped) for t in self.left if t != server}
        idle = [gpus for t, gpus in vacated.items() if gpus and set(self.on(t)) <= set(stopped)]
        return sum(vacated.values()) - sum(sorted(idle, reverse=True)[:room])

    def answer(self, ties: str) -> tuple[str, ...]:
        """Return the servers taken, with all costs and ties computed anew at each step."""
        taken = []
        for room in reversed(range(self.instance.demand)):
            costs = {server: self.cost(server) for server in self.left}
            equal = [server for server in self.left if costs[server] == min(costs.values())]
            absorbed = room if ties == "absorbed" else 0
            by_damage = min(equal, key=lambda server: self.damage(server, absorbed))
            server = equal[0] if ties == "file" else by_damage
            for job in self.on(server):
                del self.running[job]
            self.left.remove(server)
            taken.append(server)
        return tuple(taken)


HALF, FIFTH = Fraction(1, 2), Fraction(1, 5)


@pytest.mark.parametrize(
    ("rule", "costs"),
    [
        ("scf", [1, 1, 1, 1, 2, 1]),
        ("gpu_fraction", [HALF, HALF, 1, 4 * FIFTH, 2 * FIFTH, 4 * FIFTH]),
        ("lyra", [HALF, HALF, 1, HALF, 1, HALF]),
    ],
)
def test_table_1(rule: str, costs: list[Fraction]) -> None:
    """The three definitions of a server's cost, as read here, give the paper's three columns."""
    reading = Reading(dlsched.load("lyra-fig5"), rule)
    assert [reading.cost(server) for server in reading.left] == costs


@pytest.mark.parametrize(
    ("method", "options", "returned", "preempted"),
    [
        ("exact", {}, {"1", "2"}, 1),
        ("lyra", {}, {"1", "2"}, 1),
        # With plain collateral damage 4 and 6 come first.
        ("lyra", {"ties": "collateral"}, {"4", "6"}, 2),
        # The definition that the paper rejects takes the server with the least share of GPUs.
        ("gpu_fraction", {}, {"5"}, 2),
    ],
)
def test_figure_5(method: str, options: Any, returned: set[str], preempted: int) -> None:
    """For N = 2 section 4 has servers 1 and 2, which preempts job a only; `lyra` finds them."""
    result = dlsched.solve("lyra-fig5", method, **options)
    assert set(result.solution.returned[: len(returned)]) == returned
    assert tuple(result.objective)[:1] == (preempted,)


GREEDY = [
    (rule, ties) for rule in ("lyra", "gpu_fraction") for ties in ("absorbed", "collateral", "file")
]


def assert_as_read(instance: Instance) -> None:
    """Require of each rule that each server taken is the one that the text says."""
    for rule, ties in GREEDY:
        found = dlsched.solve(instance, rule, ties=ties).solution.returned
        assert found == Reading(instance, rule).answer(ties)


@drawn(50, reclaiming(mixed=True) | reclaiming())
def test_greedy_rules_are_what_their_definitions_say(instance: Instance) -> None:
    """Each server taken has the least cost at that time, and ties go where the rule says."""
    assert_as_read(instance)


def test_greedy_rules_are_what_they_say_on_fleets() -> None:
    """The same on 40 servers, where jobs have many neighbours and ties are many."""
    mixed = {"odd": 0.5, "churn": 2.0, "flexible": 0.5}
    for options in ({"spread": 0.2}, {"spread": 1.0, "flexible": 0.8}, mixed,
                    {"placement": "remnants"} | mixed):  # fmt: skip
        for seed, demand in ((1, 4), (2, 25)):
            fleet = {"servers": 40, "demand": demand} | options
            assert_as_read(dlsched.generate("reclaiming", seed, **fleet))


def test_scf_counts_once_and_knows_no_weights() -> None:
    """Section 7.1: the top k by job count; the server that job a empties is not taken for free."""
    jobs = {"a": "1:4 2:4", "b": "2:1", "c": "3:1", "d": "4:1", "e": "4:1"}
    weights = {"c": 100.0, "b": 0.0}
    static = dlsched.solve(hand(2, jobs, **weights), "scf")
    assert static.solution.returned == ("s1", "s3")
    assert static.objective.preempted == 101


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
    "jobs of weight 0 are spared where that costs nothing":
        (hand(1, {"a": "1 2", "b": "3", "c": "1 4"}, a=0, b=0, c=0), "3", 0),
    # Job a empties four servers for 3, less for each than b's 1.
    "what is emptied beyond the demand is worth nothing":
        (hand(1, ALL_FOR_3, servers=5, a=3), "5", 1),
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


HAND: dict[str, tuple[dict[str, Any], str, tuple[float, int]]] = {
    "a server with flexible workers only is free":
        (hand(1, {"a": "1:8 2:8f", "b": "3", "c": "4"}), "2", (0, 0)),
    "one heavy job costs more than two light ones":
        (hand(1, {"a": "1 2", "b": "3 4", "c": "3", "d": "4:3"}, a=2.5, d=0.25), "4", (1.25, 1)),
    "the level below decides: collateral":
        (hand(1, {"a": "1 2:6", "b": "3:2 4:3f", "c": "4 1:7f"}), "2", (1, 1)),
    "nothing to return": (hand(0, {"a": "1:8"}), "", (0, 0)),
    "everything to return": (hand(4, {"a": "1:8", "b": "2:2f"}, a=1.5, b=2), "1234", (1.5, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", HAND)
def test_worked_by_hand(name: str) -> None:
    """Flexible workers, weights and collateral, each where it decides."""
    instance, returned, objective = HAND[name]
    result = dlsched.solve(instance)
    assert result.status == "optimal"
    assert set(result.solution.returned) == {f"s{digit}" for digit in returned}
    assert tuple(result.objective) == objective


def test_the_relaxation_is_rounded_up() -> None:
    """Figure 5: the relaxation's fraction of a job becomes one job; no solution is returned."""
    result = dlsched.solve("lyra-fig5", "lp")
    assert (result.status, result.termination) == ("no solution", "bound_only")
    assert result.solution is None
    assert result.bound.preempted.value == 1
