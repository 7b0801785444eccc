"""Snapshots of traces under fifo, and the instances that the problems' adapters make of them."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

import dlsched
from dlsched.records import Trace, TraceJob, parse_duration, read_trace, synthesise
from dlsched.simulation import Snapshot, pool, queue, snapshot
from drawing import drawn

SECONDS = st.integers(0, 24).map(lambda n: Fraction(n, 2)) | st.sampled_from(
    [Fraction("0.1"), Fraction("0.3"), Fraction("1.007")]
)
ROWS = st.lists(st.tuples(st.integers(0, 14), SECONDS, SECONDS), min_size=1, max_size=14)


def trace(*rows: tuple[Any, ...]) -> Trace:
    """Build a trace of jobs a, b, c, ... from (gpus, submit, duration)."""
    jobs = [
        TraceJob(id="abcdefghijklmn"[i], gpus=gpus, submit=submit, duration=duration)
        for i, (gpus, submit, duration) in enumerate(rows)
    ]
    return Trace(name="hand", jobs=tuple(jobs))


def starts(t: Trace, size: int) -> dict[str, Fraction]:
    """Return when jobs start that each wait for their turn, and for as many GPUs as they need."""
    started: dict[str, Fraction] = {}
    held: list[tuple[Fraction, Fraction, int]] = []
    for job in t.jobs:
        if not 0 < job.gpus <= size:
            continue
        ready = max([Fraction(job.submit - t.first), *started.values()])
        moments = sorted({ready, *(end for _, end, _ in held if end > ready)})
        free = [size - sum(n for a, b, n in held if a <= m < b) for m in moments]
        first = next(m for m, f in zip(moments, free, strict=True) if f >= job.gpus)
        started[job.id] = first
        held.append((first, first + job.duration, job.gpus))
    return started


@drawn(150, ROWS, st.integers(1, 4), st.integers(1, 4), SECONDS)
def test_first_come_first_served(rows: Any, servers: int, gpus: int, at: Fraction) -> None:
    """Every job starts in its turn, is refused for its size, or needs no GPU; no server is over."""
    t, size = trace(*rows), servers * gpus
    shot = snapshot(t, at, servers=servers, gpus=gpus)
    begin = starts(t, size)
    past = [j for j in t.jobs if j.gpus and j.submit - t.first <= at]
    assert list(shot.refused) == [j for j in past if j.gpus > size]
    assert list(shot.queued) == [j for j in past if j.gpus <= size and begin[j.id] > at]
    there = [j for j in past if j.gpus <= size and begin[j.id] <= at < begin[j.id] + j.duration]
    assert [(p.job, p.start) for p in shot.running] == [(j, begin[j.id]) for j in there]
    assert shot.finished == len(past) - len(shot.refused) - len(shot.queued) - len(there)
    held: Counter[str] = Counter()
    for p in shot.running:
        assert p.finish == p.start + p.job.duration
        assert sum(count for _, count in p.gpus) == p.job.gpus
        held.update(dict(p.gpus))
    assert max(held.values(), default=0) <= gpus


@pytest.mark.parametrize(
    ("free", "size", "where"),
    [
        ([8, 3, 5], 3, {1: 3}),  # the fullest server that suffices
        ([8, 3, 5], 4, {2: 4}),
        ([8, 8, 3, 5], 12, {0: 8, 3: 4}),  # a whole server, and the rest by best fit
        ([8, 8, 8], 16, {0: 8, 1: 8}),
        ([2, 3, 4], 6, {0: 2, 1: 3, 2: 1}),  # nowhere together: singles, fullest first
        ([2, 3, 4], 10, None),
        ([8, 3], 10, {0: 8, 1: 2}),
        ([8, 1, 1], 10, {1: 1, 2: 1, 0: 8}),
    ],
)
def test_placement(free: list[int], size: int, where: dict[int, int] | None) -> None:
    """Together on the fullest servers that suffice, else spread; on failure it waits."""
    filled = [row for f in free for row in ((8 - f, 0, 9), (f, 0, 1))]  # f ends, so that f are free
    shot = snapshot(trace(*filled, (size, 2, 1)), 2, servers=len(free))
    assert len(shot.queued) == (where is None)
    if where is not None:
        assert dict(shot.running[-1].gpus) == {f"s{i + 1}": n for i, n in where.items()}


NAMES = {"dlsched": dlsched, "read_trace": read_trace, "synthesise": synthesise}
"""What sources need."""
HAND = trace((12, 7, 100), (4, 7, 60), (8, 17, 30), (1, 27, 5), (99, 37, 1))
"""Two servers: a fills one and half the other, b the rest, c and d wait, e is too large."""


def test_a_snapshot_by_hand() -> None:
    """At 50 s, a and b run on both servers, c and d wait, e was refused, no job has ended.

    Half of an elastic job's GPUs are flexible, those it was given last; one GPU is none.
    """
    shot = snapshot(HAND, 50, servers=2, elastic=1)
    assert shot.elastic_ids == {"a", "b", "c"}
    assert [p.job.id for p in shot.running] == ["a", "b"]
    assert ([j.id for j in shot.queued], [j.id for j in shot.refused]) == (["c", "d"], ["e"])
    assert (shot.finished, shot.held_gpus, shot.free_gpus) == (0, 16, 0)
    assert shot.state.running[0].allocation == (("s1", 8), ("s2", 4))
    assert [job.attained for job in shot.state.running] == [50, 50]
    assert [job.submit for job in shot.state.waiting] == [10, 20]
    assert [[(w.server, w.gpus, w.flexible) for w in j.workers] for j in shot.reclaiming.jobs] == [
        [("s1", 6, False), ("s1", 2, True), ("s2", 4, True)],
        [("s2", 2, False), ("s2", 2, True)],
    ]
    for share, best in ((0, (1, 4)), (1, (1, 0))):
        instance = snapshot(HAND, 50, servers=2, elastic=share).reclaiming
        assert tuple(dlsched.solve(instance).objective) == best


def test_the_elastic_epoch_by_hand() -> None:
    """Base workers hold 8 of 16 GPUs; running jobs have their remaining time, queued ones all."""
    data = snapshot(HAND, 50, servers=2, elastic=1).elastic.to_data()
    assert data["capacity"] == 8
    keys = ["id", "min_workers", "max_workers", "min_running_time", "running"]
    rows = [tuple(job.get(key, False) for key in keys) for job in data["jobs"]]
    assert rows == [
        ("a", 6, 12, 50, True),
        ("b", 2, 4, 10, True),
        ("c", 4, 8, 30, False),
        ("d", 1, 1, 5, False),
    ]
    assert all(job["gpus_per_worker"] == 1 for job in data["jobs"])
    # With loan, the same jobs on two pools; shares of 1 and 0 are all and none.
    shot = snapshot(HAND, 50, servers=2, elastic=1)
    made = shot.instance("elastic", loan=6, fungible=1, heterogeneous=0)
    assert [(p.id, p.capacity) for p in made.by_pool] == [("training", 8), ("loan", 6)]
    assert all(job.fungible and not job.heterogeneous for job in made.jobs)
    assert [job.base_pool for job in made.jobs] == ["training", "training", None, None]
    plain = {"fungible": False, "base_pool": None}
    assert tuple(job.model_copy(update=plain) for job in made.jobs) == shot.elastic.jobs
    drawn = [shot.instance("elastic", loan=6, fungible=0.5, kind_seed=s).jobs for s in range(9)]
    assert len({tuple(job.fungible for job in jobs) for jobs in drawn}) > 1


TRACE = read_trace("synthetic-1")


def test_names_and_sources_of_instances() -> None:
    """The name says what is not at its default; the source is Python that makes it again.

    A larger share keeps the elastic jobs of a smaller one; the seed draws others.
    """
    shot = snapshot(TRACE, "4d12h", servers=32, demand=5, elastic=0.4, seed=9)
    name = "reclaiming-synthetic-1-4d12h-32x8-demand=5-elastic=0.4-seed=9"
    assert shot.reclaiming.name == name
    assert snapshot(TRACE, 0, name="mine").reclaiming.name == "mine"
    queued = queue(TRACE, "4d", resources=4, order="2d-las")
    moment = snapshot(TRACE, "4d", servers=8)
    assert queued == moment.instance("interleaving", resources=4, order="2d-las")
    for made in (shot.reclaiming, shot.elastic, queued):
        assert eval(made.source, NAMES) == made
    sets = [snapshot(TRACE, "4d", elastic=share).elastic_ids for share in (0, 0.3, 0.6, 1)]
    assert sets[0] < sets[1] < sets[2] < sets[3]
    assert snapshot(TRACE, "4d", elastic=0.3, seed=1).elastic_ids != sets[1]
    # 5 GPUs for 1 s are 1 x 5/6 s with twice the base of 3; a job of no duration has 1 ms left.
    epoch = snapshot(trace((8, 0, 9), (5, 1, 1), (1, 2, 0)), 2, servers=1, elastic=1).elastic
    times = [Fraction(job["min_running_time"]) for job in epoch.to_data()["jobs"]]
    assert [float(t) for t in times] == [7, 0.834, 0.001]


SHARES, HOURS = st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 60 * 3600 * 1000)


@drawn(25, st.integers(0, 10**6), HOURS, SHARES)
def test_drawn_moments(seed: int, moment: int, share: float) -> None:
    """Whatever the moment, the instances are those of the past and of the replay at that moment."""
    at = Fraction(moment, 1000)
    t = synthesise(seed, jobs=40, days=2, busy_gpus=60)
    options: dict[str, Any] = {"servers": 5, "gpus": 8}
    elastic: dict[str, Any] = {"elastic": share, "seed": seed}
    shot = snapshot(t, at, **options, **elastic)
    # A trace cut at the moment gives the same jobs, places, flexible workers and instances.
    past = tuple(job for job in t.jobs if job.submit - t.first <= at)
    again = snapshot(t.model_copy(update={"jobs": past}), at, **options, **elastic)
    assert again == shot and again.reclaiming == shot.reclaiming
    assert eval(shot.source, NAMES) == shot
    assert parse_duration(shot.reclaiming.name.split("-")[3]) == float(at)
    assert_reclaiming_is_right(shot)
    assert_elastic_is_right(shot)


def assert_reclaiming_is_right(shot: Snapshot) -> None:
    """Assert that its free GPUs are those not held, and its jobs and workers those that run."""
    instance = shot.reclaiming
    held = sum(w.gpus for job in instance.jobs for w in job.workers)
    assert sum(s.gpus for s in instance.servers) - held == shot.free_gpus
    assert [job.id for job in instance.jobs] == [p.job.id for p in shot.running]
    for job, placement in zip(instance.jobs, shot.running, strict=True):
        flexible = sum(w.gpus for w in job.workers if w.flexible)
        assert flexible == (placement.job.gpus // 2 if job.id in shot.elastic_ids else 0)


def assert_elastic_is_right(shot: Snapshot) -> None:
    """Assert that the recorded GPUs are within everyone's range, and fill what is not free."""
    data = shot.elastic.to_data()
    least, most = (
        {job["id"]: job[field] for job in data["jobs"]} for field in ("min_workers", "max_workers")
    )
    running = {job["id"] for job in data["jobs"] if job.get("running")}
    assert running == {p.job.id for p in shot.running}
    assert set(least) - running == {j.id for j in shot.queued}
    for job in [*(p.job for p in shot.running), *shot.queued]:
        assert least[job.id] <= job.gpus <= most[job.id] <= job.gpus + 1
    flexible = sum(p.job.gpus - least[p.job.id] for p in shot.running)
    assert data["capacity"] == shot.free_gpus + flexible


