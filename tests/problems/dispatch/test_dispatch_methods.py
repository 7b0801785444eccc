"""Exact methods of dispatch, what nearly fits; the rules of MAST, other scopes, `reinserted`."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from plain_mast import PlainMast

import dlsched
from dispatch_instances import held, instance, job, machines, running, tenant, waiting
from dlsched.problems import dispatch
from dlsched.problems.dispatch import Instance
from dlsched.problems.placement.instances.replicas import replicate
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


def test_presolve_loses_no_optimum() -> None:
    """By its rule of enumeration HiGHS 1.16 called 11.64 started GPUs of priority 7 optimal."""
    made = dlsched.generate("dispatch", 7, machines=10)
    milp, classes = (dlsched.solve(made, method) for method in ("milp", "classes"))
    assert milp.objective == classes.objective
    assert classes.status == "optimal" and classes.objective.started_7 == Fraction("12.28")


def one_cluster(seed: int, **more: Any) -> Instance:
    """Generate an instance of the scope one that is larger than brute force allows."""
    options: dict[str, Any] = {"scope": "one", "regions": 2, "machines": 12, "pending": 6,
                               "gpu_share": 0.75, "rack": 3, "cpu_only": 0.1}  # fmt: skip
    return dlsched.generate("dispatch", seed, **options | more)


def test_generated_sizes_differ_and_fit() -> None:
    """Of 20 machines, no size of CPU jobs has most of them, and half a cluster has room."""
    made = [dlsched.generate("dispatch", seed) for seed in range(10)]
    jobs = [job for one in made for work in one.pending for job in work.jobs]
    tasks = [job.tasks for job in jobs if not job.gpus]
    assert max(map(tasks.count, tasks)) < 0.75 * len(tasks) and set(tasks) == {1, 2, 3}
    most = {"A100": 32, "V100": 24}
    assert all(job.tasks * job.gpus <= most[job.gpu_type] for job in jobs if job.gpus)


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
    data = one_cluster(0).to_data()
    data["regions"][0]["clusters"][0]["machines"][0]["count"] = 10**9
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


TWO, TEN, MISSED = (
    dlsched.load(f"mast-{name}") for name in ("two-workloads", "ten-gpus", "missed-victim")
)
QUEUES = ("regional_queue", "global_queue")


def started(instance: Any, method: str, **options: Any) -> list[str]:
    """Return the workloads that a method starts."""
    return list(dlsched.solve(instance, method, **options).solution.start)


def test_section_4_3_takes_the_victim_of_12() -> None:
    """Of 4, 5 and 12 GPUs for a job of 10, the one of 12 is enough."""
    assert dlsched.solve(TEN, "mast").solution.preempt == ("job3",)
    scanned = dlsched.solve(TEN, "mast", fewest=False).solution
    assert set(scanned.preempt) > {"job3"}


@pytest.mark.parametrize(
    ("method", "options", "regions"),
    [
        # MAST places 1 in region X, which 2 needs; jointly both start, as after one more auction.
        ("mast", {}, {"1": "x"}),
        *((method, {}, {"1": "y", "2": "x"}) for method in ("exact", "counted", "reinserted")),
    ],
)
def test_section_4_1_workloads_1_and_2(method: str, options: Any, regions: dict[str, str]) -> None:
    """Which of the two workloads starts where."""
    found = dlsched.solve(TWO, method, **options).solution.start
    assert {name: started.region for name, started in found.items()} == regions


NO_CPUS = {"cpus": 0, "memory": 0}


@pytest.mark.parametrize(
    "missed",
    [
        MISSED,
        # The scan ends with a workload of two jobs, where one of a single job is enough.
        instance([machines("a", 2), machines("b", 2)],
                 [running("v0", *(held({"a#0": 1}, 1, name=f"j{k}") for k in (0, 1)), seconds=9),
                  running("v1", held({"b#0": 1}, 2), seconds=8)],
                 [waiting("w", job(gpus=2, **NO_CPUS))], scope="one"),
        # The larger victim makes room for one task of two GPUs, the smaller one for two.
        instance([machines("a", 3), machines("b", 2, count=2)],
                 [running("v0", held({"a#0": 1}, 3), seconds=9),
                  running("v1", held({"b#0": 1, "b#1": 1}, 1), seconds=8)],
                 [waiting("w", job(gpus=2, tasks=2, **NO_CPUS))], scope="one"),
    ],
    ids=["shipped", "jobs", "tasks"],
)  # fmt: skip
def test_one_preempted_job_too_many(missed: Instance) -> None:
    """Where workloads have several jobs, or tasks several GPUs, two victims show the miss."""
    assert [dlsched.solve(missed, m).objective.preempted_2 for m in ("mast", "exact")] == [2, 1]


@pytest.mark.parametrize("seed", range(4))
def test_mast_and_the_plain_rule_on_full_clusters(seed: int) -> None:
    """The same machines, tasks and victims as by a version without arrays, and without cache."""
    full = dlsched.generate(
        "dispatch", seed, regions=1, machines=20, pending=20, allocation=1.0, copies=1
    )
    require_plain(full)
    assert seed not in (0, 1, 2) or dlsched.solve(full, "mast").solution.preempt


@drawn(150, strategies.dispatch(max_pending=6, max_running=12, max_machines=12, max_jobs=3,
                                ties=True))  # fmt: skip
def test_mast_and_the_plain_rule(instance: Instance) -> None:
    """The same on instances of several regions with many victims."""
    require_plain(instance)


def require_plain(instance: Instance) -> None:
    """Fail if `mast` differs from the version without arrays, or from itself without a cache."""
    found = dlsched.solve(instance, "mast").solution
    start = {
        w: (s.region, {j: (p.cluster, dict(p.on)) for j, p in s.jobs.items()})
        for w, s in found.start.items()
    }
    assert (start, sorted(found.preempt)) == PlainMast(instance).solve()
    for same, options in (("mast", {"cache": False}), ("top_k", {"k": 9})):
        other = dlsched.solve(instance, same, **options).solution
        assert (other.start, other.preempt) == (found.start, found.preempt)


@drawn(30, strategies.dispatch(scope="batch", ties=True))
def test_between_mast_and_the_optimum_of_brute_force(instance: Instance) -> None:
    """`reinserted` is no worse than `mast`, `counted` than it, and none beats any solution."""
    best = oracles.dispatch(instance)
    found = [dlsched.solve(instance, m).objective for m in ("mast", "reinserted", "counted")]
    for worse, better in zip(found, [*found[1:], best], strict=True):
        assert not worse.better_than(better)


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
    copies = replicate(placed, homes)
    more = dispatch.from_placement(placed, homes, copies)
    assert sum(len(region.tables) for region in bare.regions) == 12
    assert sum(len(region.tables) for region in more.regions) == 12 + len(copies)
    hosts = [sum(bool(i.regions_of(w)) for w in i.pending) for i in (bare, more)]
    assert hosts[0] < hosts[1]
    assert dlsched.verify(more, dlsched.solve(more, "mast").solution).feasible
