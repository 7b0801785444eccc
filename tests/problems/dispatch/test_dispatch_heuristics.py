"""MAST's rule, other scopes and `counted`: the paper's examples, the negative cache, links."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from dispatch_instances import held, instance, job, machines, running, tenant, waiting
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_mast import PlainMast

import dlsched
from dlsched import Run
from dlsched.problems import dispatch
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.heuristics import counted_plan, largest_first, mast_solution
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher, filled
from dlsched.problems.dispatch.instances.generate import examples
from dlsched.problems.dispatch.instances.strategy import _instance, instances
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.problems.placement.instances.replicas import replicate
from drawing import draws

TWO, TEN, MISSED = examples()
QUEUES = ("regional_queue", "global_queue")


def single_gpus(sizes: tuple[int, ...], need: int) -> Instance:
    """Return a workload of single GPUs against victims on machines of their own, oldest first."""
    return instance(
        [machines(f"m{k}", size) for k, size in enumerate(sizes)],
        [running(f"v{k}", held({f"m{k}#0": 1}, size, 1, 1), seconds=100 - k)
         for k, size in enumerate(sizes)],
        [waiting("w", job(gpus=1, tasks=need))],
        scope="one",
    )  # fmt: skip


def started(instance: Instance, method: str, **options: Any) -> list[str]:
    """Return the workloads that a method starts."""
    return list(dlsched.solve(instance, method, **options).solution.start)


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


@pytest.mark.slow
def test_the_smallest_list_on_which_the_scan_misses_the_fewest() -> None:
    """Of all lists of up to three victims of 1 to 3 GPUs, the first is 1, 1, 2 for a need of 2."""
    missed = []
    for length in (1, 2, 3):
        for sizes in product((1, 2, 3), repeat=length):
            for need in range(1, sum(sizes) + 1):
                lists = single_gpus(sizes, need)
                rule, best = (dlsched.solve(lists, m).solution for m in ("mast", "classes"))
                if len(rule.preempt) > len(best.preempt):
                    missed.append((length, sum(sizes), sizes, need))
    assert min(missed)[2:] == ((1, 1, 2), 2)
    assert {length for length, *_ in missed} == {3}


@pytest.mark.parametrize(
    ("groups", "first", "second", "need"),
    [
        # The scan ends with a workload of two jobs, where one of a single job is enough.
        ([machines("a", 2), machines("b", 2)],
         [held({"a#0": 1}, 1, name="j0"), held({"a#0": 1}, 1, name="j1")], [held({"b#0": 1}, 2)],
         job(gpus=2, cpus=0, memory=0)),
        # The larger victim makes room for one task of two GPUs, the smaller one for two.
        ([machines("a", 3), machines("b", 2, count=2)],
         [held({"a#0": 1}, 3)], [held({"b#0": 1, "b#1": 1}, 1)],
         job(gpus=2, tasks=2, cpus=0, memory=0)),
    ],
)  # fmt: skip
def test_two_victims_are_enough_with_jobs_or_tasks_of_several(
    groups: list[Any], first: list[Any], second: list[Any], need: Any
) -> None:
    """With workloads of several jobs or tasks of several GPUs, two victims show the miss."""
    runs = [running("v0", *first, seconds=9), running("v1", *second, seconds=8)]
    two = instance(groups, runs, [waiting("w", need)], scope="one")
    assert [dlsched.solve(two, m).objective.preempted_2 for m in ("mast", "exact")] == [2, 1]


def test_the_missed_victim_as_an_instance() -> None:
    """The shipped example has one preempted job too many."""
    assert [dlsched.solve(MISSED, m).objective.preempted_2 for m in ("mast", "exact")] == [2, 1]


@settings(max_examples=draws(30), deadline=None)
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
    queue = (("first", "p2", 2), ("second", "p1", 1), ("third", "p2", 2))
    obstacle = instance(
        [machines("m", 3)],
        [running("v", held({"m#0": 1}, 3, 1, 1), tenant="p2", within_quota=True)],
        [waiting(name, job(gpus=gpus), tenant=owner) for name, owner, gpus in queue],
        tenants=[tenant(f"p{p}", p, 9, use=1) for p in (1, 2)],
    )
    assert started(obstacle, "federated", blocking=False) == ["second", "third"]


def small(seed: int) -> Instance:
    """Draw a small instance with many victims."""
    return _instance(random.Random(seed).choice, None, 6, 12, 12, 3, ties=True)


def full(seed: int) -> Any:
    """Draw a cluster with nearly all GPUs allocated."""
    options = {"regions": 1, "machines": 20, "pending": 20, "allocation": 1.0, "copies": 1}
    return dlsched.generate("dispatch", seed, **options)


@pytest.mark.parametrize(("draw", "count", "least"), [(small, 200, 26), (full, 8, 5)])
def test_mast_and_the_plain_rule(draw: Callable[[int], Instance], count: int, least: int) -> None:
    """The same machines, tasks and victims as by a version without arrays; many preempt."""
    preempting = 0
    for drawn in map(draw, range(count)):
        found = dlsched.solve(drawn, "mast").solution
        start = {
            w: (s.region, {j: (p.cluster, dict(p.on)) for j, p in s.jobs.items()})
            for w, s in found.start.items()
        }
        assert (start, sorted(found.preempt)) == PlainMast(drawn).solve()
        preempting += bool(found.preempt)
    assert preempting >= least


@settings(max_examples=draws(30), deadline=None)
@given(instances(ties=True))
def test_all_regions_are_mast(instance: Instance) -> None:
    """Plans in as many regions as there are is what mast does."""
    first, second = dlsched.solve(instance, "mast"), dlsched.solve(instance, "top_k", k=9)
    assert first.objective == second.objective


@pytest.mark.parametrize(
    ("method", "options", "count"),
    [
        *((method, {}, 1) for method in ("mast", "top_k", "regional", "counted", "exact")),
        *((method, {}, 0) for method in ("federated", "local")),
        *((method, {"late": late}, 0) for method in QUEUES for late in (False, True)),
    ],
)
def test_jobs_of_two_types_in_two_clusters(method: str, options: Any, count: int) -> None:
    """A workload of two GPU types starts by any scope that does not bind it to one cluster."""
    types = instance(
        {f"c{t}": [machines(f"m{t}", 1, gpu_type=t)] for t in "AB"},
        pending=[waiting("w", *(job(t, 1, gpu_type=t) for t in "AB"))],
        lowest_priority=1,
    )
    assert len(started(types, method, **options)) == count


@pytest.mark.parametrize("method", QUEUES)
def test_late_binding_tries_every_cluster(method: str) -> None:
    """A workload that fits the cluster of more load only starts with late binding (section 4.1)."""
    late = instance(
        {"idle": [machines("i0", 2), machines("i1", 2)],
         "used": [machines("u0", 8), machines("u1", 4)]},
        [running("v", held({"u0#0": 1}, 8, 1, 1, cluster="used"), within_quota=True)],
        [waiting("w", job(gpus=4))],
        lowest_priority=1,
    )  # fmt: skip
    assert [started(late, method, late=choice) for choice in (False, True)] == [[], ["w"]]


def test_the_last_job_may_find_no_cluster() -> None:
    """The first job takes a GPU of the machine that the second needs; the optimum starts both."""
    both = instance(
        {f"c{n}": [machines(f"m{n}", n)] for n in (2, 1)},
        pending=[waiting("w", *(job(f"j{n}", n, cpus=0, memory=0) for n in (1, 2)))],
        scope="one", lowest_priority=1,
    )  # fmt: skip
    assert [len(started(both, m)) for m in ("mast", "classes", "milp")] == [0, 1, 1]


def test_first_come_first_served_blocks() -> None:
    """A workload of two machines waits, and one of one machine behind it, unless not blocking."""
    data = TWO.to_data() | {"regions": TWO.to_data()["regions"][:1]}
    data["pending"][0]["jobs"][0]["tasks"] = 2
    assert started(data, "federated") == []
    assert started(data, "federated", blocking=False) == started(data, "local") == ["2"]


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


@pytest.mark.parametrize("example", [TWO, TEN, MISSED])
def test_counted_is_optimal_on_the_examples(example: Instance) -> None:
    """In what starts and who is preempted, where `mast` misses two of three."""
    best = dlsched.solve(example).objective
    assert dlsched.solve(example, "counted").objective[:-2] == best[:-2]


@pytest.mark.parametrize("size", [5, 10, 20])
@pytest.mark.parametrize("seed", [1, 2])
def test_counted_is_optimal_on_small_batches(size: int, seed: int) -> None:
    """In what starts and who is preempted at every priority."""
    batch = dlsched.generate("dispatch", seed, machines=size)
    best = dlsched.solve(batch, "classes", levels=14).objective
    assert dlsched.solve(batch, "counted").objective[:-2] == best[:-2]


def test_a_priority_without_loss_needs_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything starts and nobody is preempted: the plan of `mast` is returned."""
    instance = dlsched.generate("dispatch", 1, machines=20, allocation=0.2)
    assert evaluate(instance, mast_solution(instance))[12] == 0

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("a program was solved")

    monkeypatch.setattr(counted_plan.highs, "solve", refuse)
    assert dlsched.solve(instance, "counted").solution.start == mast_solution(instance).start


