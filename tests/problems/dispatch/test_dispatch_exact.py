"""Exact methods and bounds of dispatch: brute force, each other, limits, what nearly fits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from refusals import changed

import dlsched
from dispatch_instances import held, instance, job, machines, running, tenant, waiting
from dlsched.problems.dispatch import Instance
from dlsched.results.objective import relative_gap
from dlsched.testing import oracles, strategies
from drawing import drawn

EXACT = pytest.mark.parametrize("method", ["milp", "classes"])
NINE_DIGITS = 2e-9
"""A solver's values are right to nine digits; so an optimum of two values closer than that may be
either."""


def require_truth(instance: Instance, *methods: str) -> None:
    """Fail if a method's answer differs from brute force in what it states."""
    best = oracles.dispatch(instance)
    for method in methods:
        result = dlsched.solve(instance, method)
        assert result.objective is None or not result.objective.better_than(best)
        if result.status == "optimal":
            pairs = zip(result.objective, best, strict=True)
            first = next(((a, b) for a, b in pairs if a != b), (0, 0))
            assert relative_gap(*first) <= NINE_DIGITS, (method, first)
            assert first[0] == first[1] or "proved optimal within" in result.reason


@drawn(60, strategies.dispatch(ties=True))
def test_methods_and_brute_force(instance: Instance) -> None:
    """Exact methods find the optimum, also with equal credits."""
    require_truth(instance, "milp", "classes")


def one_cluster(seed: int, **more: Any) -> Instance:
    """Generate an instance of the scope one that is larger than brute force allows."""
    options: dict[str, Any] = {"scope": "one", "regions": 2, "machines": 12, "pending": 6,
                               "gpu_share": 0.75, "rack": 3, "cpu_only": 0.1}  # fmt: skip
    return dlsched.generate("dispatch", seed, **options | more)  # type: ignore[return-value]


def equal(count: int, have: int, runs: Any, pending: Any) -> Instance:
    """Return an instance of one cluster of equal machines without GPUs, and two tenants."""
    quotas = {"gpus": 0, "cpus": 10_000}
    return instance(
        [machines("m", 0, have, have, count=count)], runs, pending, cpu_weight=1,
        tenants=[tenant("high", 1, **quotas), tenant("low", 2, **quotas)],
    )  # fmt: skip


def tight(seed: int) -> Instance:
    """Return equal machines on which tasks of many sizes seldom fit without a remainder."""
    draw = random.Random(seed).randrange
    count, have = draw(2, 6), draw(10, 31)
    third, half = have // 3, have * 2 // 3
    on = {f"m#{i}": 1 for i in range(count)}
    tasks = [held(on, 0, draw(1, third), draw(1, third)) for _ in range(draw(3))]
    runs = [
        running(f"v{k}", row, tenant="low", seconds=draw(90_000)) for k, row in enumerate(tasks)
    ]
    waits = []
    for k in range(draw(2, 7)):
        jobs = [(draw(1, 4), draw(have // 5, half), draw(1, half)) for _ in range(draw(1, 4))]
        rows = (job(f"j{i}", 0, *amounts) for i, amounts in enumerate(jobs))
        waits.append(waiting(f"w{k}", *rows, tenant="high", age=k))
    return equal(count, have, runs, waits)


SEEDS = {
    "clusters": lambda seed: one_cluster(seed, allocation=1.0),
    "tight": tight,
    "batches": lambda seed: dlsched.generate("dispatch", seed, machines=8, allocation=1.0),
}


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        # On 75 HiGHS 1.16 called a start of value 1 optimal with the value 0.
        ("clusters", (1, 2, 75)),
        ("tight", (5, 6, 7, 8)),
        ("batches", (1, 2)),
        *(pytest.param(kind, range(500), marks=pytest.mark.slow) for kind in ("clusters", "tight")),
    ],
)
def test_classes_and_model_agree(kind: str, seeds: Sequence[int]) -> None:
    """Of what is too large for brute force; where counts cannot be placed, classes are divided."""
    preempting = 0
    for seed in seeds:
        first, second = (dlsched.solve(SEEDS[kind](seed), m) for m in ("classes", "milp"))
        assert first.status == second.status == "optimal"
        assert first.objective == second.objective
        preempting += bool(first.solution.preempt)
    assert kind != "clusters" or preempting > len(seeds) / 2


@EXACT
def test_one_second_of_youth_in_a_million(method: str) -> None:
    """Of 1.4 million seconds that victims lack one is saved, by a plan with more racks."""
    rows = [(5, 1000, 0)] * 14 + [(1, 901, 1), (2, 900, 0), (3, 800, 0)]
    young = instance(
        [machines(f"m{k}", gpus, rack=rack) for k, (gpus, _, rack) in enumerate(rows)],
        [running(f"v{k}", held({f"m{k}#0": 1}, gpus), seconds=seconds)
         for k, (gpus, seconds, _) in enumerate(rows)],
        [waiting("w", job(gpus=1, tasks=74, cpus=0, memory=0))],
        scope="one",
    )  # fmt: skip
    objective = dlsched.solve(young, method).objective
    assert (objective.preempted_2, objective.young, objective.spread) == (16, 1366699, 18)


def test_too_many_machines_for_arrays() -> None:
    """A billion machines are refused before they fill the memory."""
    data = changed(one_cluster(0).to_data(), "regions[0].clusters[0].machines[0].count", 10**9)
    with pytest.raises(dlsched.OptionError, match="10000000 machines"):
        dlsched.solve(data, "mast")


@pytest.mark.parametrize(("count", "started"), [(2, 0), (3, 259)])
def test_a_gap_of_bin_packing(count: int, started: int) -> None:
    """Sizes 44, 33 and 12 (2, 3 and 6 of them) fill 1.96 machines of 132 and need three."""
    # No inequality for one machine shows it, so the class must be divided.
    jobs = [job(f"j{n}", tasks=n, cpus=size, memory=0) for size, n in ((44, 2), (33, 3), (12, 6))]
    waits = [waiting("w", *jobs, tenant="high")]
    result = dlsched.solve(equal(count, 132, [], waits), "classes")
    assert (result.status, result.objective.started_1) == ("optimal", started)


def cpu_jobs(cpus: list[float], count: int, have: Any) -> Instance:
    """Return one workload with jobs that need CPUs only, and one group of empty machines."""
    jobs = [job(f"j{j}", cpus=Fraction(repr(n)), memory=0) for j, n in enumerate(cpus)]
    return instance(
        [machines("m", 0, have, 0, count=count)],
        pending=[waiting("w", *jobs)],
        lowest_priority=1, cpu_weight=1, tenants=[tenant(cpus=10**9)],
    )  # fmt: skip


def test_the_reason_says_to_which_precision() -> None:
    """An optimum that the solver's bound leaves open in the tenth digit is not just "proved"."""
    data = cpu_jobs([3.0000000000001], 1, 4).to_data()
    data["pending"].append(waiting("v", job("j0", cpus=3, memory=0)))
    both = Instance.parse(data, "the test")
    require_truth(both, "milp", "classes")
    result = dlsched.solve(both, "classes")
    exactly = result.bound.started_1.value == result.objective.started_1
    assert exactly or "of started_1: smaller differences are beyond" in result.reason
