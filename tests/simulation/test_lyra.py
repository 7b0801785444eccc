"""Lyra and its baselines: small simulations worked out by hand, random ones audited."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import ends_by_id

import dlsched
from dlsched import OptionError, UnknownName
from dlsched.problems.elastic import Instance
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.workload.generators import lyra_cluster, lyra_workload

Row = dict[str, Any]


def workload(*jobs: Row) -> Workload:
    """Return jobs submitted at 0 unless stated, without checkpoints, as the paper has them."""
    rows = [{"submit": 0, "restart": 63, "checkpoints": False} | job for job in jobs]
    return Workload.parse({"name": "hand", "jobs": rows}, "the test")


def cluster(
    loan: int = 0, loans: dict[int, int] | None = None, training: int = 1, typed: bool = False
) -> Cluster:
    """Return training servers t1, ... of 8 GPUs (V100), and loan servers i1, ... of 4 (T4)."""
    own, lent = ({"gpu_type": kind} if typed else {} for kind in ("V100", "T4"))
    servers: list[Row] = [own | {"id": f"t{i + 1}", "gpus": 8} for i in range(training)]
    servers += [lent | {"id": f"i{i + 1}", "gpus": 4, "pool": "loan"} for i in range(loan)]
    schedule = [{"time": t, "servers": n} for t, n in (loans or {0: loan}).items()]
    return Cluster.parse({"servers": servers, "loans": schedule}, "the test")


def reclaims(run: Simulation) -> list[Row]:
    """Return what the log has on each reclaim."""
    solved = [json.loads(text) for text in run.rounds["solved"]]
    return [row["reclaiming"] for row in solved if "reclaiming" in row]


ON_LOAN = {"id": "f", "gpus": 4, "work": 1000, "fungible": True, "gpus_per_worker": 4}
FIRST = {"id": "first", "gpus": 8, "work": 960, "gpus_per_worker": 8}
ENDING = cluster(2, {0: 2, 600: 0})
"""A loan of two servers that ends at 600 s."""
ELASTIC = {"gpus": 4, "min_gpus": 4, "max_gpus": 8}
HETEROGENEOUS = {"id": "h", "heterogeneous": True, "mixed_efficiency": 0.7}
GROWING = HETEROGENEOUS | {"gpus": 8, "min_gpus": 8, "gpus_per_worker": 2, "work": 1050}
TYPED = {"gpu_type": "V100", "rates": {"V100": 1, "T4": Fraction(1, 2)}}
"""A job whose GPUs on loan are half as fast."""
MIXED_WORKERS: Row = {"gpus": 4, "heterogeneous": True, "submit": 60}
KILLS = {t: int(t % 1200 == 0) for t in range(0, 12_000, 600)}

BY_HAND: dict[str, tuple[str, Row, Workload, Cluster, dict[str, float]]] = {
    # Rounds are minutes: a starts at 60.
    "the shortest job first": (
        "lyra", {}, workload({"id": "a", "gpus": 8, "work": 100},
                             {"id": "b", "gpus": 4, "work": 50}, {"id": "c", "gpus": 4, "work": 60}),
        cluster(), {"a": 160, "b": 50, "c": 60}),
    "the order goes by the estimate, the job runs as long as it does": (
        "lyra", {}, workload({"id": "a", "gpus": 8, "work": 60, "estimate": 300},
                             {"id": "b", "gpus": 8, "work": 120}),
        cluster(), {"a": 180, "b": 120}),
    # The loan ends at 600; f starts again at 960, with 63 s of overhead.
    "a preempted job begins anew": (
        "lyra", {}, workload(FIRST, ON_LOAN), ENDING, {"first": 960, "f": 2023}),
    "a preempted job with checkpoints goes on": (
        "lyra", {}, workload(FIRST, ON_LOAN | {"checkpoints": True}), ENDING,
        {"first": 960, "f": 1423}),
    "a preempted job is first": (
        "lyra", {}, workload(FIRST, ON_LOAN, {"id": "x", "gpus": 8, "work": 10, "submit": 700}),
        ENDING, {"first": 960, "f": 2023, "x": 2050}),
    # With 5 and 3 of 8 GPUs they save 90 and 20 s, the most; then A has 6 for its last 50 s.
    "the knapsack on the jobs of table 3": (
        "lyra", {"interval": 1},
        workload({"id": "A", "gpus": 2, "min_gpus": 2, "max_gpus": 6, "work": 150},
                 {"id": "B", "gpus": 2, "min_gpus": 2, "max_gpus": 6, "work": 60}),
        cluster(), {"A": 40 + 50 / 3, "B": 40}),
    "12 GPUs on 8 and 4 of both pools run at 0.7 of their speed": (
        "lyra", {}, workload(HETEROGENEOUS | {"gpus": 12, "gpus_per_worker": 4, "work": 700}),
        cluster(2), {"h": 1000}),
    # 0.7 x 12 is more than 8, 0.7 x 10 is not.
    "both pools if that is faster": (
        "lyra", {}, workload(GROWING | {"max_gpus": 12}), cluster(1), {"h": 1000}),
    "one pool if that is faster": (
        "lyra", {}, workload(GROWING | {"max_gpus": 10}), cluster(1), {"h": 1050}),
    "four added GPUs with a loss of 20 % count for 3.2": (
        "lyra", {}, workload(ELASTIC | {"id": "e", "work": 1800, "scaling_loss": 0.2}), cluster(),
        {"e": 1000}),
    # e is preempted at 600, starts again at 660 with 8 GPUs; at 720 x needs 4 of them. So it goes
    # on at 723, with 4 GPUs until 780 and with 8 from then on.
    "scaling keeps the rest of an overhead": (
        "lyra", {},
        workload(ELASTIC | {"id": "e", "work": 2000, "fungible": True, "gpus_per_worker": 4},
                 {"id": "x", "gpus": 4, "work": 60, "submit": 720}),
        cluster(1, {0: 1, 600: 0}), {"e": 780 + (2000 - 57) / 2, "x": 780}),
    "the busy job leaves training full, the fungible one takes twice as long on loan": (
        "lyra", {}, workload(TYPED | {"id": "busy", "gpus": 8, "work": 60},
                             TYPED | {"id": "f", "gpus": 4, "work": 100, "fungible": True}),
        cluster(1, typed=True), {"busy": 60, "f": 200}),
    # 8 GPUs of speed 1 and 4 of 1/2 do at 70 % the work of 7 of the 12 asked for.
    "the speeds of both pools add up": (
        "lyra", {}, workload(TYPED | HETEROGENEOUS | {"gpus": 12, "work": 70}),
        cluster(1, typed=True), {"h": 120}),
    # Two GPUs of each pool hold two workers of two GPUs, but none of four of a shorter job.
    "large workers hold back no job of small ones": (
        "lyra", {}, workload({"id": "busy", "gpus": 6, "gpus_per_worker": 2, "work": 600},
                             MIXED_WORKERS | {"id": "wide", "gpus_per_worker": 4, "work": 100},
                             MIXED_WORKERS | {"id": "narrow", "gpus_per_worker": 2, "work": 500}),
        Cluster.parse({"servers": [{"id": "t1", "gpus": 8}, {"id": "i1", "gpus": 2, "pool": "loan"}],
                       "loans": [{"time": 0, "servers": 1}]}, "the test"),
        {"busy": 600, "narrow": 560, "wide": 700}),
    # Killed at 600 it starts anew at 900, though the training server is idle.
    "opportunistic jobs wait for inference servers": (
        "opportunistic", {}, workload(ON_LOAN), cluster(1, {0: 1, 600: 0, 900: 1}),
        {"f": 900 + 63 + 1000}),
    "opportunistic jobs go to training after three kills": (
        "opportunistic", {}, workload(ON_LOAN), cluster(1, KILLS), {"f": 3060 + 63 + 1000}),
    # e has 6 GPUs, 4 beside x that comes at 60, and 6 again from 120 on.
    "gandiva grows while nobody waits": (
        "gandiva", {},
        workload({"id": "e", "gpus": 2, "min_gpus": 2, "max_gpus": 6, "gpus_per_worker": 2,
                  "work": 600}, {"id": "x", "gpus": 4, "work": 60, "submit": 60}),
        cluster(), {"e": 220, "x": 120}),
    # The growth of the small job brings more goodput per GPU than the start of the large one.
    "pollux lets large jobs wait": (
        "pollux", {}, workload({"id": "s", "gpus": 1, "min_gpus": 1, "max_gpus": 4, "work": 600},
                               {"id": "l", "gpus": 8, "work": 60, "submit": 60}),
        cluster(), {"s": 150, "l": 240}),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_simulations_by_hand(name: str) -> None:
    """Completion times are as computed, and the log passes the audit."""
    policy, options, jobs, servers, expected = BY_HAND[name]
    assert ends_by_id(simulate(jobs, servers, policy, **options)) == pytest.approx(expected)


@pytest.mark.parametrize("elastic", ["completion_rates", "dp"])
def test_no_method_of_the_elastic_jobs_lets_large_workers_hold_back_small_ones(
    elastic: str,
) -> None:
    """The same as by hand above."""
    _, _, jobs, servers, expected = BY_HAND["large workers hold back no job of small ones"]
    assert ends_by_id(simulate(jobs, servers, "lyra", elastic=elastic)) == expected


def test_opportunistic_in_lyras_order() -> None:
    """Two jobs of 5 GPUs and one of 2: the shorter ones start, strict order starts the first."""
    rows = (("long", 5, 1000), ("short", 5, 600), ("small", 2, 2000))
    jobs = workload(*({"id": name, "gpus": gpus, "work": work} for name, gpus, work in rows))
    strict = ends_by_id(simulate(jobs, cluster(), "opportunistic"))
    assert strict == {"long": 1000, "short": 1020 + 600, "small": 1020 + 2000}
    shortest = ends_by_id(simulate(jobs, cluster(), "opportunistic", order="shortest"))
    assert shortest == {"short": 600, "small": 2000, "long": 600 + 1000}


def test_a_retry_gives_others_the_gpus_of_a_job_without_a_place() -> None:
    """Two free GPUs on each of two servers hold no worker of four; two small jobs get them.

    Without a retry they wait until the busy jobs end at 1000 s, for the round at 1020 s.
    """
    busy = [{"id": f"b{i}", "gpus": 6, "gpus_per_worker": 6, "work": 1000} for i in range(2)]
    wide = {"id": "wide", "gpus": 4, "gpus_per_worker": 4, "work": 60, "submit": 60}
    small = [{"id": f"s{i}", "gpus": 2, "work": 500, "submit": 60} for i in range(2)]
    jobs = workload(*busy, wide, *({"gpus_per_worker": 2} | row for row in small))
    for retries, waits in ((0, 1020 - 60), (1, 0)):
        run = simulate(jobs, cluster(training=2), "lyra", retries=retries)
        assert run.jobs["queueing"][3:].tolist() == [waits, waits]


def test_what_is_reclaimed_is_in_the_log() -> None:
    """Empty servers go first, then those of flexible workers, then one whose job is preempted."""
    (found,) = reclaims(simulate(workload(FIRST, ON_LOAN), ENDING, "lyra"))
    expected = {"empty": 1, "chosen": 1, "preempted": 1, "on_loan": 1, "status": "feasible"}
    assert found == found | expected
    job = ELASTIC | {"id": "e", "work": 4000, "gpus_per_worker": 2, "fungible": True}
    run = simulate(workload(job), cluster(3, {0: 3, 300: 1}), "lyra")
    assert ends_by_id(run) == {"e": 3700}
    (found,) = reclaims(run)
    assert found == found | {"empty": 1, "flexible": 1, "chosen": 0, "scaled_in": 1}


def test_what_the_elastic_problem_is_asked() -> None:
    """Nothing where nothing can change; pools have their speeds, the loan's to 15 digits."""
    asked: list[Instance] = []

    def seen(instance: Instance, rng: np.random.Generator) -> Any:
        asked.append(instance)
        return dlsched.solve(instance, "lyra").solution

    jobs = workload({"id": "e", "gpus": 2, "min_gpus": 2, "max_gpus": 4, "work": 1000},
                    {"id": "a", "gpus": 2, "work": 100})  # fmt: skip
    # When a ends, e has all its workers and nobody waits.
    assert ends_by_id(simulate(jobs, cluster(), "lyra", elastic=seen)) == {"a": 100, "e": 500}
    assert [len(instance.jobs) for instance in asked] == [2]
    third = TYPED | {"rates": {"V100": 3, "T4": 1}}
    jobs = workload(third | {"id": "f", "gpus": 4, "work": 100, "fungible": True})
    simulate(jobs, cluster(1, typed=True), "lyra", elastic=seen)
    assert [pool.speed for pool in asked[-1].pools or ()] == [1, Fraction("0.333333333333333")]


