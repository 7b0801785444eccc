"""Backfilling against a slow simulator of its own, and by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dlsched.simulation import Cluster, PolicyError, Workload, simulate

Row = dict[str, Any]


def drawn(seed: int, jobs: int = 40, partitions: tuple[str, ...] = ()) -> list[Row]:
    """Draw jobs whose estimates are up to five times too long, and sometimes too short."""
    rng = random.Random(seed)
    rows = []
    for j in range(jobs):
        work = rng.randint(1, 50)
        row: Row = {
            "id": f"j{j}",
            "submit": rng.randint(0, 150),
            "gpus": rng.choice([1, 1, 1, 2, 3, 4, 8]),
            "work": work,
            "estimate": max(1, work * rng.choice([1, 1, 2, 5]) - rng.choice([0, 0, 0, 5])),
        }
        if partitions:
            row["partition"] = rng.choice(partitions)
        rows.append(row)
    return rows


def slow_starts(rows: list[Row], gpus: int, conservative: bool) -> dict[str, int]:
    """Return the starts under backfilling, second by second, from the papers' definitions."""
    queue = sorted(rows, key=lambda row: row["submit"])
    starts: dict[str, int] = {}
    for now in range(100_000):
        running = [r for r in queue if r["id"] in starts and starts[r["id"]] + r["work"] > now]
        ends = [(max(now + 1e-6, starts[r["id"]] + r["estimate"]), r["gpus"]) for r in running]
        waiting = [r for r in queue if r["submit"] <= now and r["id"] not in starts]
        choose = _conservative if conservative else _easy
        for row in choose(now, gpus, ends, waiting):
            starts[row["id"]] = now
        if len(starts) == len(rows):
            return starts
    raise AssertionError("jobs wait for ever")


def _free(at: float, gpus: int, ends: list[tuple[float, int]]) -> int:
    return gpus - sum(held for end, held in ends if end > at)


def _easy(now: int, gpus: int, ends: list[tuple[float, int]], waiting: list[Row]) -> list[Row]:
    started = []
    head: Row | None = None
    shadow, extra = 0.0, 0
    ends = list(ends)
    for row in waiting:
        fits = row["gpus"] <= _free(now, gpus, ends)
        if head is None and not fits:
            head = row
            shadow = min(e for e, _ in ends if _free(e, gpus, ends) >= row["gpus"])
            extra = _free(shadow, gpus, ends) - row["gpus"]
        elif fits:
            in_time = now + row["estimate"] <= shadow
            if head is not None and not in_time:
                if row["gpus"] > extra:
                    continue
                extra -= row["gpus"]
            ends.append((now + row["estimate"], row["gpus"]))
            started.append(row)
    return started


def _conservative(
    now: int, gpus: int, ends: list[tuple[float, int]], waiting: list[Row]
) -> list[Row]:
    started = []
    taken = [(0.0, end, held) for end, held in ends]
    for row in waiting:
        moments = sorted({float(now), *(end for _, end, _ in taken), *(b for b, _, _ in taken)})
        for begin in (m for m in moments if m >= now):
            stop = begin + row["estimate"]
            inside = [begin, *(b for b, _, _ in taken if begin < b < stop)]
            used = max(sum(h for b, e, h in taken if b <= m < e) for m in inside)
            if used + row["gpus"] <= gpus:
                taken.append((begin, stop, row["gpus"]))
                if begin == now:
                    started.append(row)
                break
    return started


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_backfill_is_that_of_a_slow_reference(seed: int, conservative: bool) -> None:
    """On random jobs every start is that of a simulator which follows the definition."""
    rows = drawn(seed)
    workload = Workload.parse({"name": "w", "jobs": rows}, "test")
    run = simulate(workload, Cluster.uniform(1, 10), "backfill", conservative=conservative)
    assert dict(zip(run.jobs["id"], run.jobs["start"], strict=True)) == slow_starts(
        rows, 10, conservative
    )
    assert run.audit()


@pytest.mark.parametrize("seed", range(3))
def test_partitions_without_shared_servers_are_clusters_of_their_own(seed: int) -> None:
    """Jobs of each partition start as if its servers were the cluster."""
    rows = drawn(seed, 60, ("a", "b"))
    servers = [
        {"id": f"{name}{i}", "gpus": 4 * (1 + i), "partitions": [name]}
        for name in "ab"
        for i in (0, 1)
    ]
    cluster = Cluster.parse({"servers": servers}, "test")
    run = simulate(Workload.parse({"name": "w", "jobs": rows}, "test"), cluster, "backfill")
    starts = dict(zip(run.jobs["id"], run.jobs["start"], strict=True))
    for name in "ab":
        own = [row for row in rows if row["partition"] == name]
        expected = slow_starts(own, 12, False)
        assert {row["id"]: starts[row["id"]] for row in own} == expected


