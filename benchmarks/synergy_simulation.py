"""Synergy's simulations: its published numbers and figures, and what an optimum would save.

Every simulation is audited, but for those of the published variant with other seeds than the first,
and with Themis's order, whose logs are long. They use the profiles of ../shared/data/synergy.
"""

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import published as published_simulators
from code_version import ROOT

from dlsched.simulation import Cluster, Workload
from dlsched.simulation.api import simulate
from dlsched.simulation.workload.generators import synergy_workload

Row = dict[str, Any]
DATA = ROOT.parent / "shared" / "data"
PROFILES = DATA / "synergy" / "profiles.json"
STATIC = DATA / "synergy" / "static_100job_6_3_1100.csv"
PHILLY = DATA / "records" / "chronus_philly_mix1_2000rows_minutes.csv"
NUMBER, MEASURED = 6500, slice(4000, 5000)
"""Jobs of a workload, and those whose completion times count, as in the public code."""
SEEDS = (42, 43, 44, 45, 46)
"""Seeds of the workloads; the first is the authors'."""


def run(
    workload: Workload,
    cluster: Cluster,
    method: str,
    audit: bool = True,
    simulated: Any = simulate,
    **options: Any,
) -> Any:
    """Simulate and audit."""
    made = simulated(workload, cluster, "synergy", method=method, **options)
    if audit and not (report := made.audit()):
        raise SystemExit(f"the audit of {made} failed: {report.violations[:3]}")
    return made


def servers(count: int, cpus_per_gpu: int = 3) -> Cluster:
    """Return servers of 8 GPUs and 500 GB."""
    return Cluster.uniform(count, 8, cpus=8 * cpus_per_gpu, memory=500)


def steady(grids: Sequence[dict[str, list[Any]]]) -> Iterator[Row]:
    """Yield simulations of the published variant on 128 GPUs, for all combinations of each grid."""
    for grid in grids:
        for values in itertools.product(*grid.values()):
            yield _steady(**dict(zip(grid, values, strict=True)))


def _steady(
    method: str,
    load: float,
    order: str = "fifo",
    split: str = "20/70/10",
    multi: bool = False,
    cpus: int = 3,
    seed: int = SEEDS[0],
) -> Row:
    """Return hours of jobs in the steady state, and shares of GPUs and CPUs in use."""
    jobs = synergy_workload(
        NUMBER, load=load, split=split, multi=multi, measured=PROFILES, cpus_per_gpu=cpus, seed=seed
    )
    began = time.process_time()
    made = run(
        jobs,
        servers(16, cpus),
        method,
        audit=seed == SEEDS[0] and order != "ftf_largest",
        order=order,
        simulated=published_simulators.simulate,
    )
    hours = made.jobs["jct"].to_numpy()[MEASURED] / 3600
    row: Row = {"mechanism": method, "jobs/h": load, "order": order.removeprefix("ftf_")}
    row |= {"image/language/speech": split, "GPUs a job": "1 to 8" if multi else "1"}
    row |= {"CPUs per GPU": cpus, "seed": seed, "mean": float(hours.mean())}
    row |= {"p95 of long": float(np.quantile(hours[hours >= 4], 0.95))}
    if method != "opt":
        row |= dict(zip(("GPUs held", "CPUs used"), _use(made, MEASURED), strict=True))
    return row | {"CPU s": time.process_time() - began}


def _use(made: published_simulators.Simulation, measured: slice) -> tuple[float, float]:
    """Return the shares of GPUs and CPUs in use in the time measured, in per cent."""
    jobs = made.workload.jobs
    begin, end = float(jobs[measured.start].submit), float(jobs[measured.stop].submit)
    best = {}
    for name, matrix in made.workload.matrices.items():
        speeds = [max(row) for row in matrix.throughput]
        enough = [c for c, s in zip(matrix.cpus, speeds, strict=True) if s == max(speeds)]
        best[name] = float(min(enough))
    segments = made.log.rows("segments")
    lengths = np.array([max(0.0, min(end, s[2]) - max(begin, s[1])) for s in segments])
    gpus = np.array([s[3] for s in segments])
    used = np.array([min(_cpus(s[4]), s[3] * best[str(jobs[s[0]].profile)]) for s in segments])
    total = (end - begin) * made.cluster.gpus / 100
    cpus = sum(float(server.cpus or 0) for server in made.cluster.servers) / made.cluster.gpus
    return float(lengths @ gpus) / total, float(lengths @ used) / (cpus * total)


