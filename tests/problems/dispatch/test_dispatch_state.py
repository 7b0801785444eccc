"""The instance of dispatch of a cluster's state."""

from __future__ import annotations

from collections import Counter

import pytest

import dlsched
from dlsched.problems.dispatch.instances.state import instance
from dlsched.registry.cluster_state import ClusterState, JobState, Server


def job(name: str, gpus: int, submit: int = 0, *held: tuple[str, int]) -> JobState:
    """Return a job that has run for 50 seconds if it holds GPUs."""
    attained = 50 if held else 0
    return JobState(name, gpus, gpus, gpus, submit, 100, attained, tuple(held))


def state(waiting: tuple[JobState, ...]) -> ClusterState:
    """Return two servers of 8 GPUs, on which a job runs, after 60 seconds."""
    servers = (Server("s1", 8), Server("s2", 8))
    return ClusterState(60, servers, (job("r", 12, 5, ("s1", 8), ("s2", 4)),), waiting)


def test_machines_running_and_waiting_jobs() -> None:
    """Twelve GPUs are held; tasks are servers, single GPUs, or the job itself."""
    made = instance(state((job("a", 16, 10), job("b", 12, 20), job("c", 4, 30), job("d", 0))))
    running = made.running[0]
    assert (running.jobs[0].on, running.seconds) == ({"s1#0": 8, "s2#0": 4}, 50)
    shapes = [(w.id, w.age, w.jobs[0].tasks, w.jobs[0].gpus) for w in made.pending]
    assert shapes == [("a", 50, 2, 8), ("b", 40, 12, 1), ("c", 30, 1, 4)]
    found = dlsched.solve(made)
    assert found.status == "optimal"
    assert "c" in found.solution.start or found.solution.preempt == ("r",)


def test_priorities_are_those_of_the_paper() -> None:
    """Of 4,000 jobs 27 % are over quota, and 54 % of the others have priority 4."""
    made = instance(state(tuple(job(f"j{k}", 1) for k in range(4000))))
    count = Counter(workload.tenant for workload in made.pending)
    assert count["priority-4"] / 4000 == pytest.approx(0.73 * 0.54, abs=0.03)
    assert count["priority-7"] / 4000 == pytest.approx(0.27 + 0.73 * 0.06, abs=0.03)
    assert set(count) <= {tenant.id for tenant in made.tenants}


def test_a_jobs_priority_depends_on_its_id_alone() -> None:
    """Another seed gives others; running and waiting jobs are treated alike."""
    waiting = tuple(job(f"j{k}", 1) for k in range(40))
    first, again, other = (
        [w.tenant for w in instance(state(some), priority_seed=seed).pending]
        for some, seed in ((waiting, 0), (waiting[::-1], 0), (waiting, 1))
    )
    assert first == again[::-1] != other
