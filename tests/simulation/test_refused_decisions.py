"""Decisions that cannot be followed, and jobs that would never end, are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from scripted import LENT, ONE, Scripted, on
from simulation_cases import by_hand

from dlsched import InstanceError
from dlsched.simulation import Cluster, Decision, PolicyError, Workload, simulate

SIZED = Cluster.uniform(servers=2, gpus=2, cpus=4, memory=8)
IMPOSSIBLE: Mapping[str, tuple[Decision, str]] = {
    "no such server": (Decision({"b": on(("s9", 1))}), "no server s9"),
    "too many": (Decision({"a": on(("s1", 2)), "b": on(("s1", 1))}), "1 GPUs on s1, which has 0"),
    "part of a gang": (Decision({"a": on(("s1", 1))}), "gets 1 GPUs; it runs with 2"),
    "a server twice": (Decision({"a": on(("s1", 1), ("s1", 1))}), "each of its servers is named"),
    "no GPU": (Decision({"b": on(("s1", 1), ("s2", 0))}), "with a GPU or more"),
    "not running": (Decision(preempt=["a"]), "job a is preempted, but does not run"),
    "not there": (Decision({"c": on(("s1", 1))}), "job c is started, but is not present"),
    "unknown": (Decision({"z": on(("s1", 1))}), "job z is started, but is not present"),
    "no stages": (
        Decision({"b": on(("s1", 1), group="g"), "d": on(("s1", 1), group="g")}),
        "cannot share GPUs",
    ),
    "two places": (
        Decision({"b": on(("s1", 1), group="g"), "d": on(("s2", 1), group="g")}),
        "group g hold different GPUs",
    ),
    "backwards": (Decision({"b": on(("s1", 1), speed=-1)}), "speed -1 is negative"),
    "no number": (Decision({"b": on(("s1", 1), speed=float("nan"))}), "speed nan is not a finite"),
    "time won": (Decision({"b": on(("s1", 1))}, overhead={"b": -2}), "overhead -2 is negative"),
    "CPUs made": (Decision({"b": on(("s1", 1, -3))}), "CPUs -3 is negative"),
    "too many CPUs": (Decision({"b": on(("s1", 1, 5))}), "5 CPUs on s1, which has 4 free"),
    "the past": (Decision({"b": on(("s1", 1))}, wake=0), "a time that is not to come"),
    "not lent": (Decision(returned=["s1"]), "server s1 is returned, but is not lent"),
    "no stage": (
        Decision({"d": on(("s1", 1), group="g"), "e": on(("s1", 1), group="g")}),
        "jobs d, e cannot share GPUs",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_decision_is_refused(case: str) -> None:
    """The error says what the job asked for, and what there is."""
    rows = [
        {"id": "a", "submit": 0, "gpus": 2, "work": 9},
        {"id": "b", "submit": 0, "gpus": 1, "work": 9},
        {"id": "d", "submit": 0, "gpus": 1, "work": 9, "stages": [1, 2]},
        {"id": "e", "submit": 0, "gpus": 1, "work": 9, "stages": [0, 0]},
        {"id": "c", "submit": 5, "gpus": 1, "work": 9},
    ]
    workload = Workload.parse({"name": "w", "jobs": rows}, "w")
    decision, message = IMPOSSIBLE[case]
    with pytest.raises(PolicyError, match=message):
        simulate(workload, SIZED, Scripted({0: decision}))


@pytest.mark.parametrize(
    ("row", "shares", "message"),
    [
        ({}, [("lent", 2)], "gets lent of the loan pool, but is not fungible"),
        ({"fungible": True}, [("own", 1), ("lent", 1)], "of both pools, but is not heterogeneous"),
        ({"gpus_per_worker": 2}, [("own", 1), ("own2", 1)], "each of its workers has 2 on one"),
    ],
)
def test_pools_and_workers_are_respected(
    row: dict[str, Any], shares: list[tuple[str, int]], message: str
) -> None:
    """A job runs on the pools that it can use, and each worker on one server."""
    servers = [{"id": "own", "gpus": 2}, {"id": "own2", "gpus": 2}]
    lent = {"id": "lent", "gpus": 2, "pool": "loan"}
    data = {"servers": [*servers, lent], "loans": [{"time": 0, "servers": 1}]}
    policy = Scripted({0: Decision({"a": on(*shares)})})
    with pytest.raises(PolicyError, match=message):
        simulate(by_hand({"gpus": 2} | row), Cluster.parse(data, "cluster"), policy)


def test_a_policy_that_keeps_a_lent_server_is_refused() -> None:
    """Nobody may use a server beyond its loan, also between the rounds of a policy."""
    policy = Scripted({0: Decision({"a": on(("own", 1))})}, on_events=False, interval=1000)
    with pytest.raises(PolicyError, match="only 0 servers are lent now"):
        simulate(by_hand({"work": 100}), LENT, policy)


def test_a_server_with_a_job_is_not_returned() -> None:
    """The error asks for the job's preemption."""
    script = {
        0: Decision({"a": on(("own", 1))}),
        50: Decision({"b": on(("lent", 1))}),
        80: Decision(returned=["lent"]),
    }
    with pytest.raises(PolicyError, match="lent is returned while jobs are on it; preempt them"):
        simulate(by_hand({"work": 100}, {"work": 40, "fungible": True}), LENT, Scripted(script))


@pytest.mark.parametrize("interval", [None, 10])
def test_jobs_that_would_wait_for_ever_are_an_error(interval: int | None) -> None:
    """A policy that starts nothing is stopped, with rounds and without."""
    with pytest.raises(PolicyError, match="2 jobs are not complete, none of them makes progress"):
        simulate(by_hand({}, {}), ONE, Scripted({}, interval=interval))


@pytest.mark.parametrize("interval", [None, 10])
def test_jobs_that_would_run_for_ever_are_an_error(interval: int | None) -> None:
    """A job at speed 0 holds its GPU, and never ends."""
    script = {0: Decision({"a": on(("s1", 1), speed=0)})}
    with pytest.raises(PolicyError, match="none of them makes progress"):
        simulate(by_hand({}), ONE, Scripted(script, interval=interval))


def test_a_job_larger_than_the_cluster_is_refused() -> None:
    """Before anything is simulated, naming the job."""
    with pytest.raises(InstanceError, match="job b needs 2 GPUs, the cluster has 1"):
        simulate(by_hand({}, {"gpus": 2}), ONE, "fifo")


@pytest.mark.parametrize(("row", "field"), [({"gpus": 0}, "gpus"), ({"min_gpus": 0}, "min_gpus")])
def test_a_job_without_gpus_is_refused(row: dict[str, int], field: str) -> None:
    """Jobs hold at least one GPU."""
    with pytest.raises(InstanceError, match=rf"jobs\[0\].{field}"):
        by_hand(row)
