"""Instances: drawn ones, those of a cluster's state, and reclaiming's after a placement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from workers_instances import instance, job, server

import dlsched
from dlsched.problems.workers import Instance, Solution, to_reclaiming
from dlsched.problems.workers.instances.generate import with_tenants
from dlsched.problems.workers.instances.state import instance as instance_of
from dlsched.registry.cluster_state import ClusterState, JobState, Server


def used(fleet: Instance, pool: str) -> float:
    """Return the share of a pool's GPUs in use."""
    servers = [server for server in fleet.servers if server.pool == pool]
    return 1 - sum(s.free for s in servers) / sum(s.gpus for s in servers)


@pytest.mark.parametrize("scenario", ["basic", "advanced", "heterogeneous", "ideal"])
def test_the_fleet_is_used_as_stated(scenario: str) -> None:
    """About 85 to 97 % of the training GPUs and 75 to 92 % of the loan GPUs are in use."""
    for seed in (1, 2):
        fleet = dlsched.generate("workers", seed, training=200, loan=200, scenario=scenario)
        # A job that leaves may be of 256 GPUs, of 1,600.
        assert 0.85 - 0.16 <= used(fleet, "training") <= 0.97
        assert 0.75 - 0.16 <= used(fleet, "loan") <= 0.92


@pytest.mark.slow
def test_the_scenarios_have_their_shares() -> None:
    """Section 7.1: fungible 21 %, elastic 5 % of the jobs with 36 % of the GPUs, and so on."""
    jobs = {
        scenario: dlsched.generate(
            "workers", 1, training=1, loan=1, jobs=10_000, scenario=scenario, admitted=False
        ).jobs
        for scenario in ("basic", "advanced", "heterogeneous", "ideal")
    }

    def share(scenario: str, flag: str) -> float:
        return sum(getattr(job, flag) for job in jobs[scenario]) / 10_000

    gpus = [((j.base + j.flexible) * j.gpus_per_worker, j.elastic) for j in jobs["basic"]]
    of_elastic = sum(g for g, elastic in gpus if elastic) / sum(g for g, _ in gpus)
    assert of_elastic == pytest.approx(0.36, abs=0.03)
    assert share("basic", "elastic") == pytest.approx(0.05, abs=0.007)
    assert share("basic", "fungible") == pytest.approx(0.21, abs=0.01)
    assert share("basic", "heterogeneous") == 0
    assert share("advanced", "heterogeneous") == pytest.approx(0.1, abs=0.01)
    assert share("heterogeneous", "fungible") == 0
    assert share("heterogeneous", "heterogeneous") == pytest.approx(0.1, abs=0.01)
    assert share("ideal", "elastic") == share("ideal", "heterogeneous") == 1
    assert all(job.flexible == job.base for job in jobs["ideal"])


def test_admitted_jobs_have_room_by_their_gpus() -> None:
    """Admitted jobs fit the free GPUs; those that cannot move fit the training servers."""
    fleet = dlsched.generate("workers", 4, training=50, loan=50, scenario="advanced")
    free = {p: sum(s.free for s in fleet.servers if s.pool == p) for p in ("training", "loan")}
    need = [((j.base + j.flexible) * j.gpus_per_worker, len(j.pools)) for j in fleet.jobs]
    assert sum(gpus for gpus, pools in need if pools == 1) <= free["training"]
    assert sum(gpus for gpus, _ in need) <= sum(free.values())
    assert 0 < len(need) < 500


def test_groups_are_those_of_what_runs() -> None:
    """With separate groups each used loan server has one; without, none has."""
    apart = dlsched.generate("workers", 2, training=90, loan=90, scenario="advanced")
    loan = [s for s in apart.servers if s.pool == "loan"]
    assert all((s.group is None) == s.empty for s in loan)
    assert {s.group for s in loan if not s.empty} == {"base", "flexible"}
    shared = dlsched.generate("workers", 1, training=20, loan=30, separate_groups=False)
    assert {s.group for s in shared.servers} == {None}


def test_a_fleet_without_servers() -> None:
    """No servers, or none of a pool, are instances too."""
    assert not dlsched.generate("workers", 1, training=0, loan=0, jobs=3).jobs
    one = dlsched.generate("workers", 1, training=0, loan=4, jobs=30, loan_used=0.2)
    assert all(len(job.pools) == 2 for job in one.jobs)


