"""The library's own heuristics, `balance` and `price_round`: their steps by hand, their bounds."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.sensitivity import Instance
from dlsched.problems.sensitivity.definition.oracle import brute_force
from dlsched.problems.sensitivity.heuristics.spreading import Exchanges, Wanted, spread
from dlsched.problems.sensitivity.instances.strategy import instances
from dlsched.problems.sensitivity.programs.initial_patterns import packing as proportional_patterns
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pooled import pooled_targets
from dlsched.problems.sensitivity.structures import server_patterns
from dlsched.problems.sensitivity.structures.server_knapsack import Knapsack, least_choices
from dlsched.problems.sensitivity.structures.server_patterns import Item
from dlsched.run import Run
from dlsched.testing import check_heuristic

OWN = ("balance", "price_round")


def instance_of(servers: tuple[Any, ...], profiles: dict[str, Any], jobs: str | list[str],
                **more: Any) -> Instance:  # fmt: skip
    """Return an instance: (count, GPUs, CPUs, memory), profiles, and the jobs' profiles."""
    shape = dict(zip(("count", "gpus", "cpus", "memory"), servers, strict=True))
    rows = [{"id": f"j{i}", "profile": profile} for i, profile in enumerate(jobs)]
    return Instance(name="made", servers=shape, profiles=profiles, jobs=rows, **more)


def profile(gpus: int, cpus: Any, memory: Any, throughput: Any) -> dict[str, Any]:
    """Return a profile's fields."""
    return {"gpus": gpus, "cpus": cpus, "memory": memory, "throughput": throughput}


@pytest.mark.parametrize("name", OWN)
def test_heuristics_have_the_properties_of_heuristics(name: str) -> None:
    """Feasible, deterministic, no better than brute force; valid bounds; names and order apart."""
    found = check_heuristic("sensitivity", name, examples=25, invariant=("names", "order"))
    assert found, str(found)


@given(instances(max_jobs=4, max_servers=4))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_price_round_on_small_instances(instance: Instance) -> None:
    """The certified bound is no less than the optimum, and what is found is no less than TUNE's.

    The patterns of `balance` and the near ones are added, so that nearly all are solved to the
    optimum; with one server the optimum is always found.
    """
    optimum = brute_force(instance)
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
    ("servers", "multi", "split", "most"),
    [(64, False, "20/70/10", 1e-3), (64, True, "20/70/10", 1e-3), (128, False, "60/30/10", 1e-3)],
)
def test_large_clusters_are_near_the_bound(
    servers: int, multi: bool, split: str, most: float
) -> None:
    """On 64 servers and more price_round is within 0.1 % of its own certified bound."""
    instance = dlsched.generate("sensitivity", 7, servers=servers, multi=multi, split=split)
    result = dlsched.solve(instance, "price_round")
    assert result.certified[0] is not None
    assert result.gap[0] <= most
    assert result.objective[0] > dlsched.solve(instance, "tune").objective[0]


def test_few_jobs_are_split() -> None:
    """Two servers of 4 GPUs, jobs of 3, 3 and 2: one of them is split, by each heuristic."""
    profiles = {f"p{g}": profile(g, [1], [1], [[1]]) for g in (2, 3)}
    made = instance_of((2, 4, 4, 4), profiles, ["p2", "p3", "p3"])
    for name in OWN:
        assert tuple(dlsched.solve(made, name).objective) == (3, 1)
    strict = made.model_copy(update={"allow_split": False})
    for name in OWN:
        result = dlsched.solve(strict, name)
        assert (result.status, result.termination) == ("no solution", "finished")


def test_a_job_larger_than_a_server_is_split() -> None:
    """Three GPUs on servers of two: split, beside a job that wants 3 of the 4 CPUs.

    The large job runs at 2 with 1 CPU a GPU or with its share of 2, and at 3 with 3; the small one
    at 1 with 2 CPUs and at 5 with 3. So 2 + 5.
    """
    profiles = {
        "large": profile(3, [1, 2, 3], [1], [[2], [2], [3]]),
        "small": profile(1, [2, 3], [1], [[1], [5]]),
    }
    made = instance_of((2, 2, 4, 2), profiles, ["large", "small"])
    for name in OWN:
        assert tuple(dlsched.solve(made, name).objective) == (7, 1)
    alone = made.model_copy(update={"allow_split": False})
    for name in OWN:
        assert dlsched.solve(alone, name).solution is None
        waits = dlsched.solve(alone.model_copy(update={"may_wait": True}), name)
        assert (waits.objective[0], waits.details["waiting"]) == (5, 1)


