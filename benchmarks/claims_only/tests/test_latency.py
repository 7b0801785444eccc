"""Waits, violations, preemptions and the allocation rate, worked out by hand."""

import pytest
from claims_only.latency import allocation_rate, preemptions, violations, waits
from simulation_cases import audited

from dlsched.simulation import Cluster, Workload
from dlsched.simulation.log import Log

CLUSTER = Cluster.of([{"gpus": 8, "region": "east"}, {"gpus": 8, "region": "west"}])


def logged(*jobs: tuple[str, int, int, int], **quotas: int) -> Log:
    """Return the log of jobs of 8 GPUs: name, submission, work, priority; a tenant for each."""
    rows = [
        {"id": name, "submit": submit, "gpus": 8, "work": work}
        | {"priority": priority, "tenant": f"t{priority}"}
        for name, submit, work, priority in jobs
    ]
    data = {"name": "by-hand", "jobs": rows, "quotas": quotas}
    return audited(Workload.parse(data, "the test"), CLUSTER, "mast").log


def test_a_preempted_workload_waits_again() -> None:
    """The new workload of priority 1 stops that of priority 6 at 40, which goes on at 70."""
    log = logged(("low", 0, 100, 6), ("mid", 0, 100, 4), ("high", 40, 30, 1))
    assert preemptions(log)["preemptions"].to_dict() == {1: 0, 4: 0, 6: 1}
    found = waits(log)
    assert found["seconds"].tolist() == [0, 0, 30, 0]
    assert found["submitted"].tolist() == [True, True, False, True]
    assert violations(log, 10, begin=-1)["violations"].to_dict() == {1: 0, 4: 0, 6: 1}


def test_a_workload_over_quota_has_the_lowest_rank() -> None:
    """The tenant's second workload is over its quota, and so the victim of the other one."""
    log = logged(("one", 0, 100, 2), ("two", 0, 100, 2), ("other", 10, 20, 4), t2=8)
    assert waits(log)["rank"].tolist() == [2, 7, 7, 4]


def test_allocation_rate() -> None:
    """Eight of 16 GPUs for 100 s, of 200 s."""
    assert allocation_rate(logged(("a", 0, 100, 4)), 0, 200) == pytest.approx(0.25)
