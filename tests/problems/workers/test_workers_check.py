"""Drawn instances, those of a state, reclaiming after a placement; reports.txt has what it is."""

from typing import Any

import numpy as np
import pytest
from workers_instances import instance, job, server

import dlsched
from dlsched.problems.workers import Instance, Solution, to_reclaiming
from dlsched.problems.workers.instances.generate import with_tenants
from dlsched.records import Trace, TraceJob
from dlsched.simulation import snapshot


def test_admitted_jobs_have_room_by_their_gpus() -> None:
    """Admitted jobs fit the free GPUs; those that cannot move fit the training servers.

    They are those before the first that does not fit.
    """
    fleet = dlsched.generate("workers", 4, training=50, loan=50, scenario="advanced")
    free = {p: sum(s.free for s in fleet.servers if s.pool == p) for p in ("training", "loan")}
    need = [((j.base + j.flexible) * j.gpus_per_worker, len(j.pools)) for j in fleet.jobs]
    assert sum(gpus for gpus, pools in need if pools == 1) <= free["training"]
    assert sum(gpus for gpus, _ in need) <= sum(free.values())
    assert 0 < len(need) < 500
    drawn = dlsched.generate(
        "workers", 4, training=50, loan=50, scenario="advanced", admitted=False
    )
    assert fleet.jobs == drawn.jobs[: len(need)]


def test_groups_are_those_of_what_runs() -> None:
    """With separate groups each used loan server has one; without, none has."""
    apart = dlsched.generate("workers", 2, training=90, loan=90, scenario="advanced")
    loan = [s for s in apart.servers if s.pool == "loan"]
    assert all((s.group is None) == s.empty for s in loan)
    assert {s.group for s in loan if not s.empty} == {"base", "flexible"}
    shared = dlsched.generate("workers", 1, training=20, loan=30, separate_groups=False)
    assert {s.group for s in shared.servers} == {None}


def waiting_at(rows: list[tuple[str, int, int]], **options: Any) -> Instance:
    """Return jobs that wait on four servers of 8 GPUs: id, GPUs and submission of all jobs."""
    jobs = [TraceJob(id=name, gpus=n, submit=s, duration=100) for name, n, s in rows]
    shot = snapshot(Trace(name="hand", jobs=tuple(jobs)), 50, servers=4, elastic=1)
    made: Instance = shot.instance("workers", **options)
    return made


RUNNING = [("a", 12, 0), ("b", 8, 1), ("w", 16, 2)]
"""Job a has s1 and half of s2, b has s3; w waits. Half of the GPUs of each are flexible."""


def test_servers_and_groups() -> None:
    """The first GPUs of a job are those of base workers: of a on s1, so s2 has flexible ones."""
    made = waiting_at(RUNNING, loan=0.75)
    rows = [(server.id, server.pool, server.free, server.group) for server in made.servers]
    assert rows == [
        ("s1", "training", 0, None),
        ("s2", "loan", 4, "flexible"),
        ("s3", "loan", 0, "base"),
        ("s4", "loan", 8, None),
    ]


def test_waiting_jobs() -> None:
    """Base workers are the least GPUs; one that is not fungible stays on training servers."""
    made = waiting_at(RUNNING, loan=0.25, fungible=0, heterogeneous=0)
    (job,) = made.jobs
    assert (job.id, job.base, job.flexible, job.elastic) == ("w", 8, 8, True)
    assert job.pools == ("training",)
    assert dlsched.solve(made).objective.placed == 0  # 4 GPUs of training servers are free
    moved = waiting_at(RUNNING, loan=0.25, fungible=1)
    assert tuple(dlsched.solve(moved).objective)[:2] == (1, 0)


FLEET = instance(
    [server("t1", 6), server("l1", 5, group="base"), server("l2", 4, 4)],
    [job("a", 2, 2, 2, fungible=True), job("b", 1, 1)],
)
PLACED = Solution(
    placement={"a": {"base": {"l1": 2}, "flexible": {"l2": 2}}, "b": {"base": {"t1": 1}}}
)
ON_L1, ON_T1 = {"server": "l1", "gpus": 3}, {"server": "t1", "gpus": 2}
TENANTS: list[dict[str, Any]] = [{"id": "old", "weight": 2, "workers": [ON_L1, ON_T1]}]


def test_loan_servers_with_old_and_new_workers() -> None:
    """Workers of a kind on a server are one; b and the workers on t1 are left out."""
    made = to_reclaiming(FLEET, PLACED, 1, TENANTS)
    assert made.to_data()["servers"] == [{"id": "l1", "gpus": 8}, {"id": "l2", "gpus": 4}]
    assert made.to_data()["jobs"] == [
        {"id": "old", "weight": 2, "workers": [ON_L1]},
        {"id": "a", "workers": [{"server": "l1", "gpus": 4},
                                {"server": "l2", "gpus": 4, "flexible": True}]},
    ]  # fmt: skip
    best = dlsched.solve(made)
    assert best.solution.returned == ("l2",)
    assert tuple(best.objective) == (0, 0)


def tenant(server: str, gpus: int, name: str = "x", **worker: bool) -> dict[str, Any]:
    """Return a job with one worker."""
    return {"id": name, "workers": [{"server": server, "gpus": gpus} | worker]}


@pytest.mark.parametrize(
    ("demand", "tenants", "message"),
    [
        (1, [], "hold 0 GPUs on 'l1'"),
        (1, [tenant("l1", 2)], "hold 2 GPUs on 'l1'"),
        (1, [*TENANTS, tenant("l2", 1)], "GPUs on 'l2'"),
        (1, [tenant("l1", 3, flexible=True)], "of the base group"),
        (1, [tenant("l1", 3, "a")], "rename one of them"),
        (1, [tenant("l9", 3)], "l9"),
        (-1, TENANTS, "demand"),
    ],
)
def test_tenants_must_agree_with_the_servers(demand: int, tenants: Any, message: str) -> None:
    """Tenants that do not hold what is not free, in the right group, are refused."""
    with pytest.raises(dlsched.DlschedError, match=message):
        to_reclaiming(FLEET, PLACED, demand, tenants)


@pytest.mark.parametrize(
    ("scenario", "separate"),
    [("basic", False), ("advanced", True), ("heterogeneous", False), ("ideal", True)],
)
def test_generated_tenants_fit_their_instance(scenario: str, separate: bool) -> None:
    """What the generator says of running jobs is what their servers say."""
    sizes = {"training": 12, "loan": 14, "jobs": 30}
    fleet, tenants = with_tenants(
        np.random.default_rng(3), **sizes, scenario=scenario, separate_groups=separate
    )
    placed = dlsched.solve(fleet, "bfd").solution
    assert to_reclaiming(fleet, placed, 3, tenants).jobs  # it refuses tenants that do not fit