@pytest.mark.parametrize("name", OWN)
def test_scarce_memory(name: str) -> None:
    """CPUs in plenty, and memory for two of four jobs on each of two servers: two fast ones each.

    With 1 GB a job runs at 1, with 3 GB at 2; a server has 8 GB for four jobs.
    """
    profiles = {"m": profile(1, [1], [1, 2, 3], [[1, 1, 2]])}
    made = instance_of((2, 4, 4, 8), profiles, ["m"] * 8)
    assert tuple(dlsched.solve(made, name).objective) == (12, 0)


@pytest.mark.parametrize("name", OWN)
def test_jobs_that_wait(name: str) -> None:
    """Of four equal jobs of one GPU on two, two wait; without jobs nothing happens."""
    made = instance_of((1, 2, 2, 2), {"p": profile(1, [1], [1], [[1]])}, ["p"] * 4, may_wait=True)
    result = dlsched.solve(made, name)
    assert (result.objective[0], result.details["waiting"]) == (2, 2)
    none = made.model_copy(update={"jobs": ()})
    assert tuple(dlsched.solve(none, name).objective) == (0, 0)


@pytest.mark.parametrize("name", OWN)
def test_too_many_sums(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server's table would be too large jobs are upgraded one by one; a bound is left."""
    instance = dlsched.generate("sensitivity", 1, servers=4, multi=True)
    monkeypatch.setattr(server_patterns, "MOST_STATES", 10)
    result = dlsched.solve(instance, name)
    assert result.objective[0] > dlsched.solve(instance, "proportional").objective[0]
    assert (result.certified[0] is not None) == (name == "price_round")


@pytest.mark.parametrize("name", [*OWN, "patterns"])
def test_throughputs_that_are_far_apart(name: str) -> None:
    """1e12 beside 1e-300 and beside 3e-320: multiples of the granularity are no doubles."""
    for small in ("1e-300", "3e-320"):
        profiles = {
            "small": profile(1, [1], [1], [[float(small)]]),
            "large": profile(1, [1], [1], [[10**12]]),
        }
        made = instance_of((1, 2, 2, 2), profiles, ["small", "large"])
        result = dlsched.solve(made, name)
        assert result.objective[0] == brute_force(made)[0]
        assert result.bound[0] is None or result.bound[0].value >= result.objective[0]


def test_throughputs_that_no_job_can_have() -> None:
    """Two jobs of 8e-11 each, which would have 3e11 with 6 GB a GPU, on servers of 2 GB a GPU.

    What the solver says of the pooled cluster is known to 1e-9 of the largest throughput only.
    """
    table = [[0, 0], [8e-11, 3e11], [400, 4]]
    made = instance_of((2, 4, 16, 8), {"p": profile(4, [3, 4, 7], [2, 6], table)}, ["p", "p"])
    optimum = brute_force(made)
    assert optimum is not None and optimum[0] == Fraction(16, 10**11)
    assert dlsched.solve(made, "patterns").bound[0].value >= optimum[0]


def test_the_bound_is_a_sum_of_throughputs_that_jobs_can_have() -> None:
    """The pooled cluster has 2.33, as a third may come from a job that fits on no server; so 2.3.

    Two jobs have 1, with 3 CPUs each, and two 0.3, with 12: one of these has the other server.
    """
    profiles = {
        "alone": profile(4, [2, 3], [2], [[0], [0.3]]),
        "small": profile(1, [3], [2], [[1]]),
        "never": profile(5, [3, 8], [2], [[1 / 3], [1]]),
    }
    jobs = ["never", "small", "small", "alone", "alone"]
    made = instance_of((2, 4, 12, 8), profiles, jobs, allow_split=False, may_wait=True)
    result = dlsched.solve(made, "patterns")
    assert result.status == "optimal"
    assert result.objective[0] == result.bound[0].value == brute_force(made)[0] == Fraction(23, 10)


@pytest.mark.parametrize("name", OWN)
def test_no_time(name: str) -> None:
    """With no time left, before there are prices, demands are spread and chosen all the same."""
    instance = dlsched.generate("sensitivity", 1, servers=4)
    result = dlsched.solve(instance, name, time_limit=1e-9)
    assert result.objective[0] > dlsched.solve(instance, "proportional").objective[0]


def test_the_knapsack_is_the_best_of_all_combinations() -> None:
    """On a server with a part of a split job: the same throughput as by trying all choices."""
    instance = dlsched.generate("sensitivity", 5, servers=2, multi=True, split="50/20/30")
    rng = np.random.default_rng(1)
    names = sorted(instance.profiles)
    servers = instance.servers
    for _ in range(10):
        free, parts = 6, []
        while free:
            name = names[int(rng.integers(len(names)))]
            gpus = instance.profiles[name].gpus
            if gpus <= free and len(parts) < 4:
                parts.append((name, gpus))
                free -= gpus
            else:
                free -= 1
        other = least_choices(instance)[names[0]]
        used = Item(2, other.cpus, other.memory)
        found = Knapsack(instance, [*parts, (names[0], 2)]).solve(parts, [used])
        best = max(
            sum(choice.throughput for choice in choices)
            for choices in product(*(instance.undominated[name] for name, _ in parts))
            if all(
                2 * getattr(other, r)
                + sum(g * getattr(c, r) for c, (_, g) in zip(choices, parts, strict=True))
                <= getattr(servers, r)
                for r in ("cpus", "memory")
            )
        )
        assert sum(choice.throughput for choice in found) == best


def test_targets_are_those_of_stage_one() -> None:
    """Eight CPUs for four jobs that run at 1, 1.5, 2 with 1, 2, 3 CPUs: 2 each, or 3 and 1.

    The relaxation has throughput 6 with all CPUs in use, and only CPUs have a price.
    """
    table = [[1], [Fraction(3, 2)], [2]]
    made = instance_of(
        (2, 2, 4, 4), {"p": profile(1, [1, 2, 3], [1, 2], [2 * row for row in table])}, ["p"] * 4
    )
    targets = pooled_targets(made, Run())
    assert sum(c.cpus for c in targets.choices.values()) == 8
    assert sum(c.throughput for c in targets.choices.values()) == 6
    assert targets.weights == (1, 0)


def test_loads_are_spread_and_exchanged() -> None:
    """Largest first to the least loaded; exchanges bring loads of 1.5 and 0.5 to 1.1 and 0.9.

    The excess of 0.5 falls to 0.1 if 0.6 and 0.2 change places, or 0.9 and 0.3; the first differ
    less.
    """
    made = instance_of((2, 2, 2, 2), {"p": profile(1, [1], [1], [[1]])}, [])
    wanted = [Wanted(1, 0.6), Wanted(1, 0.2), Wanted(1, 0.9), Wanted(1, 0.3)]
    assert spread(made, wanted) == [{1: 1}, {0: 1}, {0: 1}, {1: 1}]
    placed = [{0: 1}, {1: 1}, {0: 1}, {1: 1}]
    Exchanges(wanted, placed, 2).run()
    assert placed == [{1: 1}, {0: 1}, {0: 1}, {1: 1}]
    assert spread(made, [*wanted, Wanted(1, 0.1)]) is None


@pytest.mark.parametrize("allow_split", [True, False])
def test_the_first_patterns_hold_all_jobs(allow_split: bool) -> None:
    """A packing with proportional shares supplies the items that all jobs need."""
    instance = dlsched.generate("sensitivity", 4, servers=6, multi=True, allow_split=allow_split)
    program = Program(instance, whole=True, units=allow_split)
    gpus = [item.gpus for item in program.items]
    packed = proportional_patterns(program)
    assert sum(n * g for pattern in packed for n, g in zip(pattern, gpus, strict=True)) == 48
    assert all(sum(n * g for n, g in zip(p, gpus, strict=True)) <= 8 for p in packed)
