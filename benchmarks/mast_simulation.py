"""MAST against federated schedulers, and its rule against better solutions, on drawn workloads.

Every simulation is audited. Times are CPU seconds of everything but the audit.
"""

import time
from collections.abc import Iterator
from typing import Any

from claims_only.latency import allocation_rate, preemptions, violations, waits

from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.workload.generators import mast_cluster, mast_workload

Row = dict[str, Any]
HOURS = 8
SEEDS = range(5)
HIGH, LOWEST = 3, 7
"""Priorities from 1 to 3 count as high, 39 % of the workloads; 7 is that of what is over quota."""
POLICIES: tuple[tuple[str, str, str | None, Row], ...] = (
    ("mast", "mast", None, {}),
    ("mast, a pass every 300 s", "mast", None, {"interval": 300}),
    ("mast, only the least used region", "mast", "top_k", {}),
    ("federated", "federated", None, {}),
    ("local", "local", None, {}),
)
"""Label, policy, method (None: the paper's, counted) and options."""


class Counted:
    """MAST's rule, which counts what the negative cache answers."""

    name = "mast, counted"

    def __init__(self) -> None:
        self.attempts = self.hits = self.failures = 0

    def __call__(self, instance: Instance, rng: Any) -> Solution:
        """Return the solution of `mast`."""
        fleet = Fleet(instance)
        own = Dispatcher(fleet)
        own.dispatch(startable(instance), lambda r: fleet.sites_of(instance.pending[r.position]))
        self.attempts += own.attempts
        self.hits += own.hits
        self.failures += own.failures
        return own.solution()


def measured(
    workload: Workload, cluster: Cluster, policy: str, method: Any, **options: Any
) -> tuple[Simulation, float]:
    """Return an audited simulation and its CPU seconds."""
    began = time.process_time()
    run = simulate(workload, cluster, policy, method=method, **options)
    seconds = time.process_time() - began
    report = run.audit()
    if not report:
        raise SystemExit(f"the audit of {run} failed: {report.violations[:3]}")
    return run, seconds


def late(
    run: Simulation, limit: float, highest: int = 6, begin: float = 0, end: float = 3600 * HOURS
) -> tuple[int, int]:
    """Return violations and waits within quota of the workloads that arrive, up to a priority."""
    table = violations(run.log, limit, begin=begin, end=end)
    table = table[table.index <= highest]
    return int(table["violations"].sum()), int(table["waits"].sum())


def policies(load: float, quota: float, seeds: int = len(SEEDS)) -> Iterator[Row]:
    """Yield MAST beside workloads that are bound on arrival to a region, or to a cluster.

    `load` is what arrives over what the clusters can do, `quota` the quotas over it.
    """
    first: dict[int, Row] = {}
    for label, policy, method, options in POLICIES:
        for seed in range(seeds):
            cluster = mast_cluster(seed=seed)
            workload = mast_workload(cluster, HOURS, load=load, quota=quota, seed=seed)
            rule = Counted()
            run, spent = measured(workload, cluster, policy, method or rule, **options)
            row: Row = {"policy": label, "seed": seed, "CPU s": spent, "jobs": len(workload.jobs)}
            row["over 10 min"], row["waits"] = late(run, 600)
            row["over 30 min"], _ = late(run, 1800)
            row["high over 10 min"], row["high waits"] = late(run, 600, HIGH)
            hours = [late(run, 600, HIGH, 3600 * h, 3600 * (h + 1)) for h in range(HOURS)]
            row["worst hour"] = max(100 * part / max(1, whole) for part, whole in hours)
            table = preemptions(run.log)
            row["preempted"] = int(table["preemptions"].sum())
            row["of priority 1 within quota"] = int(table["within_quota"].get(1, 0))
            row["allocated"] = 100 * allocation_rate(run.log, 0, 3600 * HOURS)
            row["late"] = 100 * row["over 10 min"] / max(1, row["waits"])
            if rule.attempts:
                row |= {"plans": rule.attempts, "hits": rule.hits}
            base = first.setdefault(seed, row)
            row["worse"] = row["late"] > base["late"]
            row["better"] = row["late"] < base["late"]
            row["less allocated"] = row["allocated"] < base["allocated"]
            yield row | {"preemptions": row["preempted"] / row["jobs"]}


def latency(loads: dict[str, tuple[float, float]]) -> Iterator[Row]:
    """Yield how long workloads wait within and over quota, in minutes (Figure 11)."""
    for name, (load, quota) in loads.items():
        row: Row = {"load": name}
        found: dict[str, list[float]] = {"within": [], "over": []}
        for seed in SEEDS:
            cluster = mast_cluster(seed=seed)
            workload = mast_workload(cluster, HOURS, load=load, quota=quota, seed=seed)
            run, _ = measured(workload, cluster, "mast", None)
            table = waits(run.log)
            table = table[(table["begin"] > 0) & (table["begin"] < 3600 * HOURS)]
            for part, chosen in (
                ("within", table["rank"] < LOWEST),
                ("over", table["rank"] >= LOWEST),
            ):
                found[part] += (table[chosen]["seconds"].astype(float) / 60).tolist()
        for part, minutes in found.items():
            values = sorted(minutes)
            row[f"waits, {part}"] = len(values)
            row |= {f"P{p}, {part}": values[int(p / 100 * len(values))] for p in (50, 95)}
            row[f"longest, {part}"] = values[-1]
        yield row


def allocation(load: float, quota: float) -> Iterator[Row]:
    """Yield the allocation rate by the size of the clusters (Figure 5)."""
    for machines in (10, 20, 40):
        for seed in SEEDS:
            cluster = mast_cluster(4, 2, machines, types=1, seed=seed)
            workload = mast_workload(cluster, HOURS, load=load, quota=quota, seed=seed)
            run, spent = measured(workload, cluster, "mast", None)
            yield {
                "GPUs of a cluster": 8 * machines, "seed": seed, "workloads": len(workload.jobs),
                "largest": max(job.gpus for job in workload.jobs), "CPU s": spent,
                "allocated": 100 * allocation_rate(run.log, 0, 3600 * HOURS),
            }  # fmt: skip


def methods(seeds: int) -> Iterator[Row]:
    """Yield MAST's rule and the exact method in the same place."""
    for seed in range(seeds):
        cluster = mast_cluster(2, 2, 8, types=1, seed=seed)
        workload = mast_workload(cluster, HOURS, load=1.3, scale=0.5, seed=seed)
        rule, own = measured(workload, cluster, "mast", None)
        best, spent = measured(workload, cluster, "mast", "exact", time_limit=60)
        solved = [entry for entry in best.rounds["solved"] if '"status"' in entry]
        if not all('"optimal"' in entry for entry in solved):
            raise SystemExit(f"seed {seed}: a pass was not proved")
        mine, theirs = (run.summary["mean_jct"] for run in (rule, best))
        span = 1 - best.summary["makespan"] / rule.summary["makespan"]
        yield {
            "seed": seed, "workloads": len(workload.jobs), "mast": mine, "exact": theirs,
            "bound": float(rule.bound("mean_jct").value), "makespan saved": 100 * span,
            "saved by exact": 100 * (1 - theirs / mine),
            "preemptions, mast": rule.summary["preemptions"],
            "preemptions, exact": best.summary["preemptions"],
            "CPU s, mast": own, "CPU s, exact": spent,
        }  # fmt: skip
