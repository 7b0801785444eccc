"""Backfilling against a slow simulator of its own."""

import random
from typing import Any

import pytest
from simulation_cases import audited

from dlsched.simulation import Cluster, Workload

Row = dict[str, Any]


def drawn(seed: int, jobs: int, partitions: tuple[str, ...]) -> list[Row]:
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
        row["partition"] = rng.choice(partitions)
        row["priority"] = rng.choice([0, 1, 1000])
        rows.append(row)
    return rows


def slow_starts(
    rows: list[Row], gpus: int, conservative: bool, by_priority: bool
) -> dict[str, int]:
    """Return the starts under backfilling, second by second, from the papers' definitions."""
    queue = sorted(rows, key=lambda row: row["submit"])
    starts: dict[str, int] = {}
    for now in range(100_000):
        running = [r for r in queue if r["id"] in starts and starts[r["id"]] + r["work"] > now]
        ends = [(max(now + 1e-6, starts[r["id"]] + r["estimate"]), r["gpus"]) for r in running]
        waiting = [r for r in queue if r["submit"] <= now and r["id"] not in starts]
        if by_priority:
            waiting.sort(key=lambda row: -row["priority"])
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


@pytest.mark.parametrize("order", ["submit", "priority"])
@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_backfill_is_that_of_a_slow_reference(seed: int, conservative: bool, order: str) -> None:
    """On random jobs every start is that of a simulator which follows the definition.

    Partitions without shared servers are clusters of their own.
    """
    names = "ab" if seed % 2 else "a"
    rows = drawn(seed, 40, tuple(names))
    servers = [
        {"id": f"{name}{i}", "gpus": 5 * (1 + i), "partitions": [name]}
        for name in names
        for i in (0, 1)
    ]
    cluster = Cluster.parse({"servers": servers}, "test")
    workload = Workload.parse({"name": "w", "jobs": rows}, "test")
    run = audited(workload, cluster, "backfill", conservative=conservative, order=order)
    starts = dict(zip(run.jobs["id"], run.jobs["start"], strict=True))
    for name in names:
        own = [row for row in rows if row["partition"] == name]
        expected = slow_starts(own, 15, conservative, order == "priority")
        assert {row["id"]: starts[row["id"]] for row in own} == expected
