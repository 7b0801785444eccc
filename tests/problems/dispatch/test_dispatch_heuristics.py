"""MAST's rule and the other scopes: the paper's examples, the negative cache, links."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_mast import PlainMast

import dlsched
from dlsched.problems import dispatch
from dlsched.problems.dispatch import Instance
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.instances.generate import examples
from dlsched.problems.dispatch.instances.strategy import _instance, instances
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.problems.placement.instances.replicas import replicate

TWO, TEN, MISSED = examples()


def victims_of(sizes: tuple[int, ...], need: int) -> Instance:
    """Return a workload of single GPUs against victims on machines of their own, oldest first."""
    machines = [
        {"id": f"m{k}", "gpu_type": "A", "gpus": size, "cpus": 99, "memory": 99}
        for k, size in enumerate(sizes)
    ]
    running = [
        {"id": f"v{k}", "tenant": "n", "within_quota": False, "seconds": 100 - k, "jobs": [
            {"id": "j", "cluster": "c", "gpus": size, "cpus": 1, "memory": 1,
             "on": {f"m{k}#0": 1}}]}
        for k, size in enumerate(sizes)
    ]  # fmt: skip
    job = {"id": "j", "gpu_type": "A", "tasks": need, "gpus": 1, "cpus": 1, "memory": 1}
    return Instance(
        name="victims",
        scope="one",
        lowest_priority=2,
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": machines}]}],
        tenants=[{"id": "n", "priority": 1, "gpu_quota": 99, "cpu_quota": 999}],
        running=running,
        pending=[{"id": "w", "tenant": "n", "age": 0, "jobs": [job]}],
    )


def test_section_4_3_takes_the_victim_of_12() -> None:
    """Of 4, 5 and 12 GPUs for a job of 10, the one of 12 is enough."""
    assert dlsched.solve(TEN, "mast").solution.preempt == ("job3",)
    scanned = dlsched.solve(TEN, "mast", fewest=False).solution
    assert set(scanned.preempt) > {"job3"}


def test_section_4_1_workloads_1_and_2() -> None:
    """MAST places 1 in region X, which 2 needs; jointly both start."""
    alone = dlsched.solve(TWO, "mast").solution
    assert {name: s.region for name, s in alone.start.items()} == {"1": "x"}
    for method in ("exact", "counted"):
        both = dlsched.solve(TWO, method).solution
        assert {name: s.region for name, s in both.start.items()} == {"1": "y", "2": "x"}


def test_the_smallest_list_on_which_the_scan_misses_the_fewest() -> None:
    """Of all lists of up to three victims of 1 to 3 GPUs, the first is 1, 1, 2 for a need of 2."""
    missed = []
    for length in (1, 2, 3):
        for sizes in product((1, 2, 3), repeat=length):
            for need in range(1, sum(sizes) + 1):
                instance = victims_of(sizes, need)
                rule, best = (dlsched.solve(instance, m).solution for m in ("mast", "clusters"))
                if len(rule.preempt) > len(best.preempt):
                    missed.append((length, sum(sizes), sizes, need))
    assert min(missed)[2:] == ((1, 1, 2), 2)
    assert {length for length, *_ in missed} == {3}


@pytest.mark.parametrize(
    ("machines", "first", "second", "job"),
    [
        # The scan ends with a workload of two jobs, where one of a single job is enough.
        ([{"id": "a", "gpus": 2}, {"id": "b", "gpus": 2}],
         [{"gpus": 1, "on": {"a#0": 1}}, {"gpus": 1, "on": {"a#0": 1}}],
         [{"gpus": 2, "on": {"b#0": 1}}], {"tasks": 1, "gpus": 2}),
        # The larger victim makes room for one task of two GPUs, the smaller one for two.
        ([{"id": "a", "gpus": 3}, {"id": "b", "count": 2, "gpus": 2}],
         [{"gpus": 3, "on": {"a#0": 1}}],
         [{"gpus": 1, "on": {"b#0": 1, "b#1": 1}}], {"tasks": 2, "gpus": 2}),
    ],
)  # fmt: skip
def test_two_victims_are_enough_with_jobs_or_tasks_of_several(
    machines: list[Any], first: list[Any], second: list[Any], job: dict[str, Any]
) -> None:
    """With workloads of several jobs or tasks of several GPUs, two victims show the miss."""
    none = {"cpus": 0, "memory": 0}
    instance = Instance(
        name="two-victims",
        scope="one",
        lowest_priority=2,
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": [
            {"gpu_type": "A"} | none | m for m in machines]}]}],
        tenants=[{"id": "n", "priority": 1, "gpu_quota": 9, "cpu_quota": 9}],
        running=[
            {"id": f"v{k}", "tenant": "n", "within_quota": False, "seconds": 9 - k, "jobs": [
                {"id": f"j{i}", "cluster": "c"} | none | row for i, row in enumerate(jobs)]}
            for k, jobs in enumerate((first, second))
        ],
        pending=[{"id": "w", "tenant": "n", "age": 0, "jobs": [
            {"id": "j", "gpu_type": "A"} | none | job]}],
    )  # fmt: skip
    counts = [dlsched.solve(instance, m).objective.preempted_2 for m in ("mast", "exact")]
    assert counts == [2, 1]


def test_the_missed_victim_as_an_instance() -> None:
    """The shipped example has one preempted job too many."""
    counts = [dlsched.solve(MISSED, m).objective.preempted_2 for m in ("mast", "exact")]
    assert counts == [2, 1]


@settings(max_examples=30, deadline=None)
@given(instances(ties=True), st.booleans())
def test_the_cache_changes_nothing_on_small_instances(instance: Instance, fewest: bool) -> None:
    """With and without the negative cache, the same starts and victims."""
    first, second = (
        dlsched.solve(instance, "mast", cache=cache, fewest=fewest).solution
        for cache in (True, False)
    )
    assert (first.start, first.preempt) == (second.start, second.preempt)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.9, 0.98, 1.0]), st.booleans())
def test_the_cache_changes_nothing_on_clusters(seed: int, allocation: float, by_rank: bool) -> None:
    """The same on full clusters, where it answers many of the attempts; in file order too."""
    options = {"pending": 40, "regions": 2, "machines": 10, "allocation": allocation}
    instance = dlsched.generate("dispatch", seed, **options)
    found = []
    for cache in (True, False):
        fleet = Fleet(instance)  # type: ignore[arg-type]
        made = Dispatcher(fleet, cache=cache)
        order = startable(fleet.instance)
        made.dispatch(
            order if by_rank else sorted(order, key=lambda ranked: ranked.position),
            lambda r, fleet=fleet: fleet.sites_of(fleet.instance.pending[r.position]),
        )
        found.append(made)
    assert found[0].solution() == found[1].solution()
    assert found[0].attempts >= found[0].hits > found[1].hits == 0


def test_a_failure_is_forgotten_when_its_obstacle_stops() -> None:
    """First come first served, the second workload's victim leaves room that the first missed."""
    tenants = [
        {"id": f"p{p}", "priority": p, "gpu_quota": 9, "cpu_quota": 9, "window_use": 1}
        for p in (1, 2)
    ]
    task = {"cpus": 1, "memory": 1}
    job = {"id": "j", "cluster": "c", "gpus": 3, "on": {"m#0": 1}} | task
    pending = [
        {"id": name, "tenant": tenant, "age": 0, "jobs": [
            {"id": "j", "gpu_type": "A", "tasks": 1, "gpus": gpus} | task]}
        for name, tenant, gpus in (("first", "p2", 2), ("second", "p1", 1), ("third", "p2", 2))
    ]  # fmt: skip
    instance = Instance(
        name="obstacle",
        lowest_priority=2,
        regions=[{"id": "r", "clusters": [{"id": "c", "machines": [
            {"id": "m", "gpu_type": "A", "gpus": 3, "cpus": 9, "memory": 9}]}]}],
        tenants=tenants,
        running=[{"id": "v", "tenant": "p2", "within_quota": True, "seconds": 0, "jobs": [job]}],
        pending=pending,
    )  # fmt: skip
    found = dlsched.solve(instance, "federated", blocking=False).solution
    assert list(found.start) == ["second", "third"]


