"""Exact methods and bounds of dispatch against brute force and each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.dispatch import Instance
from dlsched.problems.dispatch.definition.oracle import brute_force
from dlsched.problems.dispatch.instances.strategy import instances
from dlsched.results.refutation import beaten_level

SEEDS = st.integers(0, 10**6)


def one_cluster(seed: int, **more: Any) -> Instance:
    """Generate an instance of the scope one that is larger than brute force allows."""
    options: dict[str, Any] = {"scope": "one", "regions": 2, "machines": 12, "pending": 6,
                               "gpu_share": 0.75, "rack": 3, "cpu_only": 0.1}  # fmt: skip
    return dlsched.generate("dispatch", seed, **options | more)  # type: ignore[return-value]


@settings(max_examples=30, deadline=None)
@given(instances(ties=True))
def test_model_and_brute_force(instance: Instance) -> None:
    """Also with workloads of equal credit, which keep the order of the file."""
    assert dlsched.solve(instance, "milp").objective == brute_force(instance)


@settings(max_examples=30, deadline=None)
@given(instances(scope="one", ties=True))
def test_clusters_and_brute_force(instance: Instance) -> None:
    """The program over classes of machines, on the smallest instances."""
    result = dlsched.solve(instance, "clusters")
    assert result.status == "optimal"
    assert result.objective == brute_force(instance)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(instances(ties=True))
def test_brute_force_model_and_clusters_on_500(instance: Instance) -> None:
    """Brute force, the model and, for the scope one, the structured method."""
    optimum = brute_force(instance)
    for method in ("milp", "clusters")[: 1 + (instance.scope == "one")]:
        assert dlsched.solve(instance, method).objective == optimum


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.sampled_from([1.0, 1.0, 0.95]))
def test_clusters_and_model_on_generated_clusters(seed: int, allocation: float) -> None:
    """Both find the same optimum of instances too large for brute force."""
    instance = one_cluster(seed, allocation=allocation)
    first, second = dlsched.solve(instance, "clusters"), dlsched.solve(instance, "milp")
    assert first.status == second.status == "optimal"
    assert first.objective == second.objective


def test_model_where_highs_mistakes_the_value_of_its_start() -> None:
    """HiGHS 1.16 called a start of value 1 optimal with the value 0: it is solved without it."""
    assert dlsched.solve(one_cluster(75, allocation=1.0), "milp").status == "optimal"


@pytest.mark.slow
def test_clusters_and_model_on_500_full_clusters() -> None:
    """With all GPUs allocated most of these preempt, many of them for two jobs of a workload."""
    preempting = several = 0
    for seed in range(500):
        instance = one_cluster(seed, allocation=1.0)
        first, second = dlsched.solve(instance, "clusters"), dlsched.solve(instance, "milp")
        assert first.objective == second.objective
        if first.solution.preempt:
            preempting += 1
            several += any(
                len(w.jobs) > 1 for w in instance.pending if w.id in first.solution.start
            )
    assert preempting > 250 and several > 50


@settings(max_examples=30, deadline=None)
@given(instances(ties=True))
def test_bounds(instance: Instance) -> None:
    """No optimum beats the bounds of the aggregated program, certified or claimed."""
    optimum = brute_force(instance)
    for method in ("lp", "aggregated"):
        result = dlsched.solve(instance, method)
        assert beaten_level(result.bound, optimum) is None
        assert beaten_level(result.certified, optimum) is None
        assert result.bound.started_1 is not None


def test_bounds_are_certified_on_every_level() -> None:
    """The relaxation of a generated batch has a certified bound for each of the 16 levels."""
    result = dlsched.solve(dlsched.generate("dispatch", 1), "lp")
    assert None not in result.certified
    assert len(result.certified) == 16


def test_one_victim_for_two_jobs_counts_once() -> None:
    """A victim on the machines of both jobs of a workload is preempted once, in both methods."""
    gpu = {"gpu_type": "A", "gpus": 2, "cpus": 8, "memory": 8}
    task = {"cpus": 1, "memory": 1}
    jobs = [{"id": f"j{k}", "cluster": "c", "gpus": 2, "on": {f"m#{k}": 1}} | task for k in (0, 1)]
    alone = [{"id": "j", "cluster": "c", "gpus": 1, "on": {f"m#{k}": 1}} | task for k in (2, 3, 4)]
    running = [{"id": "both", "jobs": jobs}] + [
        {"id": f"v{k}", "jobs": [job]} for k, job in enumerate(alone)
    ]
    instance = Instance(
        name="two-jobs",
        scope="one",
        lowest_priority=2,
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": [
            {"id": "m", "count": 5} | gpu]}]}],
        tenants=[{"id": "n", "priority": 1, "gpu_quota": 9, "cpu_quota": 9}],
        running=[{"tenant": "n", "within_quota": False, "seconds": 0} | row for row in running],
        pending=[{"id": "w", "tenant": "n", "age": 0, "jobs": [
            {"id": k, "gpu_type": "A", "tasks": 2, "gpus": 2} | task for k in ("a", "b")]}],
    )  # fmt: skip
    for method in ("milp", "clusters"):
        objective = dlsched.solve(instance, method).objective
        assert (objective.started_1, objective.preempted_2, objective.spread) == (8, 4, 5)


def test_one_second_of_youth_in_a_million() -> None:
    """Of 1.4 million seconds that victims lack one is saved, by a plan with more racks."""
    rows = [(5, 1000, 0)] * 14 + [(1, 901, 1), (2, 900, 0), (3, 800, 0)]
    machines = [
        {"id": f"m{k}", "rack": rack, "gpu_type": "A", "gpus": gpus, "cpus": 1, "memory": 1}
        for k, (gpus, _, rack) in enumerate(rows)
    ]
    running = [
        {"id": f"v{k}", "tenant": "n", "within_quota": False, "seconds": seconds, "jobs": [
            {"id": "j", "cluster": "c", "gpus": gpus, "cpus": 0, "memory": 0,
             "on": {f"m{k}#0": 1}}]}
        for k, (gpus, seconds, _) in enumerate(rows)
    ]  # fmt: skip
    instance = Instance(
        name="young",
        scope="one",
        lowest_priority=2,
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": machines}]}],
        tenants=[{"id": "n", "priority": 1, "gpu_quota": 99, "cpu_quota": 0}],
        running=running,
        pending=[{"id": "w", "tenant": "n", "age": 0, "jobs": [
            {"id": "j", "gpu_type": "A", "tasks": 74, "gpus": 1, "cpus": 0, "memory": 0}]}],
    )  # fmt: skip
    for method in ("milp", "clusters"):
        objective = dlsched.solve(instance, method).objective
        assert (objective.preempted_2, objective.young, objective.spread) == (16, 1366699, 18)


@pytest.mark.parametrize(("method", "seed"), [("milp", 15), ("clusters", 40)])
def test_a_gap_makes_no_wrong_claim(method: str, seed: int) -> None:
    """Within a gap a later level may improve an earlier one; no bound is beaten by the optimum."""
    instance = one_cluster(seed, allocation=1.0)
    best = dlsched.solve(instance, "clusters")
    loose = dlsched.solve(instance, method, gap=0.9)
    assert loose.status == "optimal"
    assert beaten_level(loose.bound, best.objective) is None


def test_aggregated_within_a_gap() -> None:
    """The bound of a level that is solved within a gap need not be attained; all are bounded."""
    instance = dlsched.generate("dispatch", 9, machines=10, pending=10, allocation=1.0)
    result = dlsched.solve(instance, "aggregated", gap=0.3)
    assert None not in result.bound


def test_too_many_machines_for_arrays() -> None:
    """A billion machines are refused before they fill the memory."""
    data = one_cluster(0).to_data()
    data["regions"][0]["clusters"][0]["machines"][0]["count"] = 10**9
    with pytest.raises(dlsched.OptionError, match="10000000 machines"):
        dlsched.solve(data, "mast")


def test_clusters_refuses_a_batch() -> None:
    """The error names the method for it."""
    with pytest.raises(dlsched.OptionError, match="use classes"):
        dlsched.solve(dlsched.generate("dispatch", 1), "clusters")


def test_the_model_refuses_large_instances() -> None:
    """The error says what to use instead."""
    large = dlsched.generate("dispatch", 1, clusters=10, machines=200, pending=60)
    with pytest.raises(dlsched.OptionError, match="use clusters for the scope one"):
        dlsched.solve(large, "milp")
