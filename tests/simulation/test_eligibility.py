"""Where a job may run: the one function, and the classes of jobs and servers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation_cases import Scripted, audited, by_hand, changed, on, tables

from dlsched.errors import InstanceError, OptionError
from dlsched.simulation import (
    Cluster,
    Decision,
    PolicyError,
    State,
    Workload,
    list_policies,
    simulate,
)
from dlsched.simulation.policies import make_policy
from dlsched.simulation.policies.keeping import without_preemption
from dlsched.simulation.workload.cluster import Server
from dlsched.simulation.workload.eligibility import (
    eligibility,
    eligible,
    obstacle,
    require_places,
)
from dlsched.simulation.workload.job import Job


def _job(**fields: object) -> Job:
    return Job.parse({"id": "j", "submit": 0, "gpus": 1, "work": 1, **fields}, "a job")


def _server(**fields: object) -> Server:
    return Server.parse({"id": "s", "gpus": 4, **fields}, "a server")


RATES = {"rates": {"A100": 2, "V100": 1}, "gpu_type": "V100"}

CASES = [
    ({}, {}, None),
    ({"gpu_type": "V100"}, {}, None),
    ({}, {"gpu_type": "V100"}, None),
    ({"gpu_type": "A100|H100"}, {"gpu_type": "H100"}, None),
    ({"gpu_type": "A100|H100"}, {"gpu_type": "V100"}, "GPU type"),
    ({"gpu_type": "V100", "gpu_types": ["A100"]}, {"gpu_type": "A100"}, None),
    ({"gpu_type": "V100", "gpu_types": ["A100"]}, {"gpu_type": "V100"}, "GPU type"),
    (RATES, {"gpu_type": "A100"}, None),
    (RATES, {"gpu_type": "K80"}, "GPU type"),
    (RATES, {}, "GPU type"),
    (RATES | {"gpu_types": ["V100", "K80"]}, {"gpu_type": "A100"}, "GPU type"),
    (RATES | {"gpu_types": ["V100", "K80"]}, {"gpu_type": "K80"}, "GPU type"),
    ({"partition": "a"}, {}, None),
    ({}, {"partitions": ["b"]}, None),
    ({"partition": "a"}, {"partitions": ["b"]}, "partition"),
    ({"partition": "a, b"}, {"partitions": ["b", "c"]}, None),
    ({"features": ["nvlink"]}, {}, "features"),
    ({"features": ["nvlink", "ib"]}, {"features": ["nvlink"]}, "features"),
    ({"features": ["nvlink"]}, {"features": ["ib", "nvlink"]}, None),
    ({"regions": ["eu"]}, {"region": "us"}, "region"),
    ({"regions": ["eu", "us"]}, {"region": "us"}, None),
    ({"regions": ["eu"]}, {}, None),
    ({"clusters": ["c1"]}, {"cluster": "c2"}, "cluster"),
    ({"server_gpus": 8}, {}, "GPUs of a server"),
    ({"gpus": 8}, {}, None),
    ({"server_cpus": 32}, {"cpus": 16}, "CPUs of a server"),
    ({"server_cpus": 32}, {}, None),
    ({"server_memory": 100.5}, {"memory": 100}, "GB of a server"),
    ({}, {"pool": "loan"}, "pool"),
    ({"fungible": True}, {"pool": "loan"}, None),
]


@pytest.mark.parametrize(("job", "server", "what"), CASES)
def test_what_job_and_server_state(
    job: dict[str, object], server: dict[str, object], what: str | None
) -> None:
    """Each property restricts if both state it; the reason names it."""
    reason = obstacle(_job(**job), _server(**server))
    assert (reason and reason.what) == what
    assert eligible(_job(**job), _server(**server)) == (what is None)


def test_gpu_types_without_a_rate_are_refused() -> None:
    """A job cannot accept only types on which its speed is not known."""
    with pytest.raises(Exception, match="gpu_types"):
        _job(**RATES, gpu_types=["H100"])


def test_a_uniform_cluster_has_one_class_of_each() -> None:
    """What the jobs state does not count where no server states it."""
    jobs = [
        {"id": f"j{i}", "submit": 0, "gpus": 1, "work": 1, "partition": f"p{i}", "gpu_type": "a"}
        for i in range(5)
    ]
    workload = Workload.parse({"name": "w", "jobs": jobs}, "w")
    where = eligibility(workload, Cluster.uniform(4, 8))
    assert where.table.tolist() == [[True]]
    assert where.everywhere
    assert where.by_class(Cluster.uniform(4, 8).order[2]).tolist() == [32]


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Workload, Cluster]:
    names = st.sampled_from(["a", "b", "c"])
    several = st.lists(names, max_size=2, unique=True)
    servers = [
        {
            "id": f"s{i}",
            "gpus": draw(st.integers(1, 4)),
            "gpu_type": draw(st.none() | names),
            "partitions": draw(several),
            "features": draw(several),
            "region": draw(st.none() | names),
        }
        for i in range(draw(st.integers(1, 5)))
    ]
    jobs = [
        {
            "id": f"j{j}",
            "submit": 0,
            "work": 1,
            "gpus": draw(st.integers(1, 6)),
            "gpu_type": "|".join(draw(several)) or None,
            "partition": ",".join(draw(several)) or None,
            "features": draw(st.lists(names, max_size=1)),
            "regions": draw(several),
        }
        for j in range(draw(st.integers(1, 6)))
    ]
    return Workload.parse({"name": "w", "jobs": jobs}, "w"), Cluster.parse(
        {"servers": servers}, "c"
    )


@settings(max_examples=60, deadline=None)
@given(_cases())
def test_classes_say_what_the_function_says(case: tuple[Workload, Cluster]) -> None:
    """The table of classes is that of all pairs; components divide the job classes."""
    workload, cluster = case
    where = eligibility(workload, cluster)
    pairs = np.array([[eligible(j, s) for s in cluster.servers] for j in workload.jobs])
    assert (where.servers[where.of_job] == pairs).all()
    assert len(np.unique(where.table, axis=0)) == len(where.table)
    assert len(np.unique(where.table.T, axis=0)) == where.table.shape[1]
    of = np.full(len(where.table), -1)
    for number, (jobs, servers) in enumerate(where.components):
        assert (of[jobs] == -1).all()
        of[jobs] = number
        assert not np.delete(where.table[jobs], servers, axis=1).any()
        assert not np.delete(where.table, jobs, axis=0)[:, servers].any()
    assert (of >= 0).all()
    sizes = cluster.order[2]
    fits = all(sizes[row].sum() >= j.gpus for j, row in zip(workload.jobs, pairs, strict=True))
    if fits:
        require_places(workload, cluster, where)
    else:
        with pytest.raises(OptionError, match="job j"):
            require_places(workload, cluster, where)


def test_the_message_names_job_property_and_what_there_is() -> None:
    """A job that no server is for."""
    job = {"id": "x", "submit": 0, "gpus": 2, "work": 1, "gpu_type": "A100"}
    workload = Workload.parse({"name": "w", "jobs": [job]}, "w")
    cluster = Cluster.of([{"gpus": 8, "gpu_type": "V100"}, {"gpus": 8, "gpu_type": "T4"}])
    with pytest.raises(OptionError, match=r"job x needs 2 GPUs.*A100.*V100; T4"):
        require_places(workload, cluster, eligibility(workload, cluster))


def typed_case(seed: int, policy: str) -> tuple[Workload, Cluster]:
    """Return random jobs that a policy can take, on servers of types, partitions and features.

    Two of three clusters have outages, and some jobs of these are withdrawn.
    """
    rng = random.Random(seed)
    kinds = ["x", "y", "z"][: rng.randint(1, 3)]
    size = rng.choice([2, 4])
    servers = [
        {
            "id": f"s{i}",
            "gpus": size,
            "cpus": 3 * size,
            "memory": 10 * size,
            "gpu_type": rng.choice(kinds),
            "partitions": rng.choice([[], ["p"], ["p", "q"]]),
            "features": rng.choice([[], ["f"]]),
        }
        for i in range(rng.randint(2, 5))
    ]
    away = []
    for server in servers if seed % 3 else ():
        start = rng.choice([0, 3, 50, 400])
        away.append({"server": server["id"], "start": start, "end": start + rng.choice([1, 500])})
    cluster = Cluster.parse({"servers": servers, "away": away}, "random")
    rated = policy in ("hadare", "forked") or rng.random() < 0.4
    jobs: list[dict[str, Any]] = []
    for i in range(rng.randint(3, 9)):
        submit = rng.choice([0, 0, 5, 300]) + (jobs[-1]["submit"] if jobs else 0)
        row: dict[str, Any] = {
            "id": f"j{i}",
            "submit": submit,
            "gpus": rng.choice([1, 1, 2]),
            "work": rng.choice([5, 50, 1000.5]),
            "restart": rng.choice([0, 7]),
            "checkpoints": rng.random() < 0.8,
            "stages": [1, rng.choice([1, 3]), 1, 1],
            "start": submit + rng.choice([0, 100]),
            "profile": "m",
            "iterations": 100,
            "iteration_time": 1,
        }
        accepted = rng.sample(kinds, rng.randint(1, len(kinds)))
        if rated:
            row |= {"rates": {k: rng.choice([1, 2]) for k in accepted}, "gpu_type": accepted[0]}
        elif rng.random() < 0.7:
            row["gpu_type"] = "|".join(accepted)
        row |= {"partition": rng.choice(["p", "q,p"])} if rng.random() < 0.5 else {}
        row |= {"features": ["f"]} if rng.random() < 0.2 else {}
        row |= {"cancelled": submit + rng.choice([0, 60])} if away and rng.random() < 0.2 else {}
        (job,) = Workload.parse({"name": "w", "jobs": [row | {"profile": None}]}, "w").jobs
        if max((s.gpus for s in cluster.servers if eligible(job, s)), default=0) >= row["gpus"]:
            jobs.append(row)
    matrix = {"cpus": [1, 2, 3], "memory": [10], "throughput": [[1], [2], [3]], "share": [3, 10]}
    if not jobs:
        return typed_case(seed + 1000, policy)
    return Workload.parse({"name": "w", "jobs": jobs, "matrices": {"m": matrix}}, "w"), cluster


MANY = pytest.param(range(1000, 1500), marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [range(6), MANY])
@pytest.mark.parametrize("policy", list_policies())
def test_every_policy_keeps_to_where_jobs_may_run(policy: str, seeds: Iterable[int]) -> None:
    """No job is elsewhere, the audit is clean, and who is not complete was withdrawn."""
    for seed in seeds:
        workload, cluster = typed_case(seed, policy)
        run = audited(workload, cluster, policy, seed=seed)
        for job, shares in run.log.database.execute("SELECT job, shares FROM segments"):
            for server, *_ in json.loads(shares):
                assert eligible(workload.jobs[job], cluster.by_id[server])
        incomplete = run.jobs["id"][run.jobs["end"].isna()].tolist()
        assert all(workload.by_id[name].cancelled is not None for name in incomplete)
        kept = audited(workload, cluster, without_preemption(make_policy(policy)), seed=seed)
        outages = len(cluster.away)
        assert kept.summary.get("preemptions", 0) == 0 or outages
        assert not kept.rounds["preempted"].any()


def test_a_policy_that_knows_of_no_classes_is_refused_by_name() -> None:
    """A policy of one's own starts a job where it may not run."""
    workload = by_hand({"gpu_type": "x"})
    cluster = Cluster.of([{"gpus": 1, "gpu_type": "y"}, {"gpus": 1, "gpu_type": "x"}])
    script = {0: Decision({"a": on(("s1", 1))})}
    with pytest.raises(PolicyError, match="job a may not run on server s1 by its GPU type: it acc"):
        simulate(workload, cluster, Scripted(script))
    audited(workload, cluster, Scripted({0: Decision({"a": on(("s2", 1))})}))