def test_at_both_ends() -> None:
    """The first submission's jobs, empty servers at the end; a demand of a tenth, at least one."""
    shot = snapshot(HAND, 0, servers=2)
    assert [p.job.id for p in shot.running] == ["a", "b"]
    assert not shot.queued
    shot = snapshot(HAND, "1d", servers=2)
    assert (shot.running, shot.queued, shot.finished, shot.free_gpus) == ((), (), 4, 16)
    assert tuple(dlsched.solve(shot.reclaiming).objective) == (0, 0)
    made = [snapshot(HAND, 0, servers=s).reclaiming for s in (4, 19, 20, 64)]
    assert [instance.demand for instance in made] == [1, 1, 2, 6]


TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1))


def staged(*rows: tuple[Any, ...]) -> Trace:
    """Build a trace of jobs a, b, c, ... with stages of 0.25, 0.5 and 1 second."""
    jobs = [job.model_copy(update={"stages": TIMES}) for job in trace(*rows).jobs]
    return Trace(name="hand", jobs=tuple(jobs))


FOUR = [(2, 0, 100), (2, 0, 60), (1, 1, 30), (1, 2, 500), (1, 3, 40), (2, 4, 10), (1, 5, 20)]
"""Four GPUs: a and b run from the start, c to g wait; f has two GPUs."""
LIKE_RESNET, LIKE_BERT = ("192.308", "57.692"), ("166.667", "83.333")
SPLITS = {"resnet50": LIKE_RESNET, "ShuffleNet": LIKE_RESNET, "vgg16": ("214.286", "35.714")}
SPLITS |= {"bert": LIKE_BERT, "gpt2": LIKE_BERT, "a2c": ("0", "250"), "dqn": ("0", "250")}
SPLITS |= {"another": ("125", "125")}


