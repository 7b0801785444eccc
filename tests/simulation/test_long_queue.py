"""A long queue: policies that look at its first jobs only decide as those that look at all do."""

from __future__ import annotations

import bisect
import random
import weakref
from typing import Any

import numpy as np
import pytest
from test_resume import tables

from dlsched.simulation import Allocation, BasePolicy, Cluster, Decision, Share, Workload, simulate
from dlsched.simulation.engine.ascending import Ascending
from dlsched.simulation.engine.positions import Positions
from dlsched.simulation.engine.waiting import MOST_KEYS
from dlsched.simulation.policies.ordering import (
    Fifo,
    Las,
    OrderingPolicy,
    Srsf,
    Srtf,
    of_job_alone,
)
from dlsched.simulation.policies.tiresias import Tiresias


class Backfill(Fifo):
    """First in, first out; jobs that do not fit are skipped."""

    name = "backfill"
    strict = False


class StrictSrtf(Srtf):
    """Shortest remaining time first; nothing runs behind a job that does not fit."""

    strict = True


def burst(seed: int, count: int = 60) -> tuple[Workload, Cluster]:
    """Return jobs of all sizes that arrive much faster than they run, with many ties."""
    rng = random.Random(seed)
    rows = [
        {
            "id": f"j{i}",
            "submit": rng.choice([0, rng.randint(0, 30), round(rng.uniform(0, 60), 3)]),
            "gpus": rng.choice([1, 1, 2, 3, 4, 8]),
            "work": rng.choice([0, 10, 10, rng.randint(1, 400)]),
            "restart": rng.choice([0, 0, 4]),
            "checkpoints": rng.random() < 0.9,
        }
        for i in range(count)
    ]
    return Workload.parse({"name": "burst", "jobs": rows}, "burst"), Cluster.uniform(2, 4)


@pytest.mark.parametrize("kind", [Fifo, Backfill, Srtf, StrictSrtf, Srsf, Las, Tiresias])
def test_the_first_jobs_decide_as_all_do(kind: type[OrderingPolicy]) -> None:
    """The log is the same, to the digit, as with a key that is not marked and sorts all jobs."""
    whole = type("Whole", (kind,), {"key": lambda self, jobs: super(whole, self).key(jobs)})
    for seed in range(4):
        workload, cluster = burst(seed)
        assert tables(simulate(workload, cluster, kind()).log) == tables(
            simulate(workload, cluster, whole()).log
        )


def test_a_decision_does_not_look_at_the_whole_queue() -> None:
    """The keys computed for a hundred waiting jobs are a few for each decision."""
    seen: list[int] = []

    class Counting(Srtf):
        @of_job_alone
        def key(self, jobs: Any) -> Any:
            seen.append(len(jobs.job))
            return jobs.remaining

    run = simulate(*burst(1, 150), Counting())
    decisions = run.summary["decisions"]
    assert max(row[2] for row in run.log.rows("decisions")) > 80
    assert sum(seen) < 30 * decisions


def test_lines_of_a_key_that_is_made_anew_are_given_up() -> None:
    """A policy that passes another function at each decision does not fill the memory."""
    keys: list[weakref.ref[Any]] = []
    alive: list[int] = []

    class Forgetful(Srtf):
        def decide(self, state: Any) -> Decision:
            def key(jobs: Any) -> Any:
                return jobs.remaining

            keys.append(weakref.ref(key))
            mine, own = state.lines(key), state.lines(self.key)
            assert {g: [*mine[g]] for g in mine} == {g: [*own[g]] for g in own}
            alive.append(sum(key() is not None for key in keys))
            return super().decide(state)

    simulate(*burst(1), Forgetful())
    assert len(keys) > 3 * MOST_KEYS
    assert max(alive) <= MOST_KEYS + 1