AWAY = {"servers": [{"id": "s1", "gpus": 1}, {"id": "s2", "gpus": 1}]}
REFUSED = [
    ({"server": "s3", "start": 0, "end": 1}, "name a server"),
    ({"server": "s1", "start": 2, "end": 2}, "not after start"),
    ({"server": "s1", "start": 4, "end": 9}, "sort by time"),
]


@pytest.mark.parametrize(("interval", "problem"), REFUSED)
def test_intervals_that_cannot_be(interval: dict[str, Any], problem: str) -> None:
    """Of a server that is not there, without length, or within another one."""
    before = {"server": "s1", "start": 0, "end": 5}
    with pytest.raises(InstanceError, match=problem):
        Cluster.parse(AWAY | {"away": [before, interval]}, "c")


def test_changed_logs_of_outages_and_withdrawals() -> None:
    """The audit knows the intervals and the moments."""
    cluster = Cluster.parse(AWAY | {"away": [{"server": "s1", "start": 4, "end": 12}]}, "c")
    run = audited(by_hand({}, {"work": 20}, {"submit": 3, "cancelled": 5}), cluster, "fifo")

    def kinds(*statements: str) -> set[str]:
        return {violation.kind for violation in changed(run, *statements).audit().violations}

    assert "away" in kinds("DELETE FROM loans")
    assert "away" in kinds("UPDATE loans SET time = time + 1")
    assert "not_lent" in kinds("UPDATE segments SET end = end + 1000000 WHERE ending = 'preempted'")
    assert kinds("INSERT INTO completions VALUES (2, 5000000)")
    header = json.dumps(run.meta["workload"] | {"jobs": [
        job | ({"cancelled": 3} if job["id"] == "a" else {}) for job in run.meta["workload"]["jobs"]
    ]})  # fmt: skip
    found = changed(
        run, "UPDATE meta SET value = ? WHERE key = 'workload'", values=[header]
    ).audit()
    assert {violation.kind for violation in found.violations} == {"cause"}


def test_a_simulation_with_outages_goes_on_after_an_interruption(tmp_path: Path) -> None:
    """With the servers that are away then."""
    workload, cluster = typed_case(1, "las")
    whole = simulate(workload, cluster, "las")

    class Stopped(type(make_policy("las"))):  # type: ignore[misc]
        def decide(self, state: State) -> Decision:
            if state.number == 2:
                raise KeyboardInterrupt
            return super().decide(state)

    log = tmp_path / "log.sqlite"
    with pytest.raises(KeyboardInterrupt):
        simulate(workload, cluster, Stopped(), log=log)
    again = simulate(workload, cluster, make_policy("las"), log=log, resume=True)
    assert tables(again) == tables(whole)