def test_the_first_stage_by_table_1() -> None:
    """In milliseconds: three stages as recorded; with four 60:18, 24:4, 0.06:0.03 and 0:91."""
    (one,) = staged((1, 0, 1)).jobs
    jobs = tuple(one.model_copy(update={"id": m, "model": m}) for m in SPLITS)
    ones = Trace(name="ones", jobs=jobs)
    assert {j.stages for j in pool(ones).jobs} == {(250, 500, 1000)}
    made = {j.id: j.stages for j in pool(ones, resources=4).jobs}
    assert made == {m: (*map(Fraction, split), 500, 1000) for m, split in SPLITS.items()}


@pytest.mark.parametrize(
    ("order", "more", "ids"),
    [
        # At 50 s: f 20, g 20, b 20, c 30, e 40, a 100, d 500 GPU-seconds; four GPUs take all.
        # Fullest grouping of a, b, f: 2 GPUs; of c, d, e, g: two groups, 2 GPUs.
        ("srsf", [], "bfgcead"),
        # A fourth job of two GPUs would need a group of its own; i behind it has a place, and goes.
        ("srsf", [(2, 6, 55), (1, 7, 200)], "bfgceaid"),
        # By attained service who waits comes first, in order of submission, then a and b.
        ("2d-las", [], "cdefgab"),
    ],
)
def test_the_queue_by_hand(order: str, more: list[Any], ids: str) -> None:
    """The jobs of the queue that four GPUs can take, in the order asked for."""
    whole = pool(staged(*FOUR), budget=0.5)
    assert [j.id for j in whole.jobs] == list("abcdefg") and pool(staged(*FOUR)).gpu_budget is None
    # Half the way from the fewest GPUs, in fullest groups of up to three, 2 (2) + 2 (1), to 10.
    assert whole.gpu_budget == 4 + (10 - 4) // 2
    made = queue(staged(*FOUR, *more), 50, servers=1, gpus=4, order=order)
    assert [j.id for j in made.jobs] == list(ids)
    assert made.gpu_budget == 4
    assert dlsched.solve(made, "milp").status == "optimal"
