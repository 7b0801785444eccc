"""Lyra and its baselines: small simulations worked out by hand, random ones audited."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from simulation_cases import ends_by_id

import dlsched
from dlsched import OptionError, UnknownName
from dlsched.problems.elastic import Instance
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.engine.engine import Engine
from dlsched.simulation.log import COMPARED, Log
from dlsched.simulation.policies import make_policy
from dlsched.simulation.policies.lyra_baselines import most_goodput


def workload(*jobs: dict[str, Any]) -> Workload:
    """Return jobs submitted at 0 unless stated, without checkpoints, as the paper has them."""
    rows = [{"submit": 0, "restart": 63, "checkpoints": False} | job for job in jobs]
    return Workload.parse({"name": "hand", "jobs": rows}, "the test")


def cluster(loan: int = 0, loans: dict[int, int] | None = None, training: int = 1) -> Cluster:
    """Return training servers t1, ... of 8 GPUs, and loan servers i1, ... of 4."""
    servers = [{"id": f"t{i + 1}", "gpus": 8} for i in range(training)]
    servers += [{"id": f"i{i + 1}", "gpus": 4, "pool": "loan"} for i in range(loan)]
    schedule = [{"time": t, "servers": n} for t, n in (loans or {}).items()]
    return Cluster.parse({"servers": servers, "loans": schedule}, "the test")


def reclaims(run: Simulation) -> list[dict[str, Any]]:
    """Return what the log has on each reclaim."""
    solved = [json.loads(text) for text in run.rounds["solved"]]
    return [row["reclaiming"] for row in solved if "reclaiming" in row]


ON_LOAN = {"id": "f", "gpus": 4, "work": 1000, "fungible": True, "gpus_per_worker": 4}
FIRST = {"id": "first", "gpus": 8, "work": 960, "gpus_per_worker": 8}


@pytest.mark.parametrize("option", ["method", "elastic", "workers"])
def test_an_unknown_method_is_refused_before_it_is_needed(option: str) -> None:
    """A wrong name is an error although no round solves its problem."""
    with pytest.raises(UnknownName, match="no method for"):
        simulate(workload(FIRST), cluster(), "lyra", **{option: "nonsense"})


def test_a_retry_gives_others_the_gpus_of_a_job_without_a_place() -> None:
    """Two free GPUs on each of two servers hold no worker of four; two small jobs get them.

    Without a retry they wait until the busy jobs end at 1000 s, for the round at 1020 s.
    """
    busy = [{"id": f"b{i}", "gpus": 6, "gpus_per_worker": 6, "work": 1000} for i in range(2)]
    wide = {"id": "wide", "gpus": 4, "gpus_per_worker": 4, "work": 60, "submit": 60}
    small = [{"id": f"s{i}", "gpus": 2, "work": 500, "submit": 60} for i in range(2)]
    jobs = workload(*busy, wide, *({"gpus_per_worker": 2} | row for row in small))
    starts = {
        retries: simulate(jobs, cluster(training=2), "lyra", retries=retries).jobs["queueing"]
        for retries in (0, 1)
    }
    assert starts[0][3:].tolist() == [1020 - 60, 1020 - 60]
    assert starts[1][3:].tolist() == [0, 0]


def test_retries_below_zero_are_refused() -> None:
    """A number of repetitions is a count."""
    with pytest.raises(OptionError, match="retries=-1 must be from 0"):
        simulate(workload(FIRST), cluster(), "lyra", retries=-1)


def test_nothing_is_solved_where_nothing_can_change() -> None:
    """When the other job ends, the elastic one has all its workers and nobody waits."""
    solved: list[int] = []

    def counted(instance: Instance, rng: np.random.Generator) -> Any:
        solved.append(len(instance.jobs))
        return dlsched.solve(instance, "lyra").solution

    jobs = workload(
        {"id": "e", "gpus": 2, "min_gpus": 2, "max_gpus": 4, "work": 1000},
        {"id": "a", "gpus": 2, "work": 100},
    )
    assert ends_by_id(simulate(jobs, cluster(), "lyra", elastic=counted)) == {"a": 100, "e": 500}
    assert solved == [2]


def test_shortest_job_first() -> None:
    """The two short jobs go before the long one that was submitted first; rounds are minutes."""
    jobs = workload(
        {"id": "a", "gpus": 8, "work": 100},
        {"id": "b", "gpus": 4, "work": 50},
        {"id": "c", "gpus": 4, "work": 60},
    )
    assert ends_by_id(simulate(jobs, cluster(), "lyra")) == {"a": 160, "b": 50, "c": 60}


def test_wrong_estimates_change_the_order() -> None:
    """The scheduler goes by the estimate; the job runs as long as it does."""
    jobs = workload(
        {"id": "a", "gpus": 8, "work": 60, "estimate": 300}, {"id": "b", "gpus": 8, "work": 120}
    )
    assert ends_by_id(simulate(jobs, cluster(), "lyra")) == {"a": 180, "b": 120}


@pytest.mark.parametrize(("checkpoints", "expected"), [(False, 2023), (True, 1423)])
def test_a_preempted_job_begins_anew(checkpoints: bool, expected: int) -> None:
    """The loan ends at 600; the job starts again at 960, with 63 s of overhead."""
    jobs = workload(FIRST, ON_LOAN | {"checkpoints": checkpoints})
    run = simulate(jobs, cluster(2, {0: 2, 600: 0}), "lyra")
    assert ends_by_id(run) == {"first": 960, "f": expected}
    (found,) = reclaims(run)
    assert (found["empty"], found["chosen"], found["preempted"], found["on_loan"]) == (1, 1, 1, 1)
    assert found["status"] == "feasible"


def test_a_preempted_job_is_first() -> None:
    """It starts before a shorter job that needs the whole server."""
    short = {"id": "short", "gpus": 8, "work": 10, "submit": 700}
    run = simulate(workload(FIRST, ON_LOAN, short), cluster(2, {0: 2, 600: 0}), "lyra")
    assert ends_by_id(run) == {"first": 960, "f": 2023, "short": 2050}


def test_empty_and_flexible_servers_go_first() -> None:
    """Of three servers the empty one and that of flexible workers go; nobody is preempted."""
    job = {"id": "e", "gpus": 4, "max_gpus": 8, "min_gpus": 4, "work": 4000, "gpus_per_worker": 2}
    run = simulate(workload(job | {"fungible": True}), cluster(3, {0: 3, 300: 1}), "lyra")
    assert ends_by_id(run) == {"e": 3700}
    (found,) = reclaims(run)
    assert (found["empty"], found["flexible"], found["chosen"]) == (1, 1, 0)
    assert found["scaled_in"] == 1
    gone = [server for time, server, lent in run.log.rows("loans") if not lent]
    assert set(gone) == {"i2", "i3"}


def test_the_knapsack_on_the_jobs_of_table_3() -> None:
    """With 5 and 3 of 8 GPUs they save 90 and 20 s, the most; then A has 6 for its last 50 s."""
    jobs = workload(
        {"id": "A", "gpus": 2, "min_gpus": 2, "max_gpus": 6, "work": 150},
        {"id": "B", "gpus": 2, "min_gpus": 2, "max_gpus": 6, "work": 60},
    )
    found = ends_by_id(simulate(jobs, cluster(), "lyra", interval=1))
    assert found == pytest.approx({"A": 40 + 50 / 3, "B": 40})


def test_both_pools_at_70_percent() -> None:
    """A heterogeneous job of 12 GPUs on 8 and 4 of them runs at 0.7 of its speed."""
    job = {"id": "h", "gpus": 12, "gpus_per_worker": 4, "work": 700}
    jobs = workload(job | {"heterogeneous": True, "mixed_efficiency": 0.7})
    assert ends_by_id(simulate(jobs, cluster(2, {0: 2}), "lyra")) == {"h": 1000}


def test_both_pools_only_if_that_is_faster() -> None:
    """Four more GPUs on loan would make 0.7 x 12 of 8 GPUs, and do; two would not, and do not."""
    job = {"id": "h", "gpus": 8, "min_gpus": 8, "gpus_per_worker": 2, "work": 1050,
           "heterogeneous": True, "mixed_efficiency": 0.7}  # fmt: skip
    more = simulate(workload(job | {"max_gpus": 12}), cluster(1, {0: 1}), "lyra")
    assert ends_by_id(more) == {"h": 1000}
    less = simulate(workload(job | {"max_gpus": 10}), cluster(1, {0: 1}), "lyra")
    assert ends_by_id(less) == {"h": 1050}


def test_a_loss_of_20_percent() -> None:
    """Four added GPUs count for 3.2, so that the job is 1.8 times as fast."""
    job = {"id": "e", "gpus": 4, "min_gpus": 4, "max_gpus": 8, "work": 1800, "scaling_loss": 0.2}
    assert ends_by_id(simulate(workload(job), cluster(), "lyra")) == {"e": 1000}


def test_scaling_keeps_the_rest_of_an_overhead() -> None:
    """A job that shrinks within its 63 s of overhead has the rest of it before it goes on.

    It is preempted at 600 and starts again at 660, where it gets 8 GPUs; at 720 a job needs 4 of
    them. So it goes on at 723, with 4 GPUs until 780 and with 8 from then on.
    """
    job = {"id": "e", "gpus": 4, "min_gpus": 4, "max_gpus": 8, "work": 2000, "fungible": True,
           "gpus_per_worker": 4}  # fmt: skip
    late = {"id": "x", "gpus": 4, "work": 60, "submit": 720}
    run = simulate(workload(job, late), cluster(1, {0: 1, 600: 0}), "lyra")
    assert ends_by_id(run) == {"e": 780 + (2000 - 57) / 2, "x": 780}


def test_opportunistic_jobs_wait_for_inference_servers() -> None:
    """The job is killed at 600 and starts anew at 900, though the training server is idle."""
    run = simulate(workload(ON_LOAN), cluster(1, {0: 1, 600: 0, 900: 1}), "opportunistic")
    assert ends_by_id(run) == {"f": 900 + 63 + 1000}


def test_opportunistic_jobs_go_to_training_after_three_kills() -> None:
    """A job that no loan is long enough for ends all the same."""
    times = {t: int(t % 1200 == 0) for t in range(0, 12_000, 600)}
    run = simulate(workload(ON_LOAN), cluster(1, times), "opportunistic")
    assert ends_by_id(run) == {"f": 3060 + 63 + 1000}
    assert run.summary["preemptions"] == 3


def test_opportunistic_in_lyras_order() -> None:
    """Two jobs of 5 GPUs and one of 2: the shorter ones start, strict order starts the first."""
    rows = (("long", 5, 1000), ("short", 5, 600), ("small", 2, 2000))
    jobs = workload(*({"id": name, "gpus": gpus, "work": work} for name, gpus, work in rows))
    strict = ends_by_id(simulate(jobs, cluster(), "opportunistic"))
    assert strict == {"long": 1000, "short": 1020 + 600, "small": 1020 + 2000}
    shortest = ends_by_id(simulate(jobs, cluster(), make_policy("opportunistic", order="shortest")))
    assert shortest == {"short": 600, "small": 2000, "long": 600 + 1000}
    with pytest.raises(OptionError, match="order='longest'"):
        make_policy("opportunistic", order="longest")


def test_gandiva_grows_while_nobody_waits() -> None:
    """The job has 6 GPUs, 4 beside the one that comes at 60, and 6 again from 120 on."""
    jobs = workload(
        {"id": "e", "gpus": 2, "min_gpus": 2, "max_gpus": 6, "gpus_per_worker": 2, "work": 600},
        {"id": "x", "gpus": 4, "work": 60, "submit": 60},
    )
    assert ends_by_id(simulate(jobs, cluster(), "gandiva")) == {"e": 220, "x": 120}


def elastic_instance(**changes: Any) -> Instance:
    """Return an epoch of 8 GPUs: a small job that runs, a large one that waits."""
    jobs = [
        {"id": "small", "gpus_per_worker": 1, "min_workers": 1, "max_workers": 4,
         "min_running_time": 10, "running": True},
        {"id": "large", "gpus_per_worker": 1, "min_workers": 8, "max_workers": 8,
         "min_running_time": 10},
    ]  # fmt: skip
    data = {"dlsched": 1, "problem": "elastic", "name": "hand", "capacity": 8, "jobs": jobs}
    return Instance.parse(data | changes, "the test")


def test_most_goodput_lets_large_jobs_wait() -> None:
    """A small job's growth brings more goodput per GPU than a large one's start."""
    rng = np.random.default_rng(0)
    assert most_goodput(elastic_instance(), rng).workers == {"small": 4}
    pools = [{"id": "training", "capacity": 8, "speed": 1}, {"id": "loan", "capacity": 0,
             "speed": 1}]  # fmt: skip
    with pytest.raises(OptionError, match="without a loan"):
        most_goodput(elastic_instance(pools=pools, capacity=None), rng)


def random_jobs(kind: str, count: int = 20) -> Workload:
    """Return small jobs of all kinds that come within half an hour, most of them fungible."""
    rng = random.Random(7)
    rows = []
    for i in range(count):
        gpus = rng.choice([1, 2, 2, 4, 8])
        row: dict[str, Any] = {
            "id": f"j{i}",
            "submit": rng.randint(0, 1800),
            "gpus": gpus,
            "work": round(rng.uniform(10, 1500), 3),
            "gpus_per_worker": rng.choice([g for g in (1, 2, 4) if gpus % g == 0]),
            "fungible": rng.random() < 0.7,
            "checkpoints": rng.random() < 0.5,
        }
        if rng.random() < 0.5:
            row |= {"min_gpus": gpus, "max_gpus": 2 * gpus, "scaling_loss": rng.choice([0, 0.2])}
        if kind == "mixed" and rng.random() < 0.5:
            row |= {"heterogeneous": True, "mixed_efficiency": 0.7}
        if rng.random() < 0.3:
            row["estimate"] = row["work"] * rng.uniform(0.75, 1.25)
        rows.append(row)
    return workload(*rows)


def random_loans() -> dict[int, int]:
    """Return a loan of up to six servers that changes every five minutes."""
    rng = random.Random(8)
    return {t: rng.randint(0, 6) for t in range(0, 9000, 300)}


CASES = [
    ("lyra", "fungible", {}),
    ("lyra", "mixed", {"method": "random"}),
    ("lyra", "mixed", {"method": "scf", "workers": "bases_first", "interval": 97.5}),
    ("lyra", "mixed", {"workers": "naive_bfd"}),
    ("lyra", "fungible", {"method": "exact", "elastic": "exact"}),
    ("opportunistic", "fungible", {}),
    ("gandiva", "fungible", {}),
    ("afs", "mixed", {}),
]


@pytest.mark.parametrize(("policy", "kind", "options"), CASES)
def test_simulations_pass_the_audit(policy: str, kind: str, options: dict[str, Any]) -> None:
    """A full cluster with a changing loan: jobs are preempted, all end, the log is consistent."""
    jobs = random_jobs(kind)
    run = simulate(jobs, cluster(6, random_loans(), training=2), policy, **options)
    ends_by_id(run)
    assert run.summary["completed"] == len(jobs.jobs)
    assert run.summary["preemptions"] == sum(r["preempted"] for r in reclaims(run))
    assert (run.summary["preemptions"] > 0) == (policy != "gandiva")


def test_pollux_without_a_loan_passes_the_audit() -> None:
    """A full cluster of training servers."""
    ends_by_id(simulate(random_jobs("fungible"), cluster(training=2), "pollux"))


def test_going_on_after_an_interruption() -> None:
    """A simulation that goes on from its state as JSON has the log of one that never stopped."""
    jobs, servers = random_jobs("mixed"), cluster(6, random_loans(), training=2)
    whole = simulate(jobs, servers, "lyra")
    log = Log()
    log.begin(whole.meta)
    engine = Engine(jobs, servers, make_policy("lyra"), log)
    while engine.completed < len(jobs.jobs) // 2:
        engine._step()
    text = json.dumps(engine.to_data())
    again = Engine(jobs, servers, make_policy("lyra"), log)
    again.restore(json.loads(text))
    again.run()
    for table in COMPARED:
        assert log.rows(table) == whole.log.rows(table)