def test_views_are_made_when_they_are_looked_at() -> None:
    """What a policy keeps of a state stays as it was when it decided."""
    kept: list[Any] = []

    class Keeping(BasePolicy):
        def decide(self, state: Any) -> Decision:
            kept.append((state.waiting, state.running, tuple(state.waiting), tuple(state.running)))
            free, start = dict(state.free_gpus), {}
            for view in state.waiting:
                server = next((name for name in free if free[name] >= view.job.gpus), None)
                if server is not None and view.job.gpus <= 4:
                    free[server] -= view.job.gpus
                    start[view.id] = Allocation((Share(server, view.job.gpus),))
            return Decision(start)

    workload, _ = burst(2, 30)
    simulate(workload, Cluster.uniform(2, 8), _Up(Keeping()))
    assert any(len(waiting) > 5 for waiting, *_ in kept)
    for waiting, running, first, second in kept:
        assert tuple(waiting) == first
        assert tuple(running) == second
        assert waiting + running == first + second
        assert waiting[:2] == first[:2]
        assert len(waiting) == len(first)
        assert not first or waiting[0] == first[0]
        assert repr(running) == repr(second)


class _Up(BasePolicy):
    """Starts the jobs that another policy leaves, one on both servers, when nothing runs."""

    def __init__(self, other: BasePolicy) -> None:
        super().__init__()
        self._other = other

    def decide(self, state: Any) -> Decision:
        decision = self._other.decide(state)
        if decision.start or state.allocations or not state.waiting:
            return decision
        view = state.waiting[0]
        return Decision({view.id: Allocation((Share("s1", view.job.gpus),))})


def test_a_state_shows_the_queue_alike_in_all_forms() -> None:
    """Lines and the running jobs' vectors are those of all jobs, at any time."""

    class Comparing(Srsf):
        def decide(self, state: Any) -> Decision:
            jobs, lines = state.arrays, state.lines(self.key)
            keys = dict(zip(jobs.job.tolist(), self.key(jobs).tolist(), strict=True))
            waits = jobs.running == 0
            for gpus, line in lines.items():
                queue = jobs.job[waits & (jobs.gpus == gpus)].tolist()
                assert list(line) == sorted((keys[j], j) for j in queue)
            assert sum(map(len, lines.values())) == waits.sum() == len(state.waiting)
            for whole, held in zip(jobs, state.holding, strict=True):
                assert whole[~waits].tolist() == held.tolist()
            return super().decide(state)

    simulate(*burst(5), Comparing())


def test_a_sequence_in_blocks_is_a_sorted_list() -> None:
    """After any changes it has the elements of a sorted list, by every index and slice."""
    rng = random.Random(4)
    expected = sorted(rng.sample(range(5000), 1200))
    ascending: Ascending[int] = Ascending(expected[::-1])
    for step in range(4000):
        # It grows until blocks are split, then shrinks.
        if (step < 1400) == (rng.random() < 0.95) or not expected:
            element = next(i for i in (rng.randrange(5000), 5000 + step) if i not in expected)
            bisect.insort(expected, element)
            ascending.add(element)
        else:
            ascending.remove(expected.pop(rng.randrange(len(expected))))
        if step % 200 == 0:
            assert list(ascending) == expected
            assert len(ascending) == len(expected)
            i = rng.randrange(-len(expected), len(expected)) if expected else 0
            assert not expected or ascending[i] == expected[i]
            for part in (slice(3), slice(-2, None), slice(None, None, -1), slice(5, 900, 2)):
                assert ascending[part] == expected[part]
    with pytest.raises(IndexError):
        ascending[len(expected)]


def test_positions_are_a_sorted_set() -> None:
    """After any additions and removals they are those of a set, ascending."""
    rng = random.Random(3)
    positions, expected = Positions(), set()
    for step in range(400):
        job = rng.randrange(60)
        if job in expected:
            expected.remove(job)
            positions.remove(job)
        else:
            expected.add(job)
            positions.add(job)
        if step % rng.randint(1, 9) == 0:
            assert positions.read().tolist() == sorted(expected)
    with pytest.raises(ValueError, match="read-only"):
        positions.read()[:] = np.int64(0)
