"""Where jobs run: every policy on clusters with types, partitions and outages."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from simulation_cases import Scripted, audited, by_hand, changed, on, tables

from dlsched import DlschedError
from dlsched.simulation import (
    Cluster,
    Decision,
    PolicyError,
    State,
    Workload,
    eligible,
    list_policies,
    make_policy,
    simulate,
)


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
    rated = policy == "hadare" or rng.random() < 0.4
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
        row |= {"max_gpus": row["gpus"] + rng.randint(1, 3)} if rng.random() < 0.3 else {}
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


def test_elastic_jobs_grow_where_they_become_faster() -> None:
    """Two jobs would grow onto the same GPUs, of a type that makes one of them slower."""
    cluster = Cluster.of([{"gpus": 4, "gpu_type": kind} for kind in "xyx"])
    rated = {"rates": {"x": 3, "y": 1}, "gpu_type": "x"}
    workload = by_hand(
        rated | {"submit": 60, "gpus": 2, "work": 300},
        rated | {"submit": 60, "gpus": 3, "work": 360, "max_gpus": 5},
        {"submit": 180, "work": 540, "max_gpus": 2},
        {"submit": 240, "gpus": 3, "work": 660, "max_gpus": 4},
        rated | {"submit": 240, "gpus": 2, "work": 240, "max_gpus": 4},
    )
    audited(workload, cluster, "lyra")


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
    with pytest.raises(DlschedError, match=problem):
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

    class Stopped(type(make_policy("las"))):
        def decide(self, state: State) -> Decision:
            if state.number == 2:
                raise KeyboardInterrupt
            return super().decide(state)

    log = tmp_path / "log.sqlite"
    with pytest.raises(KeyboardInterrupt):
        simulate(workload, cluster, Stopped(), log=log)
    again = simulate(workload, cluster, make_policy("las"), log=log, resume=True)
    assert tables(again) == tables(whole)


def test_a_simulation_in_which_nothing_is_decided_is_clean() -> None:
    """The only job is withdrawn before the first round: its log has no rows."""
    run = audited(by_hand({"submit": 100, "cancelled": 150}), Cluster.uniform(1, 1), "las")
    assert not any(run.log.rows(table) for table in ("segments", "decisions", "completions"))
