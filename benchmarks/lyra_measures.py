"""What is measured of one of Lyra's simulations, and the file that keeps it."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from lyra_cases import BASELINE, LOAN, Case, Size

import dlsched
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.policies.ordering import OrderingPolicy
from dlsched.simulation.workload.cluster import LOAN as LOAN_POOL
from dlsched.simulation.workload.generators import lyra_cluster, lyra_workload

DAY = 86_400
RECLAIMING = ("random", "scf", "lyra", "densest", "exact")
RECLAIM_STEP = 3600
"""Seconds between changes of the loan in Figure 10, so that several servers are reclaimed at once,
as in the paper's larger cluster."""
KEPT = ("mean_queueing", "median_queueing", "p95_queueing", "p99_queueing", "mean_jct",
        "median_jct", "p95_jct", "p99_jct", "mean_decision_seconds", "max_decision_seconds",
        "decisions", "jobs")  # fmt: skip


def made(case: Case, size: Size, seed: int) -> tuple[Workload, Cluster]:
    """Return workload and cluster of a case."""
    workload = lyra_workload(
        size.training, days=size.days, load=size.load, seed=seed, **case.workload
    )
    changes: dict[str, Any] = {}
    if case.policy == "fifo" or (
        not isinstance(case.policy, str) and issubclass(case.policy, OrderingPolicy)
    ):
        # These policies have no overheads of their own, and a job never preempted has none.
        changes["restart"] = 0
    most = case.cluster.get("loan_gpus", 8)
    workload = workload.model_copy(
        update={
            "jobs": tuple(
                job.model_copy(
                    update={**changes, "gpus_per_worker": min(job.gpus_per_worker, most)}
                )
                for job in workload.jobs
            )
        }
    )
    cluster = lyra_cluster(
        size.training, size.inference, days=size.days, loaning=case.loaning, seed=seed,
        **case.cluster,
    )  # fmt: skip
    return workload, cluster


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
    """Simulate a case; return its figures."""
    began = time.process_time()
    run = simulated(case, size, seed)
    seconds = time.process_time() - began
    summary = run.summary
    figures = {name: summary[name] for name in KEPT}
    figures["preempted"] = 100 * summary["preemptions"] / summary["jobs"]
    figures["longest"] = longest(run)
    return figures | usage(run, size) | reclaims(run) | {"cpu": seconds}


def longest(run: Simulation) -> float:
    """Return the share of all queueing that the 1 % of the jobs that wait longest have."""
    times = np.sort(run.jobs["queueing"].to_numpy())
    return float(times[int(0.99 * len(times)) :].sum() / times.sum())


def usage(run: Simulation, size: Size) -> dict[str, float]:
    """Return the shares of GPU time held, of training and of what is lent, in the days of arrivals.

    A server that is to go back counts as lent until the loan falls.
    """
    end = size.days * DAY * 1e6
    held = {"t": 0.0, "i": 0.0}
    for row in run.log.rows("segments"):
        length = max(0.0, min(row[2], end) - row[1])
        for server, gpus, *_ in json.loads(row[4]):
            held[server[0]] += length * gpus
    loans = run.cluster.loans
    sizes = [server.gpus for server in run.cluster.servers if server.pool == LOAN_POOL]
    lent = 0.0
    changes = [float(loan.time) * 1e6 for loan in loans]
    for start, stop, loan in zip(changes, [*changes[1:], end], loans, strict=False):
        lent += max(0.0, min(stop, end) - start) * loan.servers * sizes[0]
    return {
        "usage": held["t"] / (8 * size.training * end),
        "loan_usage": held["i"] / lent if lent else 0.0,
    }


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
    run = simulated(LOAN, size, seed)
    jobs = sorted({row[0] for row in run.log.rows("segments") if '"i' in row[4]})
    result: dict[str, Any] = {"jobs": len(jobs)}
    for label, frame in (("baseline", simulated(BASELINE, size, seed).jobs), ("lyra", run.jobs)):
        part = frame.loc[jobs]
        result[label] = [
            float(value)
            for name in ("queueing", "jct")
            for value in (part[name].mean(), part[name].median(), part[name].quantile(0.95))
        ]
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


class Keep:
    """Runs what is not yet in a file, and stores it there.

    Parameters
    ----------
    path
        The file; None for none.
    only
        Whether nothing is run: rows of tables that are not in the file are left out.
    """

    def __init__(self, path: Path | None, only: bool = False) -> None:
        self.path, self.only = path, only
        self.known: dict[str, Any] = {}
        if path is not None and path.exists():
            self.known = json.loads(path.read_text(encoding="utf-8"))

    def missing(self, key: str) -> bool:
        """Return whether a result is to be left out."""
        return self.only and key not in self.known

    def __call__(self, key: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a result, from the file or of a run."""
        if key not in self.known:
            self.known[key] = run()
            if self.path is not None:
                self.path.write_text(json.dumps(self.known), encoding="utf-8")
        found: dict[str, Any] = self.known[key]
        return found
