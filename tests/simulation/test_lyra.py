"""Lyra and its baselines: random simulations audited; those by hand are in by_hand.toml."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from simulation_cases import ends_by_id

import dlsched
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


TYPED = {"gpu_type": "V100", "rates": {"V100": 1, "T4": Fraction(1, 2)}}
"""A job whose GPUs on loan are half as fast."""


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
