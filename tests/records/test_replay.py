"""Replays: strictly first come first served, best fit, and never more GPUs than there are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

from dlsched.records import Placement, Trace, TraceJob, replay
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


def assert_first_come_first_served(
    t: Trace, placements: tuple[Placement, ...], gpus: int, spread: bool
) -> None:
    """Assert that a job starts when it is first in the queue and the GPUs are there, not later.

    A job that may not spread starts no earlier, on as few servers as can hold it.
    """
    before: list[Placement] = []
    for p in placements:
        assert p.finish - p.start == p.job.duration
        ready = max([p.job.submit - t.first, *(q.start for q in before[-1:])])
        moments = sorted({ready, *(q.finish for q in before if q.finish > ready)})
        free = [gpus - sum(q.job.gpus for q in before if q.start <= m < q.finish) for m in moments]
        first = next(m for m, f in zip(moments, free, strict=True) if f >= p.job.gpus)
        assert p.start == first if spread else p.start >= first
        before.append(p)


@drawn(150, ROWS, st.booleans(), st.integers(1, 4), st.integers(1, 4), SECONDS)
def test_replays(rows: Any, spread: bool, servers: int, gpus: int, until: Fraction) -> None:
    """Every job starts in its turn, is refused for its size, or needs no GPU; no server is over."""
    t, options = trace(*rows), {"servers": servers, "gpus": gpus, "spread": spread}
    history = replay(t, **options)
    size = servers * gpus
    assert [p.job for p in history.placements] == [j for j in t.jobs if 0 < j.gpus <= size]
    assert {j.id for j in history.refused} == {j.id for j in t.jobs if j.gpus > size}
    assert not history.queued
    assert_first_come_first_served(t, history.placements, size, spread)
    for p in history.placements:
        held: Counter[int] = Counter()
        for q in history.running(p.start):
            held.update(dict(q.gpus))
        assert max(held.values(), default=0) <= gpus
        assert sum(count for _, count in p.gpus) == p.job.gpus
        assert spread or len(p.gpus) == -(-p.job.gpus // gpus)
    # Up to a moment, all happens as if the trace went no further.
    past = tuple(job for job in t.jobs if job.submit - t.first <= until)
    now = replay(t, until=until, **options)
    assert now == replay(Trace(name="past", jobs=past), until=until, **options)
    assert now.placements == tuple(p for p in history.placements if p.start <= until)
    waiting = {p.job.id for p in history.placements if p.start > until}
    assert [j.id for j in now.queued] == [j.id for j in past if j.id in waiting]


@pytest.mark.parametrize(
    ("free", "size", "spread", "where"),
    [
        ([8, 3, 5], 3, True, {1: 3}),  # the fullest server that suffices
        ([8, 3, 5], 4, True, {2: 4}),
        ([8, 8, 3, 5], 12, True, {0: 8, 3: 4}),  # a whole server, and the rest by best fit
        ([8, 8, 8], 16, True, {0: 8, 1: 8}),
        ([2, 3, 4], 6, True, {0: 2, 1: 3, 2: 1}),  # nowhere together: singles, fullest first
        ([2, 3, 4], 6, False, None),
        ([2, 3, 4], 10, True, None),
        ([8, 3], 10, True, {0: 8, 1: 2}),
        ([8, 1, 1], 10, True, {1: 1, 2: 1, 0: 8}),
    ],
)
def test_placement(free: list[int], size: int, spread: bool, where: dict[int, int] | None) -> None:
    """Together on the fullest servers that suffice, else spread; on failure it waits."""
    filled = [row for f in free for row in ((8 - f, 0, 9), (f, 0, 1))]  # f ends, so that f are free
    history = replay(
        trace(*filled, (size, 2, 1)), servers=len(free), gpus=8, spread=spread, until=2
    )
    assert len(history.queued) == (where is None)
    if where is not None:
        assert dict(history.placements[-1].gpus) == where
