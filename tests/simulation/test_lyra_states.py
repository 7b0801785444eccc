"""The adapters that make Lyra's instances from a cluster's state, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dlsched import OptionError
from dlsched.problems.elastic.instances import state as elastic
from dlsched.problems.reclaiming.instances import state as reclaiming
from dlsched.problems.workers.instances import state as workers
from dlsched.registry.cluster_state import ClusterState, JobState, Server

SERVERS = (Server("t1", 8), Server("i1", 4, "loan"), Server("i2", 4, "loan"))
RUNNING = JobState(
    "run", gpus=4, min_gpus=4, max_gpus=8, submit=0, remaining=100,
    allocation=(("i1", 4), ("i2", 2)), gpus_per_worker=2, fungible=True,
)  # fmt: skip
FIXED = JobState("fixed", gpus=3, min_gpus=3, max_gpus=3, submit=0, remaining=9,
                 allocation=(("t1", 3),))  # fmt: skip
WAITING = JobState("wait", gpus=2, min_gpus=2, max_gpus=4, submit=0, remaining=60,
                   scaling_loss=Fraction(1, 2), heterogeneous=True)  # fmt: skip
STATE = ClusterState(0, SERVERS, (RUNNING, FIXED), (WAITING,))


def test_elastic_counts_idle_gpus_and_flexible_workers() -> None:
    """Base GPUs are outside the capacities; a job that cannot scale is left out."""
    instance = elastic.epoch(STATE, mixed_efficiency=Fraction(1, 2))
    assert {pool.id: pool.capacity for pool in instance.pools} == {"training": 5, "loan": 4}
    assert [job.id for job in instance.jobs] == ["run", "wait"]
    run, wait = instance.jobs
    assert (run.running, run.base_pool, run.min_workers, run.max_workers) == (True, "loan", 2, 4)
    assert run.min_running_time == 50
    assert wait.running_times == (60, 48, 40)
    assert wait.heterogeneous


def test_elastic_without_loan_has_one_capacity() -> None:
    """Without servers on loan the kinds of jobs do not matter."""
    state = ClusterState(0, SERVERS[:1], (FIXED,), (WAITING,))
    assert elastic.epoch(state).capacity == 5


def test_workers_knows_the_groups() -> None:
    """A server with base workers, and one with flexible workers; full ones are left out."""
    instance = workers.epoch(STATE, flexible={"wait": 1})
    assert [(s.id, s.free, s.group) for s in instance.servers] == [
        ("t1", 5, None),
        ("i2", 2, "flexible"),
    ]
    (job,) = instance.jobs
    assert (job.base, job.flexible, job.elastic, job.heterogeneous) == (2, 1, True, True)


def test_workers_keeps_a_pool_that_was_chosen() -> None:
    """A fungible job stays in training if that was chosen, and prefers loan if this was."""
    job = JobState("f", gpus=2, min_gpus=2, max_gpus=2, submit=0, remaining=9, fungible=True)
    state = ClusterState(0, SERVERS, (), (job,))
    preferred = {
        pool: workers.epoch(state, pools={"f": pool}).jobs[0].pools for pool in ("training", "loan")
    }
    assert preferred == {"training": ("training",), "loan": ("loan", "training")}
    assert workers.epoch(state).jobs[0].pools == ("training", "loan")


def test_reclaiming_leaves_out_other_servers() -> None:
    """Only what is on the servers of the state counts, with what is base and what is flexible."""
    state = ClusterState(0, SERVERS[2:], (RUNNING, FIXED), ())
    instance = reclaiming.instance(state, demand=1)
    (job,) = instance.jobs
    assert [(w.server, w.gpus, w.flexible) for w in job.workers] == [("i2", 2, True)]


def test_parts_of_workers_are_refused() -> None:
    """GPUs that are no multiple of a worker's are an error, with the job's name."""
    odd = JobState("odd", gpus=3, min_gpus=3, max_gpus=3, submit=0, remaining=9, gpus_per_worker=2)
    state = ClusterState(0, SERVERS, (), (odd,))
    for make in (elastic.epoch, workers.epoch):
        with pytest.raises(OptionError, match="odd"):
            make(state)