def random_jobs(kind: str, count: int = 20) -> Workload:
    """Return small jobs of all kinds that come within half an hour, most of them fungible."""
    rng = random.Random(7)
    rows = []
    for i in range(count):
        gpus = rng.choice([1, 2, 2, 4, 8])
        row: Row = {
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
        if kind != "fungible" and rng.random() < 0.5:
            row |= {"heterogeneous": True, "mixed_efficiency": 0.7}
        if rng.random() < 0.3:
            row["estimate"] = row["work"] * rng.uniform(0.75, 1.25)
        rows.append(row | (TYPED if kind == "typed" else {}))
    return workload(*rows)


CASES: list[tuple[str, str, Row]] = [
    ("lyra", "fungible", {}),
    ("lyra", "mixed", {"method": "random"}),
    ("lyra", "mixed", {"method": "scf", "workers": "bases_first", "interval": 97.5}),
    ("lyra", "mixed", {"workers": "naive_bfd"}),
    ("lyra", "fungible", {"method": "exact", "elastic": "exact"}),
    ("lyra", "typed", {"elastic": "completion_rates"}),
    ("opportunistic", "fungible", {}),
    ("gandiva", "fungible", {}),
    ("afs", "mixed", {}),
]


@pytest.mark.parametrize(("policy", "kind", "options"), CASES)
def test_simulations_pass_the_audit(policy: str, kind: str, options: Row) -> None:
    """A full cluster with a changing loan: jobs are preempted, all end, the log is consistent."""
    rng = random.Random(8)
    loans = {t: rng.randint(0, 6) for t in range(0, 9000, 300)}
    servers = cluster(6, loans, training=2, typed=kind == "typed")
    run = simulate(random_jobs(kind), servers, policy, **options)
    ends_by_id(run)
    assert run.complete
    assert run.summary["preemptions"] == sum(r["preempted"] for r in reclaims(run))
    assert (run.summary["preemptions"] > 0) == (policy != "gandiva")
    assert run.bound("mean_jct").value <= run.summary["mean_jct"]


REFUSED: list[tuple[str, Row, str]] = [
    *(
        ("lyra", {option: "nonsense"}, "no method for")
        for option in ("method", "elastic", "workers")
    ),
    ("lyra", {"retries": -1}, "retries=-1 must be from 0"),
    ("opportunistic", {"order": "longest"}, "order='longest'"),
    ("pollux", {}, "loan"),
]


@pytest.mark.parametrize(("policy", "options", "message"), REFUSED)
def test_options_that_cannot_be_right_are_refused(policy: str, options: Row, message: str) -> None:
    """A wrong name is an error although no round solves its problem."""
    with pytest.raises((OptionError, UnknownName, dlsched.DlschedError), match=message):
        simulate(workload(FIRST), cluster(1), policy, **options)


def test_the_generator_draws_the_same_jobs_with_a_speed_on_loan() -> None:
    """Only the rates and the type differ, by which the loan of `lyra_cluster` has that speed."""
    plain = lyra_workload(2, days=0.2, scenario="ideal")
    slow = lyra_workload(2, days=0.2, scenario="ideal", loan_speed=0.25)
    stated = {"rates": {}, "gpu_type": None}
    assert [job.model_copy(update=stated) for job in slow.jobs] == list(plain.jobs)
    (rates,) = {tuple(sorted(job.rates.values())) for job in slow.jobs}
    assert rates[0] / rates[1] == Fraction(1, 4)
    types = {server.gpu_type for server in lyra_cluster(2, 2, days=0.2).servers}
    assert types == set(slow.jobs[0].rates)