def test_a_limit_returns_the_plan_of_mast() -> None:
    """Without time for a program only what still fits is added."""
    instance = dlsched.generate("dispatch", 2, machines=20)
    start = mast_solution(instance)
    run = Run(time_limit=1e-9)
    assert evaluate(instance, counted_plan.Counted(instance, run, start, 0.01, 10, 4).solve()) == (
        evaluate(instance, filled(instance, start))
    )


def test_counts_that_cannot_be_placed_are_refined() -> None:
    """The first counts of priority 7 fit no machines; later ones start six times as much."""
    instance = dlsched.generate("dispatch", 7, machines=10)
    start = mast_solution(instance)
    once, more = (
        evaluate(instance, counted_plan.Counted(instance, Run(), start, 0.01, 10, tries).solve())
        for tries in (1, 4)
    )
    assert once[:13] == more[:13]
    assert more.started_7 > 6 * once.started_7


def test_what_still_fits_is_started() -> None:
    """Of a solution that starts and preempts less than `mast`, without further victims."""
    instance = dlsched.generate("dispatch", 2, machines=20)
    whole = mast_solution(instance)
    assert whole.preempt
    some = dict(list(whole.start.items())[:2])
    part = Solution(start=some, preempt=())
    if not dlsched.verify(instance, part).feasible:
        part = Solution(start={}, preempt=())
    found = filled(instance, part)
    assert dlsched.verify(instance, found).feasible
    assert not found.preempt
    assert len(found.start) > len(part.start)
    assert filled(instance, found) == found


def test_counted_is_no_worse_than_the_largest_first_where_no_program_is_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its programs it has a better plan than `mast` on a batch where sizes matter."""
    monkeypatch.setattr(counted_plan.Counted, "solve", lambda self: self.search.best)
    batch = dlsched.generate("dispatch", 3, machines=10)
    by_rank, largest = evaluate(batch, mast_solution(batch)), evaluate(batch, largest_first(batch))
    assert largest.better_than(by_rank)
    assert not largest.better_than(dlsched.solve(batch, "counted").objective)


@pytest.mark.parametrize("method", ["counted", "classes"])
def test_a_start_no_better_than_mast_is_not_used(method: str) -> None:
    """Neither the plan of `mast` itself nor that of starting nothing."""
    batch = dlsched.generate("dispatch", 3, machines=10)
    for start in (mast_solution(batch), Solution(start={}, preempt=())):
        result = dlsched.solve(batch, method, start=start)
        assert result.start is not None and not result.start.accepted