@cache
def _cpus(shares: str) -> float:
    return float(sum(row[2] for row in json.loads(shares)))


def static() -> Iterator[Row]:
    """Yield the static trace by the published variant and by that of the paper."""
    jobs = Workload.from_trace(STATIC, "synergy", measured=PROFILES, together=True)
    for method in ("proportional", "greedy", "tune", "tune_public", "price_round", "exact", "opt"):
        row: Row = {"mechanism": method}
        for name, simulated in (("published", published_simulators.simulate), ("paper", simulate)):
            began = time.process_time()
            made = run(jobs, servers(4), method, simulated=simulated)
            seconds = time.process_time() - began
            row |= {name: made.summary["makespan"] / 3600, f"s, {name}": seconds}
            row[f"mean, {name}"] = made.summary["mean_jct"] / 3600
        row["rounds"] = 12 * row["published"]
        yield row | {f"no {m}": float(made.bound(m).value) / 3600 for m in ("makespan", "mean_jct")}


def dynamic(methods: Sequence[str], seeds: Sequence[int] = SEEDS) -> Iterator[Row]:
    """Yield the mean and the 99th percentile of jobs that arrive at a full cluster, in hours."""
    for seed, method in itertools.product(seeds, methods):
        jobs = synergy_workload(
            1000, load=20, split="30/60/10", scale=0.1, measured=PROFILES, seed=seed
        )
        made = run(jobs, servers(4), method, order="srtf", simulated=published_simulators.simulate)
        hours = made.jobs["jct"].to_numpy()[300:700] / 3600
        row = {"mechanism": method, "seed": seed, "mean": float(hours.mean())}
        yield row | {"p99": float(np.quantile(hours, 0.99))}


def printed(rows: Sequence[tuple[str, str, float, float, float]]) -> Iterator[Row]:
    """Yield what Table 5 prints, and by how much simulation differs from deployment and OPT."""
    for figure, name, deployed, simulated, best in rows:
        row: Row = {"figure": figure, "mechanism": name, "deployed": deployed}
        row |= {"simulated": simulated, "difference": 100 * (deployed / simulated - 1)}
        yield row | ({"above OPT": 100 * (simulated / best - 1)} if name == "tune" else {})


def trace() -> Iterator[Row]:
    """Yield completion times on jobs of Philly's log, with their bound over all policies."""
    jobs = Workload.from_trace(PHILLY, "synergy", measured=PROFILES)
    short = np.array([job.work < 4 * 3600 for job in jobs.jobs])
    for count, order in itertools.product((7, 6), ("srtf", "las", "fifo")):
        made = [run(jobs, servers(count), m, order=order) for m in ("proportional", "tune")]
        fair, tuned = (each.jobs["jct"].to_numpy() / 3600 for each in made)
        tails = [float(np.quantile(hours[short], 0.99)) for hours in (fair, tuned)]
        means = [float(fair.mean()), float(tuned.mean())]
        yield {
            "GPUs": 8 * count, "order": order, "proportional": means[0], "tune": means[1],
            "ratio": means[0] / means[1],
            "bound over all policies": float(made[1].bound("mean_jct").value) / 3600,
            "p99 of short, proportional": tails[0], "p99 of short, tune": tails[1],
            "mean of long, ratio": float(fair[~short].mean() / tuned[~short].mean()),
            "largest speed-up": float((fair / tuned).max()),
        }  # fmt: skip


def worth(split: str) -> Iterator[Row]:
    """Yield TUNE, the optimum of each round and the bound, of several workloads."""
    for load, order, seed in itertools.product((None, 11.0), ("fifo", "srtf"), SEEDS):
        jobs = synergy_workload(80, load=load, split=split, scale=0.1, measured=PROFILES, seed=seed)
        tuned = run(jobs, servers(2), "tune", order=order).summary["mean_jct"]
        began = time.process_time()
        made = run(jobs, servers(2), "exact", order=order, time_limit=300)
        seconds = time.process_time() - began
        best, least = made.summary["mean_jct"], float(made.bound("mean_jct").value)
        solved = [json.loads(text)["status"] for text in made.rounds["solved"] if text]
        yield {
            "jobs/h": load or "all at 0", "order": order, "seed": seed, "heuristic": tuned / 3600,
            "optimum": best / 3600, "lower bound": least / 3600,
            "saved": 100 * (1 - best / tuned), "above the bound": 100 * (1 - least / best),
            "rounds proved": f"{solved.count('optimal')} of {len(solved)}", "CPU s": seconds,
        }  # fmt: skip
