"""The generator: use of the fleet, shares of jobs, groups, and which jobs are admitted."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched.problems.workers import Instance


def used(instance: Instance, pool: str) -> float:
    """Return the share of a pool's GPUs in use."""
    servers = [server for server in instance.servers if server.pool == pool]
    return 1 - sum(s.free for s in servers) / sum(s.gpus for s in servers)


@pytest.mark.parametrize("scenario", ["basic", "advanced", "heterogeneous", "ideal"])
def test_the_fleet_is_used_as_stated(scenario: str) -> None:
    """About 85 to 97 % of the training GPUs and 75 to 92 % of the loan GPUs are in use."""
    for seed in (1, 2):
        instance = dlsched.generate("workers", seed, training=200, loan=200, scenario=scenario)
        # A job that leaves may be of 256 GPUs, of 1,600.
        assert 0.85 - 0.16 <= used(instance, "training") <= 0.97
        assert 0.75 - 0.16 <= used(instance, "loan") <= 0.92


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
    instance = dlsched.generate("workers", 4, training=50, loan=50, scenario="advanced")
    free = {p: sum(s.free for s in instance.servers if s.pool == p) for p in ("training", "loan")}
    need = [((j.base + j.flexible) * j.gpus_per_worker, len(j.pools)) for j in instance.jobs]
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scenario": "best"}, "must be one of: basic"),
        ({"training": -1}, "at least"),
        ({"gpus": 0}, "at least"),
        ({"loan_used": 1.5}, "loan_used=1.5"),
        ({"sizes": {16: 1}}, "1 to 8 GPUs"),
        ({"sizes": {}}, "1 to 8 GPUs"),
    ],
)
def test_unusable_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    """A parameter out of range is named."""
    with pytest.raises(dlsched.OptionError, match=message):
        dlsched.generate("workers", 1, **options)


def test_a_fleet_without_servers() -> None:
    """No servers, or none of a pool, are instances too."""
    assert not dlsched.generate("workers", 1, training=0, loan=0, jobs=3).jobs
    one = dlsched.generate("workers", 1, training=0, loan=4, jobs=30, loan_used=0.2)
    assert all(len(job.pools) == 2 for job in one.jobs)
