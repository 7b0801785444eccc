"""The method `classes`: counts on classes of equal machines, and what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from dispatch_instances import held, instance, job, machines, running, tenant, waiting

import dlsched
from dlsched.problems.dispatch import Instance
from dlsched.problems.dispatch.definition.check import check
from dlsched.problems.dispatch.definition.schema import Solution
from dlsched.problems.dispatch.heuristics import mast_solution
from dlsched.problems.dispatch.instances.generate import examples
from dlsched.problems.dispatch.programs.loads import capacity
from dlsched.problems.dispatch.programs.machine_cuts import violated
from dlsched.problems.dispatch.programs.packing import pack
from dlsched.problems.dispatch.programs.unjustified_victims import justified
from dlsched.problems.dispatch.structures.blocks import Shape
from dlsched.run import Run

MACHINE = (8, 96, 768)
HALF, CPU = Shape(0, (4, 40, 320)), Shape(-1, (0, 64, 256))


def tight(seed: int) -> Instance:
    """Return equal machines on which tasks of many sizes seldom fit without a remainder."""
    rng = np.random.default_rng(seed)

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high))

    count, have = draw(2, 6), draw(10, 31)
    everywhere = {f"m#{i}": 1 for i in range(count)}
    runs = []
    for k in range(draw(0, 3)):
        seconds = draw(0, 90_000)
        needs = {"cpus": draw(1, have // 3), "memory": draw(1, have // 3)}
        runs.append(running(f"v{k}", held(everywhere, **needs), tenant="low", seconds=seconds))

    def any_job(name: str) -> dict[str, Any]:
        tasks, cpus = draw(1, 4), draw(have // 5, have * 2 // 3)
        return job(name, tasks=tasks, cpus=cpus, memory=draw(1, have * 2 // 3))

    pending = [
        waiting(f"w{k}", *(any_job(f"j{i}") for i in range(draw(1, 3))), tenant="high", age=k)
        for k in range(draw(2, 7))
    ]
    return equal(count, have, runs, pending)


def equal(count: int, have: int, runs: Any, pending: Any) -> Instance:
    """Return an instance of one cluster of equal machines without GPUs, and two tenants."""
    quotas = {"gpus": 0, "cpus": 10_000}
    return instance(
        [machines("m", 0, have, have, count=count)], runs, pending, cpu_weight=1,
        tenants=[tenant("high", 1, **quotas), tenant("low", 2, **quotas)],
    )  # fmt: skip


def same(instance: Instance) -> bool:
    """Whether `classes` proves the optimum that the model has."""
    first, second = dlsched.solve(instance, "classes"), dlsched.solve(instance, "milp")
    return first.status == second.status == "optimal" and first.objective == second.objective


@pytest.mark.parametrize(
    "seeds", [(4, 50), pytest.param(range(500), marks=pytest.mark.slow)], ids=["two", "500"]
)
def test_classes_and_model_on_tight_batches(seeds: Sequence[int]) -> None:
    """Tasks of many sizes: where counts cannot be placed, cuts are added and classes divided."""
    assert all(same(tight(seed)) for seed in seeds)


def test_classes_and_model_on_generated_batches() -> None:
    """The paper's distributions, with racks, several regions and preemption."""
    for seed in (1, 2):
        assert same(dlsched.generate("dispatch", seed, machines=8, allocation=1.0))


def test_a_gap_of_bin_packing() -> None:
    """Sizes 44, 33 and 12 (2, 3 and 6 of them) fill 1.96 machines of 132 and need three.

    No inequality for one machine shows it, so the class must be divided.
    """
    sizes = ((44, 2), (33, 3), (12, 6))
    shapes = [Shape(-1, (0, size, 0)) for size, _ in sizes]
    counts = [count for _, count in sizes]
    assert violated(shapes, counts, (0, 132, 0), 2, Run()) is None
    assert pack(counts, [shape.need for shape in shapes], (0, 132, 0), 2) is None
    jobs = [job(f"j{size}", tasks=n, cpus=size, memory=0) for size, n in sizes]
    for count, started in ((2, 0), (3, 259)):
        waits = [waiting("w", *jobs, tenant="high")]
        result = dlsched.solve(equal(count, 132, [], waits), "classes")
        assert (result.status, result.objective.started_1) == ("optimal", started)


def test_a_violated_inequality() -> None:
    """A task of 64 CPUs and one of half a machine's GPUs do not fit on a machine of 96 CPUs.

    Two and one of them are within the total of two machines. One weight of 2 to 1 excludes it.
    """
    weights = violated([HALF, CPU], [1, 2], MACHINE, 2, Run())
    assert weights is not None
    by = dict(weights)
    assert by[CPU] == 2 * by[HALF]
    assert capacity(weights, MACHINE) == by[CPU]
    assert violated([HALF, CPU], [2, 1], MACHINE, 2, Run()) is None


def test_pack() -> None:
    """Tasks of 6 and of 4 fit on two machines of 10 only in pairs of unlike ones."""
    needs = [(0, 6, 0), (0, 4, 0)]
    assert pack([2, 2], needs, (0, 10, 0), 2) == [(1, 1), (1, 1)]
    assert pack([2, 3], needs, (0, 10, 0), 2) is None
    assert pack([1, 5], needs, (0, 10, 0), 3) == [(1, 1), (0, 2), (0, 2)]


def test_unjustified_victims_stay() -> None:
    """A victim of priority 2 for a workload over quota stays, and the workload waits."""
    places: list[dict[str, int]] = [{"m#0": 1}, {"m#1": 1}]
    runs = [running(f"v{k}", held(on, 0, 5, 5), tenant="low") for k, on in enumerate(places)]
    five = job(cpus=5, memory=5)
    waits = [waiting("w0", five, tenant="high"), waiting("w1", five, tenant="low")]
    two = equal(2, 5, runs, waits)
    start = {
        f"w{k}": {"region": "r", "jobs": {"j": {"cluster": "c", "on": on}}}
        for k, on in enumerate(places)
    }
    found = justified(two, Solution(start=start, preempt=("v0", "v1")))
    assert (set(found.start), found.preempt) == ({"w0"}, ("v0",))
    assert check(two, found).feasible


def test_some_levels_only() -> None:
    """The levels asked for are bounded and attained, the others are not claimed."""
    instance = dlsched.generate("dispatch", 1)
    some = dlsched.solve(instance, "classes", levels=4)
    best = dlsched.solve(instance, "classes")
    assert (some.status, some.termination) == ("feasible", "levels_done")
    assert tuple(some.objective)[:4] == tuple(best.objective)[:4]
    assert [bound is None for bound in some.bound] == [False] * 4 + [True] * 12
    with pytest.raises(dlsched.OptionError, match="levels=17"):
        dlsched.solve(instance, "classes", levels=17)


def test_a_limit_leaves_a_feasible_solution() -> None:
    """Without time, the answer is that of `mast`, and nothing is called optimal."""
    instance = dlsched.generate("dispatch", 1)
    result = dlsched.solve(instance, "classes", time_limit=1e-9)
    assert result.status == "feasible"
    assert result.solution.start == mast_solution(instance).start


def test_a_better_start_is_used() -> None:
    """The start's value is the incumbent's if it is better than that of `mast`."""
    instance = examples()[0]  # mast starts one of two workloads
    best = dlsched.solve(instance, "classes")
    again = dlsched.solve(instance, "classes", start=best.solution)
    assert again.start and again.start.accepted and again.objective == best.objective
    worse = dlsched.solve(instance, "classes", start=mast_solution(instance))
    assert worse.start and not worse.start.accepted