def test_shared_servers_keep_what_is_reserved() -> None:
    """A job of another partition does not delay the first of one on servers of both."""
    servers = [
        {"id": "s1", "gpus": 4, "partitions": ["a"]},
        {"id": "s2", "gpus": 4, "partitions": ["a", "b"]},
    ]
    rows = [
        {"id": "long", "submit": 0, "gpus": 4, "work": 10, "partition": "a"},
        {"id": "first", "submit": 1, "gpus": 8, "work": 5, "partition": "a"},
        {"id": "short", "submit": 2, "gpus": 2, "work": 8, "partition": "b"},
        {"id": "other", "submit": 3, "gpus": 2, "work": 20, "partition": "b"},
    ]
    cluster = Cluster.parse({"servers": servers}, "test")
    run = simulate(Workload.parse({"name": "w", "jobs": rows}, "test"), cluster, "backfill")
    starts = dict(zip(run.jobs["id"], run.jobs["start"], strict=True))
    assert starts == {"long": 0, "first": 10, "short": 2, "other": 15}


def test_a_wrong_estimate_delays_the_reservation() -> None:
    """By the limit a job may go ahead that by the truth it may not, and the other way round."""
    rows = [
        {"id": "runs", "submit": 0, "gpus": 3, "work": 10, "estimate": 100},
        {"id": "first", "submit": 1, "gpus": 4, "work": 5, "estimate": 5},
        {"id": "later", "submit": 2, "gpus": 1, "work": 50, "estimate": 60},
    ]
    cluster = Cluster.uniform(1, 4)
    run = simulate(Workload.parse({"name": "w", "jobs": rows}, "test"), cluster, "backfill")
    assert run.jobs["start"].tolist() == [0, 52, 2]
    true = [{key: value for key, value in row.items() if key != "estimate"} for row in rows]
    run = simulate(Workload.parse({"name": "w", "jobs": true}, "test"), cluster, "backfill")
    assert run.jobs["start"].tolist() == [0, 10, 15]


def test_a_job_larger_than_its_partition_is_refused() -> None:
    """The error names the job and its partition."""
    servers = [
        {"id": "s", "gpus": 2, "partitions": ["a"]},
        {"id": "t", "gpus": 8, "partitions": ["b"]},
    ]
    cluster = Cluster.parse({"servers": servers}, "test")
    rows = [{"id": "j", "submit": 0, "gpus": 3, "work": 1, "partition": "a"}]
    with pytest.raises(PolicyError, match="job j asks for 3 GPUs, partition 'a' has 2"):
        simulate(Workload.parse({"name": "w", "jobs": rows}, "test"), cluster, "backfill")


def test_srtf_orders_by_what_is_known() -> None:
    """A policy of shortest jobs takes the estimate for the truth."""
    rows = [
        {"id": "a", "submit": 0, "gpus": 1, "work": 5, "estimate": 50},
        {"id": "b", "submit": 0, "gpus": 1, "work": 10, "estimate": 10},
    ]
    run = simulate(
        Workload.parse({"name": "w", "jobs": rows}, "test"), Cluster.uniform(1, 1), "srtf"
    )
    assert run.jobs["end"].tolist() == [15, 10]
    assert run.audit()


def test_recorded_repeats_starts_and_servers() -> None:
    """Every job starts when and where it is recorded, even where others would wait."""
    rows = [
        {"id": "a", "submit": 0, "gpus": 2, "work": 5, "start": 3, "nodes": [["s2", 2]]},
        {"id": "b", "submit": 0, "gpus": 2, "work": 5, "start": 8, "nodes": [["s2", 1], ["s1", 1]]},
    ]
    workload = Workload.parse({"name": "w", "jobs": rows}, "test")
    run = simulate(workload, Cluster.uniform(2, 2), "recorded")
    assert run.jobs["start"].tolist() == [3, 8]
    assert run.audit()
    held = [row[4] for row in run.log.rows("segments")]
    assert held == ['[["s2", 2]]', '[["s2", 1], ["s1", 1]]']
    rows[1]["start"] = None
    workload = Workload.parse({"name": "w", "jobs": rows}, "test")
    with pytest.raises(PolicyError, match="job b has no recorded start"):
        simulate(workload, Cluster.uniform(2, 2), "recorded")