def state(waiting: tuple[JobState, ...]) -> ClusterState:
    """Return four servers of 8 GPUs; a job of 4 to 16 GPUs holds 14 on three of them."""
    servers = tuple(Server(f"s{k}", 8) for k in range(1, 5))
    held = (("s1", 2), ("s3", 4), ("s4", 8))
    running = JobState("r", 8, 4, 16, 0, 100, 50, held)
    return ClusterState(60, servers, (running,), waiting)


def test_servers_and_groups() -> None:
    """Four of the 14 GPUs are those of base workers, the first ones; s4 has flexible ones only."""
    made = instance_of(state(()), loan=0.5)
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
    made = instance_of(state(waiting), loan=0.5, fungible=0, heterogeneous=0)
    shapes = [(job.id, job.base, job.flexible, job.elastic, job.pools) for job in made.jobs]
    assert shapes == [("a", 4, 12, True, ("training",)), ("b", 2, 0, False, ("training",))]
    found = dlsched.solve(made)
    assert found.status == "optimal"
    assert (found.objective.placed, found.objective.flexible) == (2, 8)  # 14 GPUs are free


def test_kinds_depend_on_the_id_alone() -> None:
    """A fifth of the jobs is fungible, the same whatever their order."""
    waiting = tuple(JobState(f"j{k}", 1, 1, 1, 0, 100) for k in range(2000))
    first, again = (
        {job.id for job in instance_of(state(some)).jobs if job.fungible}
        for some in (waiting, waiting[::-1])
    )
    assert first == again
    assert len(first) / 2000 == pytest.approx(0.21, abs=0.03)


def test_a_share_out_of_range() -> None:
    """More than all servers cannot be on loan."""
    with pytest.raises(dlsched.OptionError, match=r"loan=1.5 must be from 0 to 1"):
        instance_of(state(()), loan=1.5)


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


@pytest.mark.parametrize(
    ("tenants", "message"),
    [
        ([], "hold 0 GPUs on 'l1'"),
        ([{"id": "x", "workers": [{"server": "l1", "gpus": 2}]}], "hold 2 GPUs on 'l1'"),
        ([*TENANTS, {"id": "x", "workers": [{"server": "l2", "gpus": 1}]}], "GPUs on 'l2'"),
        ([{"id": "x", "workers": [{"server": "l1", "gpus": 3, "flexible": True}]}],
         "of the base group"),
        ([{"id": "a", "workers": [{"server": "l1", "gpus": 3}]}], "rename one of them"),
    ],
)  # fmt: skip
def test_tenants_must_agree_with_the_servers(tenants: Any, message: str) -> None:
    """Tenants that do not hold what is not free, in the right group, are refused."""
    with pytest.raises(dlsched.OptionError, match=message):
        to_reclaiming(FLEET, PLACED, 1, tenants)


def test_other_unusable_arguments() -> None:
    """An infeasible placement, an unknown server and a bad demand are refused."""
    with pytest.raises(dlsched.OptionError, match="base workers"):
        to_reclaiming(FLEET, Solution(placement={"a": {"base": {"l1": 1}}}), 1, TENANTS)
    nowhere = [{"id": "x", "workers": [{"server": "l9", "gpus": 3}]}]
    with pytest.raises(dlsched.InstanceError, match="l9"):
        to_reclaiming(FLEET, PLACED, 1, nowhere)
    with pytest.raises(dlsched.InstanceError, match="demand"):
        to_reclaiming(FLEET, PLACED, -1, TENANTS)


@pytest.mark.parametrize("scenario", ["basic", "advanced", "heterogeneous", "ideal"])
@pytest.mark.parametrize("separate", [True, False])
def test_generated_tenants_fit_their_instance(scenario: str, separate: bool) -> None:
    """What the generator says of running jobs is what their servers say."""
    options = {"scenario": scenario, "separate_groups": separate}
    rng = np.random.default_rng(3)
    fleet, tenants = with_tenants(rng, training=12, loan=14, jobs=30, **options)
    placed = dlsched.solve(fleet, "bfd").solution
    made = to_reclaiming(fleet, placed, 3, tenants)
    held = sum(worker.gpus for job in made.jobs for worker in job.workers)
    loan = [server for server in fleet.servers if server.pool == "loan"]
    size = {job.id: job.gpus_per_worker for job in fleet.jobs}
    new = sum(
        size[name] * count
        for name, job in placed.placement.items()
        for counts in (job.base, job.flexible)
        for server, count in counts.items()
        if server.startswith("loan")
    )
    assert held == new + sum(server.gpus - server.free for server in loan)