def same_as_plain(instance: Instance) -> bool:
    """Whether `mast` does the same as the plain version, and preempts somebody."""
    found = dlsched.solve(instance, "mast").solution
    start = {
        w: (s.region, {j: (p.cluster, dict(p.on)) for j, p in s.jobs.items()})
        for w, s in found.start.items()
    }
    assert (start, sorted(found.preempt)) == PlainMast(instance).solve()
    return bool(found.preempt)


def test_mast_and_the_plain_rule() -> None:
    """The same machines, tasks and victims as by a version without arrays."""
    made = [_instance(random.Random(seed).choice, None, 6, 12, 12, 3, True) for seed in range(200)]
    assert sum(same_as_plain(instance) for instance in made) > 25


def test_mast_and_the_plain_rule_on_full_clusters() -> None:
    """The same where nearly all GPUs are allocated and many workloads preempt."""
    options = {"regions": 1, "machines": 20, "pending": 20, "allocation": 1.0, "copies": 1}
    made = [dlsched.generate("dispatch", seed, **options) for seed in range(8)]
    assert sum(same_as_plain(instance) for instance in made) > 4  # type: ignore[arg-type]


@settings(max_examples=30, deadline=None)
@given(instances(ties=True))
def test_all_regions_are_mast(instance: Instance) -> None:
    """Plans in as many regions as there are is what mast does."""
    first, second = dlsched.solve(instance, "mast"), dlsched.solve(instance, "top_k", k=9)
    assert first.objective == second.objective


