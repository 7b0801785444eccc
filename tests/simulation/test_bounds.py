"""Lower bounds: never beaten, and as computed by hand; tables that compare policies with them."""

import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from simulation_cases import ONE, Scripted, by_hand, on

from dlsched import OptionError
from dlsched.simulation import Cluster, Decision, Job, Workload, compare_policies, simulate
from dlsched.simulation.bounds import bound as bound_of

METRICS = ("mean_jct", "makespan")


def bound(jobs: Workload, cluster: Cluster, metric: str = "mean_jct", **options: Any) -> Fraction:
    """Return the bound on a metric, which does not depend on the policy that is simulated."""
    return simulate(jobs, cluster, "fifo").bound(metric, **options).value


def drawn(seed: int, most: int, gpus: tuple[int, ...], **fields: Any) -> Workload:
    """Return up to five jobs of a few seconds, most of them submitted at once."""
    rng = random.Random(seed)
    rows = [
        {"submit": rng.choice([0, 0, rng.randint(1, 6)]), "gpus": rng.choice(gpus),
         "work": rng.randint(1, most)}
        for _ in range(rng.randint(1, 5))
    ]  # fmt: skip
    return by_hand(*rows, **fields)


def least(jobs: Workload, fits: Callable[[int, Any], bool], last: bool) -> int:
    """Return the least makespan, or sum of completion times, if jobs may change every second.

    All schedules are tried in which no GPU is idle that a job could have. Given is whether jobs fit
    at a time.
    """
    submits = [int(job.submit) for job in jobs.jobs]

    @cache
    def rest(now: int, left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        present = [j for j, n in enumerate(left) if n and submits[j] <= now]
        sets = [set(x) for n in range(len(present) + 1) for x in combinations(present, n)]
        fitting = [chosen for chosen in sets if fits(now, chosen)]
        values = []
        for chosen in fitting:
            if not any(chosen < other for other in fitting):
                after = tuple(n - (j in chosen) for j, n in enumerate(left))
                ended = [now + 1 for j in chosen if not after[j]]
                then = rest(now + 1, after)
                values.append(max([*ended, then]) if last else sum(ended) + then)
        return min(values)

    return rest(0, tuple(int(job.work) for job in jobs.jobs))


def require_no_more_than_least(
    jobs: Workload, cluster: Cluster, fits: Callable[[int, Any], bool], share: float
) -> None:
    """Require that no schedule has less than a bound, which is at least a share of the best."""
    submitted = sum(int(job.submit) for job in jobs.jobs)
    total = Fraction(least(jobs, fits, last=False) - submitted)
    best = {"makespan": least(jobs, fits, last=True), "mean_jct": total / len(jobs.jobs)}
    for metric, value in best.items():
        assert share * value <= bound_of(jobs, cluster, metric).value <= value, metric


@pytest.mark.parametrize("seed", range(8))
def test_no_schedule_is_better_than_a_bound(seed: int) -> None:
    """Against all schedules of a few jobs, on GPUs of which some are lent; it is not far below."""
    rng = random.Random(seed)
    jobs = drawn(seed, 4, (1, 1, 2, 3), fungible=True)
    come = rng.choice([0, rng.randint(1, 9)])
    servers = [{"id": "own", "gpus": 3}, {"id": "lent", "gpus": 1, "pool": "loan"}]
    loans = [{"time": come, "servers": 1}] if seed % 2 else []
    cluster = Cluster.parse({"servers": servers, "loans": loans}, "the test")

    def fits(now: int, chosen: set[int]) -> bool:
        return sum(jobs.jobs[j].gpus for j in chosen) <= 3 + bool(seed % 2 and now >= come)

    require_no_more_than_least(jobs, cluster, fits, 0.6)


def outcomes(jobs: Workload, gpus: int) -> set[tuple[int, int, int]]:
    """Return jobs complete, sum of their completion times, and the last end, of all schedules.

    Jobs may change every second, and one that waits when it is withdrawn leaves.
    """
    known = [(int(j.submit), j.gpus, j.cancelled) for j in jobs.jobs]

    @cache
    def rest(now: int, left: tuple[int, ...], held: frozenset[int]) -> set[tuple[int, int, int]]:
        left = tuple(0 if known[j][2] == now and j not in held else n for j, n in enumerate(left))
        if not any(left):
            return {(0, 0, 0)}
        present = [j for j, n in enumerate(left) if n and known[j][0] <= now]
        found = set()
        for k in range(len(present) + 1):
            for chosen in combinations(present, k):
                if sum(known[j][1] for j in chosen) > gpus or (not chosen and now > 20):
                    continue
                after = tuple(n - (j in chosen) for j, n in enumerate(left))
                ended = [now + 1 - known[j][0] for j in chosen if not after[j]]
                for count, total, last in rest(now + 1, after, frozenset(chosen)):
                    end = max(last, now + 1 if ended else 0)
                    found.add((count + len(ended), total + sum(ended), end))
        return found

    return {outcome for outcome in rest(0, tuple(int(j.work) for j in jobs.jobs), frozenset())}


@pytest.mark.parametrize("seed", range(12))
def test_no_schedule_is_better_where_jobs_may_be_withdrawn(seed: int) -> None:
    """A policy may keep jobs waiting so that they leave: the mean is of those that are complete."""
    rng = random.Random(seed)
    rows = [
        {"submit": (submit := rng.choice([0, 0, 1])), "gpus": rng.choice([1, 1, 2]),
         "work": rng.randint(1, 3)}
        | ({"cancelled": submit + rng.randint(0, 3)} if rng.random() < 0.5 else {})
        for _ in range(rng.randint(2, 3))
    ]  # fmt: skip
    jobs = by_hand(*rows)
    ends = [outcome for outcome in outcomes(jobs, 2) if outcome[0]]
    cluster = Cluster.uniform(1, 2)
    for metric, values in (("mean_jct", [Fraction(total, n) for n, total, _ in ends]),
                           ("makespan", [Fraction(last) for *_, last in ends])):  # fmt: skip
        assert 0.4 * min(values, default=0) <= bound_of(jobs, cluster, metric).value, metric
        assert bound_of(jobs, cluster, metric).value <= min(values, default=10**9), metric


def room(jobs: Iterable[Job], cluster: Cluster, now: int = -1) -> int:
    """Return the GPUs of all servers on which some of these jobs may run, but for those away."""
    away = {a.server for a in cluster.away if a.start <= now < a.end}
    return sum(
        s.gpus
        for s in cluster.servers
        if s.id not in away
        and any(
            s.gpu_type in str(job.gpu_type).split("|")
            and (not s.partitions or job.partition is None or job.partition in s.partitions)
            for job in jobs
        )
    )


def restricted(seed: int) -> tuple[Workload, Cluster]:
    """Return two to six jobs that may run on some of up to four servers; one may be away."""
    rng = random.Random(seed)
    types = ["A", "B", "C"][: rng.randint(1, 3)]
    servers = [
        {"id": f"s{i}", "gpus": rng.randint(1, 3), "gpu_type": types[i % len(types)],
         "partitions": rng.choice([["p"], ["q"], ["p", "q"], []])}
        for i in range(rng.randint(len(types), 4))
    ]  # fmt: skip
    away = [
        {"server": f"s{i}", "start": (start := rng.randint(0, 6)), "end": start + rng.randint(1, 5)}
        for i in rng.sample(range(len(servers)), seed % 2)
    ]
    cluster = Cluster.parse({"servers": servers, "away": away}, "the test")
    rows: list[dict[str, Any]] = []
    while len(rows) < 2 + seed % 5:
        row = {"submit": rng.choice([0, 0, rng.randint(1, 5)]), "gpus": rng.randint(1, 3),
               "work": rng.randint(1, 4), "partition": rng.choice(["p", "q", None]),
               "gpu_type": "|".join(rng.sample(types, rng.randint(1, len(types))))}  # fmt: skip
        if room(by_hand(row).jobs, cluster) >= row["gpus"]:
            rows.append(row)
    return by_hand(*rows), cluster


@pytest.mark.parametrize("seed", range(20))
def test_no_schedule_is_better_where_jobs_may_not_run_everywhere(seed: int) -> None:
    """Jobs fit if no some of them need more GPUs than the servers of all these have (Hall)."""
    jobs, cluster = restricted(seed)

    @cache
    def enough(chosen: tuple[int, ...], now: int) -> bool:
        some = [jobs.jobs[j] for j in chosen]
        return sum(job.gpus for job in some) <= room(some, cluster, now)

    def fits(now: int, chosen: set[int]) -> bool:
        every = (some for n in range(1, 7) for some in combinations(sorted(chosen), n))
        return all(enough(some, now) for some in every)

    require_no_more_than_least(jobs, cluster, fits, 0.5)


def test_jobs_that_share_gpus_have_bounds_of_their_own() -> None:
    """Without sharing 10 s and 20 s; with it both jobs can end at 10 s."""
    jobs = by_hand({"stages": [1, 0]}, {"stages": [0, 1]})
    script = {0: Decision({x: on(("s1", 1), group="g") for x in "ab"})}
    run = simulate(jobs, ONE, Scripted(script))
    assert run.summary["makespan"] == run.summary["mean_jct"] == 10
    for metric, alone in (("mean_jct", 15), ("makespan", 20)):
        assert run.bound(metric, sharing=False).value == pytest.approx(alone)
        assert run.bound(metric).value == run.bound(metric, sharing=True).value
        assert 9.9 < run.bound(metric).value <= 10


@pytest.mark.parametrize("kinds", [3, 18])
def test_no_policy_that_shares_gpus_is_better_than_a_bound(kinds: int) -> None:
    """With few kinds of jobs, whose groups are listed, and with so many that they are not."""
    rng = np.random.default_rng(kinds)
    stages = rng.integers(1, 99, (kinds, 4)).tolist()
    rows = [
        {"submit": int(rng.integers(0, 50)), "gpus": int(rng.choice([1, 2])) if kinds < 9 else 1,
         "work": int(rng.integers(1, 400)), "stages": stages[i % kinds]}
        for i in range(kinds + 2)
    ]  # fmt: skip
    runs = [
        simulate(by_hand(*rows), Cluster.uniform(1, 4), policy) for policy in ("muri_s", "srsf")
    ]
    assert [run.shares_gpus for run in runs] == [True, False]
    for metric in METRICS:
        values = [run.bound(metric).value for run in runs]
        assert 0 < values[0] <= values[1] * (1 + Fraction(1, 1000))
        assert all(v <= run.summary[metric] for run, v in zip(runs, values, strict=True))


def test_fewer_gpus_may_do_more_each() -> None:
    """Two GPUs do 1.5 times the work of one: 10 s of two take 15 s of one, not 20."""
    jobs = by_hand({"gpus": 2, "min_gpus": 1, "scaling_loss": 0.5})
    run = simulate(jobs, ONE, Scripted({0: Decision({"a": on(("s1", 1))})}))
    assert run.summary["makespan"] == run.summary["mean_jct"] == 15
    assert run.bound("makespan").value == run.bound("mean_jct").value == 15


TYPED = {"gpu_type": "fast", "rates": {"fast": 3, "slow": 1}}
FAST_AND_SLOW = Cluster.of([{"gpus": 1, "gpu_type": kind} for kind in ("fast", "slow")])
HUNGRY = {"cpus": [1, 3], "memory": [1], "throughput": [[1], [2]], "share": [1, 1]}
LATE = {"servers": [{"id": "s1", "gpus": 1}, {"id": "s2", "gpus": 1, "pool": "loan"}],
        "loans": [{"time": 30, "servers": 1}]}  # fmt: skip
PARTITIONS = Cluster.of([{"gpus": 1, "partitions": [name]} for name in "pq"])
A_OR_B = Cluster.of([{"gpus": n, "gpu_type": kind} for n, kind in ((1, "A"), (2, "B"), (9, "C"))])
GONE = Cluster.parse({"servers": [{"id": name, "gpus": 1} for name in ("s1", "s2")],
                      "away": [{"server": "s2", "start": 5, "end": 8}]}, "hand")  # fmt: skip
VALUES: dict[str, tuple[Workload, Cluster, str, Fraction | float]] = {
    "work that comes late": (
        by_hand({"work": 2}, {"submit": 10, "work": 3}, {"submit": 10, "work": 3}),
        Cluster.uniform(1, 2), "makespan", 13),
    "a job's own length": (by_hand({"submit": 10, "work": 4}), Cluster.uniform(1, 8), "makespan",
                           14),
    # In T seconds they do T / 10 and T / 30 of three jobs.
    "a slow type counts for less": (by_hand({}, {}, {}, **TYPED), FAST_AND_SLOW, "makespan", 22.5),
    # In T seconds both have 3 of 4 CPUs for half of T: 2 (T / 2 + 2 T / 2) = 24.
    "CPUs are a resource": (
        by_hand({"work": 12}, {"work": 12}, profile="p", head={"matrices": {"p": HUNGRY}}),
        Cluster.uniform(1, 2, cpus=4, memory=9), "makespan", 8),
    # The GPU of partition q is idle.
    "a partition of its own, mean": (by_hand({}, {}, partition="p"), PARTITIONS, "mean_jct", 15),
    "a partition of its own": (by_hand({}, {}, partition="p"), PARTITIONS, "makespan", 20),
    "parts are added up": (
        by_hand({"partition": "p"}, {"partition": "p"}, {"partition": "q"}), PARTITIONS, "mean_jct",
        Fraction(40, 3)),
    # Two of A alone end at 10 and 20; those of both types at 10, on B; nobody uses C.
    "types with alternatives": (
        by_hand(*[{"gpu_type": kind} for kind in ("A", "A", "A|B", "A|B")]), A_OR_B, "mean_jct",
        12.5),
    "types with alternatives, last": (
        by_hand(*[{"gpu_type": kind} for kind in ("A", "A", "A|B", "A|B")]), A_OR_B, "makespan",
        20),
    # In 11.5 s both GPUs have 20 s for the jobs, as one of them is away for 3 s.
    "a server that is away": (by_hand({}, {}), GONE, "makespan", 11.5),
    # The second GPU is lent from 30 s on, so one of them waits for the other.
    "a loan that is too late": (by_hand({}, {}, fungible=True), Cluster.parse(LATE, "hand"),
                                "mean_jct", 15),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_bounds_by_hand(name: str) -> None:
    """The bound is as computed, or less by what was rounded down."""
    jobs, cluster, metric, expected = VALUES[name]
    value = bound(jobs, cluster, metric)
    assert value <= expected
    assert value == pytest.approx(expected, rel=0.03 if metric == "mean_jct" else 1e-6)


# One GPU: the long job first ends at 10 and 12, the short one first at 2 and 12.
JOBS = by_hand({"stages": [1, 1, 0]}, {"work": 2, "stages": [0, 1, 1]})


def test_the_largest_servers_that_are_lent_count_while_they_are() -> None:
    """Four jobs of 4 GPUs and 10 s on 4 GPUs, and on 2, 1 and 2 more from a time on."""
    jobs = by_hand(*[{}] * 4, gpus=4, fungible=True)
    rows = [{"id": f"i{i}", "gpus": g, "pool": "loan"} for i, g in enumerate((2, 1, 2))]

    def lent(time: int, servers: int, metric: str = "makespan") -> Fraction:
        loans = [{"time": time, "servers": servers}]
        data = {"servers": [{"id": "t", "gpus": 4}, *rows], "loans": loans}
        return bound(jobs, Cluster.parse(data, "hand"), metric)

    assert [lent(35, 3), lent(0, 3), lent(0, 2)] == [35 + Fraction(20, 9), Fraction(160, 9), 20]
    assert lent(35, 3, "mean_jct") > lent(0, 3, "mean_jct")
    for words, options in (("no stages", {"sharing": True}), ("only on: mean_jct, makespan", {})):
        with pytest.raises(OptionError, match=words):
            bound(by_hand({}), ONE, "mean_jct" if options else "p99_jct", **options)


def test_a_comparison_has_savings_and_bounds() -> None:
    """Saved is of the first row; the shortest job first meets both bounds; muri's are weaker."""
    table = compare_policies(JOBS, ONE, ["fifo", "srtf", "muri_s"], bounds=True)
    shared = float(simulate(JOBS, ONE, "muri_s").bound(sharing=True).value)
    assert table["mean_jct"].tolist()[:2] == [11, 7]
    assert table["saved"].tolist()[:2] == [0, pytest.approx(4 / 11)]
    assert table["mean_jct_bound"].tolist() == pytest.approx([7, 7, shared], abs=1e-5)
    assert table["mean_jct_gap"].tolist()[:2] == pytest.approx([4 / 11, 0], abs=1e-5)
    assert table["makespan_bound"].tolist()[:2] == [12, 12]
    assert table["makespan_gap"].tolist()[:2] == [0, 0]
    assert shared < 6.9 and (table["mean_jct_gap"] >= -1e-9).all()
    other = compare_policies(JOBS, ONE, ["srtf", "fifo"])
    assert other["saved"].tolist() == [0, pytest.approx(-4 / 7)] and "mean_jct_bound" not in other


def test_entries_have_methods_and_options_of_their_own() -> None:
    """A row's own options go before those for all rows."""
    rows: list[Any] = ["synergy", ("synergy", "exact"), ("synergy", "exact", {"order": "srtf"})]
    matrix = {"cpus": [1, 2, 3], "memory": [2], "throughput": [[1], [2], [3]], "share": [2, 2]}
    # FIFO runs the two long jobs first.
    jobs = by_hand(
        *({"work": work, "iterations": work} for work in (900, 900, 300, 300)),
        profile="p", iteration_time=1, head={"matrices": {"p": matrix}},
    )  # fmt: skip
    cluster = Cluster.uniform(1, 2, cpus=4, memory=4)
    table = compare_policies(jobs, cluster, rows, order="fifo", bounds=True)
    assert table["method"].fillna("default").tolist() == ["default", "exact", "exact"]
    assert table["mean_jct"][2] < table["mean_jct"][1]
    assert (table["mean_jct_bound"] <= table["mean_jct"]).all()
