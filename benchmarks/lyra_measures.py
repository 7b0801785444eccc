"""What is measured of one of Lyra's simulations."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from lyra_cases import BASELINE, LOAN, Case, Size
from lyra_inputs import DRAWN
from lyra_usage import usage

import dlsched
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.policies.ordering import OrderingPolicy
from dlsched.simulation.workload.generators import lyra_cluster, lyra_workload

RECLAIMING = ("random", "scf", "lyra", "densest", "exact")
RECLAIM_STEP = 3600
"""Seconds between changes of the loan in Figure 10, so that several servers are reclaimed at once,
as in the paper's larger cluster."""
KEPT = ("mean_queueing", "median_queueing", "p95_queueing", "p99_queueing", "mean_jct",
        "median_jct", "p95_jct", "p99_jct", "mean_decision_seconds", "max_decision_seconds",
        "decisions", "jobs")  # fmt: skip


def made(case: Case, size: Size, seed: int) -> tuple[Workload, Cluster]:
    """Return workload and cluster of a case."""
    workload, cluster = DRAWN[size.drawn](case, size, seed)
    changes: dict[str, Any] = {}
    if case.policy == "fifo" or (
        not isinstance(case.policy, str) and issubclass(case.policy, OrderingPolicy)
    ):
        # These policies have no overheads of their own, and a job never preempted has none.
        changes["restart"] = 0
    most = case.cluster.get("loan_gpus", 8)
    jobs = tuple(
        job.model_copy(update={**changes, "gpus_per_worker": min(job.gpus_per_worker, most)})
        for job in workload.jobs
    )
    return workload.model_copy(update={"jobs": jobs}), cluster


def simulated(case: Case, size: Size, seed: int) -> Simulation:
    """Simulate a case and audit it."""
    workload, cluster = made(case, size, seed)
    if isinstance(case.policy, str):
        run = simulate(workload, cluster, case.policy, seed=seed, **case.options)
    else:
        run = simulate(workload, cluster, case.policy(**case.options), seed=seed)
    report = run.audit()
    if not report:
        raise SystemExit(f"{case.label}, seed {seed}: {report.violations[0].message}")
    jobs = workload.jobs
    for row in run.log.rows("segments"):
        job = jobs[row[0]]
        if '"i' in row[4] and not (job.fungible or job.heterogeneous):
            raise SystemExit(f"{case.label}, seed {seed}: {job.id} runs on loan")
    return run


def run_case(case: Case, size: Size, seed: int) -> dict[str, Any]:
    """Simulate a case, once in this process; return its figures."""
    key = (case.label, size, seed)
    if key not in _known:
        began = time.process_time()
        run = simulated(case, size, seed)
        seconds = time.process_time() - began
        summary = run.summary
        figures = {name: summary[name] for name in KEPT}
        figures["preempted"] = 100 * summary["preemptions"] / summary["jobs"]
        found = usage(run, size.days, size.training, size.inference, seed)
        _known[key] = figures | found | reclaims(run) | {"cpu": seconds}
        lent = {row[0] for row in run.log.rows("segments") if '"i' in row[4]}
        _jobs[key] = sorted(lent), run.jobs[["queueing", "jct"]]
    return _known[key]


_jobs: dict[tuple[str, Size, int], tuple[list[int], Any]] = {}
"""Of each simulation the jobs that have been on loan, and all jobs' times."""
_known: dict[tuple[str, Size, int], dict[str, Any]] = {}


def reclaims(run: Simulation) -> dict[str, Any]:
    """Return figures of the decisions that reclaim servers, of scaling, and what was proved."""
    solved = [json.loads(row[-1]) for row in run.log.rows("decisions")]
    found = [row["reclaiming"] for row in solved if row.get("reclaiming")]
    found = [row for row in found if row["on_loan"]]
    busy = sum(row["demand"] - row.get("empty", 0) for row in found)
    status = Counter(
        part["status"]
        for row in solved
        for part in row.values()
        if isinstance(part, dict) and "status" in part
    )
    return {
        "reclaims": len(found),
        "per_reclaim": 100 * mean(row["preempted"] / row["on_loan"] for row in found),
        "collateral": 100 * mean(row["collateral"] / row["gpus"] for row in found),
        "flexible": 100 * sum(row.get("flexible", 0) for row in found) / busy if busy else 0.0,
        "flexible_each": 100 * mean(row.get("flexible", 0) / row["demand"] for row in found),
        "flexible_or_empty_each": 100
        * mean((row.get("flexible", 0) + row.get("empty", 0)) / row["demand"] for row in found),
        "scaled": sum(row.get("scaled", 0) for row in solved),
        "solved": sum(status.values()),
        "proved": status["optimal"],
    }


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    known = list(values)
    return statistics.mean(known) if known else 0.0


def lower_bound(case: Case, size: Size, seed: int) -> dict[str, Any]:
    """Return the certified lower bound on the mean completion time of a case's workload."""
    began = time.process_time()
    found = bound(*made(case, size, seed))
    seconds = time.process_time() - began
    return {"value": float(found.value), "source": found.source, "cpu": seconds}


def on_loan(size: Size, seed: int) -> dict[str, Any]:
    """Return queueing and completion of the jobs that Lyra runs on loan, and without it.

    Table 7: the jobs that have been on a server on loan; the baseline's times are of the same jobs.
    """
    for case in (LOAN, BASELINE):
        run_case(case, size, seed)
    jobs, lyra = _jobs[LOAN.label, size, seed]
    _, baseline = _jobs[BASELINE.label, size, seed]
    result: dict[str, Any] = {"jobs": len(jobs)}
    for label, frame in (("baseline", baseline), ("lyra", lyra)):
        part = frame.iloc[jobs]
        for name in ("queueing", "jct"):
            result[f"{label} mean {name}"] = float(part[name].mean())
            result[f"{label} median {name}"] = float(part[name].median())
            result[f"{label} p95 {name}"] = float(part[name].quantile(0.95))
    return result


def same_states(size: Size, seed: int) -> dict[str, Any]:
    """Return what each method of reclaiming does in the states that `lyra` leads to.

    Loan only, without elastic jobs, as Figure 10's first half.
    """
    found: list[dict[str, Any]] = []

    def compare(instance: Any, rng: np.random.Generator) -> Any:
        results = {m: dlsched.solve(instance, m, seed=seed) for m in RECLAIMING}
        gpus = sum(s.gpus for s in instance.servers[: instance.demand])
        found.append(
            {"demand": instance.demand, "jobs": len(instance.jobs), "gpus": gpus}
            | {m: [float(v) for v in r.objective] for m, r in results.items()}
        )
        return results["lyra"].solution

    workload = lyra_workload(
        size.training, days=size.days, load=size.load, elastic=False, most_days=0.5, seed=seed
    )
    cluster = lyra_cluster(
        size.training, size.inference, days=size.days, step=RECLAIM_STEP, seed=seed
    )
    run = simulate(workload, cluster, "lyra", method=compare, seed=seed)
    report = run.audit()
    if not report:
        raise SystemExit(f"Figure 10, seed {seed}: {report.violations[0].message}")
    return {"found": found}
