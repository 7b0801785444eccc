"""Exact methods and bounds of dispatch: brute force, each other, counts on classes of machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from dispatch_instances import held, instance, job, machines, running, tenant, waiting
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import changed

import dlsched
from dlsched import Run
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.check import check
from dlsched.problems.dispatch.definition.oracle import brute_force
from dlsched.problems.dispatch.exact import from_best
from dlsched.problems.dispatch.instances.strategy import instances
from dlsched.problems.dispatch.programs.batch_search import BatchSearch
from dlsched.problems.dispatch.programs.loads import capacity
from dlsched.problems.dispatch.programs.place_counts import pack, violated
from dlsched.problems.dispatch.programs.unjustified_victims import justified
from dlsched.problems.dispatch.structures.blocks import Shape
from dlsched.results.refutation import beaten_level
from dlsched.results.result import Claim, Status, Termination
from dlsched.solvers.precision import BEYOND_PRECISION
from drawing import draws

SEEDS = st.integers(0, 10**6)


def one_cluster(seed: int, **more: Any) -> Instance:
    """Generate an instance of the scope one that is larger than brute force allows."""
    options: dict[str, Any] = {"scope": "one", "regions": 2, "machines": 12, "pending": 6,
                               "gpu_share": 0.75, "rack": 3, "cpu_only": 0.1}  # fmt: skip
    return dlsched.generate("dispatch", seed, **options | more)  # type: ignore[return-value]


@pytest.mark.parametrize("examples", [6, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scope", ["one", "batch"])
def test_methods_and_brute_force(scope: str, examples: int) -> None:
    """Exact methods find the optimum, also with equal credits, and no optimum beats a bound."""

    @settings(max_examples=examples, deadline=None)
    @given(instances(scope=scope, ties=True))
    def run(instance: Instance) -> None:
        optimum = brute_force(instance)
        for method in ("milp", "classes"):
            result = dlsched.solve(instance, method)
            assert (result.status, result.objective) == ("optimal", optimum)
            if method == "classes":
                assert tuple(bound.value for bound in result.bound) == tuple(optimum)
        result = dlsched.solve(instance, "lp")
        assert beaten_level(result.certified, optimum) is None
        assert result.certified.started_1 is not None

    run()


@settings(max_examples=draws(6, 2), deadline=None)
@given(SEEDS, st.sampled_from([1.0, 1.0, 0.95]))
def test_classes_and_model_on_generated_clusters(seed: int, allocation: float) -> None:
    """Both find the same optimum of instances too large for brute force."""
    instance = one_cluster(seed, allocation=allocation)
    first, second = dlsched.solve(instance, "classes"), dlsched.solve(instance, "milp")
    assert first.status == second.status == "optimal"
    assert first.objective == second.objective


def test_model_where_highs_mistakes_the_value_of_its_start() -> None:
    """HiGHS 1.16 called a start of value 1 optimal with the value 0: it is solved without it."""
    assert dlsched.solve(one_cluster(75, allocation=1.0), "milp").status == "optimal"


@pytest.mark.slow
def test_classes_and_model_on_500_full_clusters() -> None:
    """With all GPUs allocated most of these preempt, many of them for two jobs of a workload."""
    preempting = several = 0
    for seed in range(500):
        instance = one_cluster(seed, allocation=1.0)
        first, second = dlsched.solve(instance, "classes"), dlsched.solve(instance, "milp")
        assert first.objective == second.objective
        if first.solution.preempt:
            preempting += 1
            several += any(
                len(w.jobs) > 1 for w in instance.pending if w.id in first.solution.start
            )
    assert preempting > 250 and several > 50


def test_bounds_are_certified_on_every_level() -> None:
    """The relaxation of a generated batch has a certified bound for each of the 16 levels."""
    result = dlsched.solve(dlsched.generate("dispatch", 1), "lp")
    assert None not in result.certified
    assert len(result.certified) == 16


@pytest.mark.parametrize("method", ["milp", "classes"])
def test_one_victim_for_two_jobs_counts_once(method: str) -> None:
    """A victim on the machines of both jobs of a workload is preempted once, in both methods."""
    both = [held({f"m#{k}": 1}, 2, 1, 1, name=f"j{k}") for k in (0, 1)]
    alone = [running(f"v{k}", held({f"m#{k}": 1}, 1, 1, 1)) for k in (2, 3, 4)]
    two_jobs = instance(
        [machines("m", 2, count=5)],
        [running("both", *both), *alone],
        [waiting("w", job("a", 2, 2), job("b", 2, 2))],
        scope="one",
    )
    objective = dlsched.solve(two_jobs, method).objective
    assert (objective.started_1, objective.preempted_2, objective.spread) == (8, 4, 5)


@pytest.mark.parametrize("method", ["milp", "classes"])
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


@pytest.mark.parametrize(("method", "seed"), [("milp", 15), ("classes", 40)])
def test_a_gap_makes_no_wrong_claim(method: str, seed: int) -> None:
    """Within a gap a later level may improve an earlier one; no bound is beaten by the optimum."""
    instance = one_cluster(seed, allocation=1.0)
    best = dlsched.solve(instance, "classes")
    loose = dlsched.solve(instance, method, gap=0.9)
    assert loose.status == "optimal"
    assert beaten_level(loose.bound, best.objective) is None


def test_too_many_machines_for_arrays() -> None:
    """A billion machines are refused before they fill the memory."""
    data = changed(one_cluster(0).to_data(), "regions[0].clusters[0].machines[0].count", 10**9)
    with pytest.raises(dlsched.OptionError, match="10000000 machines"):
        dlsched.solve(data, "mast")


def drawn(seed: int) -> Instance:
    """Generate a cluster on which workloads wait and others are preempted."""
    instance = dlsched.generate("dispatch", seed, machines=6, pending=12, allocation=1.0)
    assert isinstance(instance, Instance)
    return instance


@pytest.mark.parametrize("seed", range(3))
def test_nothing_found_is_what_the_search_begins_from(seed: int) -> None:
    """That is what heuristics have found, or the plan of `reinserted` if none was called."""
    instance, run = drawn(seed), Run()
    nothing = Claim(status=Status.NO_SOLUTION, termination=Termination.TOLERANCES)
    claim = from_best(instance, run, lambda start: nothing)
    plan = dlsched.solve(instance, "reinserted").solution
    assert claim.status is Status.FEASIBLE and claim.solution.start == plan.start
    run.known = dlsched.solve(instance, "counted").solution
    assert from_best(instance, run, lambda start: nothing).solution is run.known


def test_an_optimum_that_the_start_beats_is_none() -> None:
    """It may be one of values that are equal to the solver: the start is returned instead."""
    claim = from_best(drawn(1), Run(), lambda start: Claim(Solution(), Status.OPTIMAL))
    assert claim.status is Status.FEASIBLE and claim.termination is Termination.TOLERANCES
    assert claim.reason == BEYOND_PRECISION and claim.solution.start


@pytest.mark.parametrize("method", ["milp", "classes"])
def test_no_time_is_the_plan_of_mast(method: str) -> None:
    """Without time the start is returned, whatever the method."""
    instance = drawn(1)
    plan = dlsched.solve(instance, "mast").objective
    result = dlsched.solve(instance, method, time_limit=1e-9)
    assert result.status == "feasible" and result.termination == "time_limit"
    assert not plan.better_than(result.objective)


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
    """Sizes 44, 33 and 12 (2, 3 and 6 of them) fill 1.96 machines of 132 and need three."""
    # No inequality for one machine shows it, so the class must be divided.
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
    """A task of 64 CPUs and one of half a machine's GPUs do not fit on a machine of 96 CPUs."""
    # Two and one of them are within the total of two machines. One weight of 2 to 1 excludes it.
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


def test_levels_that_a_search_does_not_come_to_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold for the solutions that attain the bounds before them, as the optimum does."""
    inst = dlsched.generate("dispatch", 1, pending=15)
    best = dlsched.solve(inst).objective
    level = BatchSearch.level

    def stopped(search: BatchSearch, number: int, held: Sequence[Any]) -> Any:
        if number == 6:
            search.stopped = Termination.TIME_LIMIT
            return None
        return level(search, number, held)

    monkeypatch.setattr(BatchSearch, "level", stopped)
    found = dlsched.solve(inst, "classes")
    assert found.status is Status.FEASIBLE and None not in found.bound
    assert [bound.value for bound in found.bound[:6]] == list(best[:6])
    assert beaten_level(found.bound, best) is None
