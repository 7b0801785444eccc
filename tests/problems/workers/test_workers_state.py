"""The instance of workers of a cluster's state."""

from __future__ import annotations

import pytest

import dlsched
from dlsched.problems.workers.instances.state import instance
from dlsched.registry.cluster_state import ClusterState, JobState, Server


def state(waiting: tuple[JobState, ...]) -> ClusterState:
    """Return four servers of 8 GPUs; a job of 4 to 16 GPUs holds 14 on three of them."""
    servers = tuple(Server(f"s{k}", 8) for k in range(1, 5))
    held = (("s1", 2), ("s3", 4), ("s4", 8))
    running = JobState("r", 8, 4, 16, 0, 100, 50, held)
    return ClusterState(60, servers, (running,), waiting)


def test_servers_and_groups() -> None:
    """Four of the 14 GPUs are those of base workers, the first ones; s4 has flexible ones only."""
    made = instance(state(()), loan=0.5)
    rows = [(server.id, server.pool, server.free, server.group) for server in made.servers]
    assert rows == [
        ("s1", "training", 6, None),
        ("s2", "training", 8, None),
        ("s3", "loan", 4, "base"),
        ("s4", "loan", 0, "flexible"),
    ]


def test_waiting_jobs() -> None:
    """Base workers are the least GPUs; one that is not fungible stays on training servers."""
    waiting = (JobState("a", 8, 4, 16, 0, 100), JobState("b", 2, 2, 2, 0, 100))
    made = instance(state(waiting), loan=0.5, fungible=0, heterogeneous=0)
    shapes = [(job.id, job.base, job.flexible, job.elastic, job.pools) for job in made.jobs]
    assert shapes == [
        ("a", 4, 12, True, ("training",)),
        ("b", 2, 0, False, ("training",)),
    ]
    found = dlsched.solve(made)
    assert found.status == "optimal"
    assert (found.objective.placed, found.objective.flexible) == (2, 8)  # 14 GPUs are free


def test_kinds_depend_on_the_id_alone() -> None:
    """A fifth of the jobs is fungible, the same whatever their order."""
    waiting = tuple(JobState(f"j{k}", 1, 1, 1, 0, 100) for k in range(2000))
    first, again = (
        {job.id for job in instance(state(some)).jobs if job.fungible}
        for some in (waiting, waiting[::-1])
    )
    assert first == again
    assert len(first) / 2000 == pytest.approx(0.21, abs=0.03)


def test_a_share_out_of_range() -> None:
    """More than all servers cannot be on loan."""
    with pytest.raises(dlsched.OptionError, match=r"loan=1.5 must be from 0 to 1"):
        instance(state(()), loan=1.5)