def test_jobs_of_two_types_in_two_clusters() -> None:
    """A workload of two GPU types starts by any scope that does not bind it to one cluster."""
    clusters = [
        {"id": f"c{t}", "machines": [{"id": f"m{t}", "gpu_type": t, "gpus": 1, "cpus": 1,
                                      "memory": 1}]}
        for t in "AB"
    ]  # fmt: skip
    jobs = [{"id": t, "gpu_type": t, "tasks": 1, "gpus": 1, "cpus": 1, "memory": 1} for t in "AB"]
    instance = Instance(
        name="types",
        lowest_priority=1,
        regions=[{"id": "r", "clusters": clusters}],
        tenants=[{"id": "n", "priority": 1, "gpu_quota": 2, "cpu_quota": 2}],
        pending=[{"id": "w", "tenant": "n", "age": 0, "jobs": jobs}],
    )
    starts = ("mast", "top_k", "regional", "counted", "exact")
    waits = ("federated", "local", "regional_queue", "global_queue")
    for methods, count in ((starts, 1), (waits, 0)):
        for method in methods:
            assert len(dlsched.solve(instance, method).solution.start) == count, method
    for method in ("regional_queue", "global_queue"):
        assert not dlsched.solve(instance, method, late=True).solution.start, method


def test_late_binding_tries_every_cluster() -> None:
    """A workload that fits the cluster of more load only starts with late binding (section 4.1)."""
    clusters = [
        {"id": name, "machines": [
            {"id": f"{name}{k}", "gpu_type": "A", "gpus": gpus, "cpus": 9, "memory": 9}
            for k, gpus in enumerate(sizes)]}
        for name, sizes in (("idle", (2, 2)), ("used", (8, 4)))
    ]  # fmt: skip
    running = {"id": "v", "tenant": "n", "within_quota": True, "seconds": 1, "jobs": [
        {"id": "j", "cluster": "used", "gpus": 8, "cpus": 1, "memory": 1,
         "on": {"used0#0": 1}}]}  # fmt: skip
    job = {"id": "j", "gpu_type": "A", "tasks": 1, "gpus": 4, "cpus": 1, "memory": 1}
    instance = Instance(
        name="late",
        lowest_priority=1,
        regions=[{"id": "r", "clusters": clusters}],
        tenants=[{"id": "n", "priority": 1, "gpu_quota": 99, "cpu_quota": 99}],
        running=[running],
        pending=[{"id": "w", "tenant": "n", "age": 0, "jobs": [job]}],
    )
    for method in ("regional_queue", "global_queue"):
        started = [
            len(dlsched.solve(instance, method, late=late).solution.start) for late in (False, True)
        ]
        assert started == [0, 1], method


def test_the_last_job_may_find_no_cluster() -> None:
    """The first job takes a GPU of the machine that the second needs; the optimum starts both."""
    clusters = [
        {"id": f"c{gpus}", "machines": [
            {"id": f"m{gpus}", "gpu_type": "A", "gpus": gpus, "cpus": 1, "memory": 1}]}
        for gpus in (2, 1)
    ]  # fmt: skip
    jobs = [
        {"id": f"j{n}", "gpu_type": "A", "tasks": 1, "gpus": n, "cpus": 0, "memory": 0}
        for n in (1, 2)
    ]
    instance = Instance(
        name="jobs",
        scope="one",
        lowest_priority=1,
        regions=[{"id": "r", "clusters": clusters}],
        tenants=[{"id": "n", "priority": 1, "gpu_quota": 3, "cpu_quota": 0}],
        pending=[{"id": "w", "tenant": "n", "age": 0, "jobs": jobs}],
    )
    counts = [len(dlsched.solve(instance, m).solution.start) for m in ("mast", "clusters", "milp")]
    assert counts == [0, 1, 1]


def test_first_come_first_served_blocks() -> None:
    """A workload of two machines waits, and one of one machine behind it, unless not blocking."""
    data = TWO.to_data() | {"regions": TWO.to_data()["regions"][:1]}
    data["pending"][0]["jobs"][0]["tasks"] = 2
    assert not dlsched.solve(data, "federated").solution.start
    assert list(dlsched.solve(data, "federated", blocking=False).solution.start) == ["2"]
    assert list(dlsched.solve(data, "local").solution.start) == ["2"]


def test_an_instance_from_a_placement() -> None:
    """Homes and replicas decide which workloads a region can start; with replicas more can."""
    placed = dlsched.generate("placement", seed=1, regions=3, tables=12, jobs=20)
    homes = dlsched.solve(placed, "hill_climbing").solution
    bare = dispatch.from_placement(placed, homes)
    copies = replicate(placed, homes)  # type: ignore[arg-type]
    more = dispatch.from_placement(placed, homes, copies)
    assert sum(len(region.tables) for region in bare.regions) == 12
    assert sum(len(region.tables) for region in more.regions) == 12 + len(copies)
    hosts = [sum(bool(i.regions_of(w)) for w in i.pending) for i in (bare, more)]
    assert hosts[0] < hosts[1]
    assert dlsched.verify(more, dlsched.solve(more, "mast").solution).feasible
