"""Lyra's simulations: what each scheme of its tables does with the same jobs and servers.

A scheme's policy, workload and options are in lyra_cases.toml. Every simulation is audited.
"""

import json
import statistics
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from lyra_inputs import DRAWN, Case, days_of
from lyra_usage import usage

import dlsched
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.workload.generators import lyra_cluster, lyra_workload

Row = dict[str, Any]
CASES = tomllib.loads(Path(__file__).with_name("lyra_cases.toml").read_text(encoding="utf-8"))
RECLAIMING = ("random", "scf", "lyra", "densest", "exact")
RECLAIM_STEP = 3600
"""Seconds between changes of the loan in Figure 10, so that several servers are reclaimed at once,
as in the paper's larger cluster."""
NO_OVERHEADS = ("fifo", "opportunistic", "lyra_readings:SkippingFifo")
"""Policies of orders, which have no overheads; a job that is never preempted has none."""


def case_of(label: str) -> Case:
    """Return a scheme."""
    return Case(label, **CASES[label])


def made(case: Case, size: Row, seed: int) -> tuple[Workload, Cluster]:
    """Return workload and cluster of a scheme."""
    workload, cluster = DRAWN[size.get("drawn", "by seed")](case, size, seed)
    changes: Row = {"restart": 0} if case.policy in NO_OVERHEADS else {}
    most = case.cluster.get("loan_gpus", 8)
    jobs = tuple(
        job.model_copy(update={**changes, "gpus_per_worker": min(job.gpus_per_worker, most)})
        for job in workload.jobs
    )
    return workload.model_copy(update={"jobs": jobs}), cluster


def simulated(case: Case, size: Row, seed: int) -> Simulation:
    """Simulate a scheme and audit it."""
    workload, cluster = made(case, size, seed)
    module, _, name = case.policy.rpartition(":")
    if module:
        run = simulate(
            workload, cluster, getattr(import_module(module), name)(**case.options), seed=seed
        )
    else:
        run = simulate(workload, cluster, case.policy, seed=seed, **case.options)
    if not (report := run.audit()):
        raise SystemExit(f"{case.label}, seed {seed}: {report.violations[0].message}")
    for row in run.log.rows("segments"):
        job = workload.jobs[row[0]]
        if '"i' in row[4] and not (job.fungible or job.heterogeneous):
            raise SystemExit(f"{case.label}, seed {seed}: {job.id} runs on loan")
    return run


def run_case(label: str, size: Row, seed: int) -> Row:
    """Simulate a scheme, and return its figures."""
    case, began = case_of(label), time.process_time()
    run = simulated(case, size, seed)
    row: Row = {"scheme": label, "seed": seed, "CPU s": time.process_time() - began}
    for name, said in {"jct": "completion", "queueing": "queueing"}.items():
        for part in ("mean", "median", "p95", "p99"):
            row[f"{part} {said} s"] = run.summary[f"{part}_{name}"]
    row["preempted, %"] = 100 * run.summary["preemptions"] / run.summary["jobs"]
    row |= usage(run, size["days"], size["training"], size["inference"], seed) | reclaims(run)
    if size.get("drawn") == "resampled":
        row["days at weekends"] = sum(day % 7 >= 5 for day in days_of(size, seed))
    return row


def runs(cases: Sequence[str], size: Row, seeds: int, bounded: bool = False) -> Iterator[Row]:
    """Yield the figures of schemes by seed, with the certified bound on their mean completion."""
    bounds: dict[tuple[str, int], float] = {}
    for label in cases:
        case = case_of(label)
        inputs = f"{sorted(case.workload.items())} {case.loaning} {sorted(case.cluster.items())}"
        for seed in range(seeds):
            row = run_case(label, size, seed)
            if bounded:
                if (inputs, seed) not in bounds:
                    bounds[inputs, seed] = float(bound(*made(case, size, seed)).value)
                row["lower bound on completion s"] = bounds[inputs, seed]
            yield row


def compared(groups: Sequence[Sequence[str]], size: Row, seeds: int) -> Iterator[Row]:
    """Yield schemes beside the first of their group, and the bound over all policies."""
    for labels in groups:
        for seed in range(seeds):
            first: Row = {}
            for label in labels:
                row = run_case(label, size, seed)
                first = first or row
                for name in ("mean queueing s", "mean completion s"):
                    row[f"{name} of the first"] = first[name]
                saved = 1 - row["mean completion s"] / first["mean completion s"]
                yield row | {"saved": 100 * saved}
            name, case = "mean completion s", case_of(labels[0])
            least = float(bound(*made(case, size, seed)).value)
            yield {"scheme": f"bound of all policies, {labels[0]}", "seed": seed, name: least,
                   f"{name} of the first": first[name]}  # fmt: skip


def reclaims(run: Simulation) -> Row:
    """Return figures of the decisions that reclaim servers, of scaling, and what was proved."""
    solved = [json.loads(row[-1]) for row in run.log.rows("decisions")]
    found = [row["reclaiming"] for row in solved if row.get("reclaiming")]
    found = [row for row in found if row["on_loan"]]
    busy = sum(row["demand"] - row.get("empty", 0) for row in found)
    parts = [part for row in solved for part in row.values() if isinstance(part, dict)]
    status = Counter(part["status"] for part in parts if "status" in part)
    flexible = [row.get("flexible", 0) for row in found]
    either = [row.get("flexible", 0) + row.get("empty", 0) for row in found]
    return {
        "of the demand left after empty servers by flexible ones, %":
            100 * sum(flexible) / busy if busy else 0.0,
        "of each demand by flexible ones, %": _share(flexible, found),
        "of each demand by flexible or empty ones, %": _share(either, found),
        "scaled": sum(row.get("scaled", 0) for row in solved),
        "proved, %": 100 * status["optimal"] / max(1, status.total()),
    }  # fmt: skip


def _share(counts: Sequence[int], reclaimed: Sequence[Row]) -> float:
    return 100 * mean(n / row["demand"] for n, row in zip(counts, reclaimed, strict=True))


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    known = list(values)
    return statistics.mean(known) if known else 0.0


def on_loan(size: Row, seeds: int) -> Iterator[Row]:
    """Yield times of the jobs that Lyra runs on loan, and their times without it (Table 7)."""
    for seed in range(seeds):
        lyra, baseline = (
            simulated(case_of(label), size, seed)
            for label in ("Loan only: lyra", "Baseline (fifo)")
        )
        lent = sorted({row[0] for row in lyra.log.rows("segments") if '"i' in row[4]})
        for name, said in {"queueing": "queueing", "jct": "completion"}.items():
            before, after = (run.jobs[name].iloc[lent] for run in (baseline, lyra))
            for part, q in (("mean", None), ("median", 0.5), ("p95", 0.95)):
                pair = [float(t.mean() if q is None else t.quantile(q)) for t in (before, after)]
                yield {"time": f"{part} {said}", "seed": seed, "jobs": len(lent),
                       "baseline s": pair[0], "lyra s": pair[1],
                       "ratio of a seed": pair[0] / pair[1]}  # fmt: skip


def same_states(size: Row, seeds: int) -> Iterator[Row]:
    """Yield what each method of reclaiming does in the states that `lyra` leads to (Figure 10)."""
    by_seed = [_states(size, seed) for seed in range(seeds)]
    found = [row for rows in by_seed for row in rows]
    base = [_preempted(found, "lyra", level) for level in (0, 1)]
    for name in RECLAIMING:
        share = [_preempted(found, name, level) for level in (0, 1)]
        each = [_preempted(r, name, 0) / _preempted(r, "lyra", 0) for r in by_seed if r]
        best = sum(row[name][0] == row["exact"][0] for row in found)
        yield {
            "method": name, "preempted, %": share[0], "by lyra's": share[0] / base[0],
            "least": min(each), "most": max(each), "collateral, %": share[1],
            "collateral by lyra's": share[1] / base[1] if base[1] else 0.0,
            "optimum found": f"{best} of {len(found)}",
        }  # fmt: skip


def _preempted(found: Sequence[Row], name: str, level: int) -> float:
    whole = "gpus" if level else "jobs"
    return 100 * mean(row[name][level] / row[whole] for row in found)


def _states(size: Row, seed: int) -> list[Row]:
    """Return what the methods do in the states of a simulation without elastic jobs."""
    found: list[Row] = []

    def compare(instance: Any, rng: np.random.Generator) -> Any:
        results = {m: dlsched.solve(instance, m, seed=seed) for m in RECLAIMING}
        gpus = sum(s.gpus for s in instance.servers[: instance.demand])
        row: Row = {"demand": instance.demand, "jobs": len(instance.jobs), "gpus": gpus}
        found.append(row | {m: [float(v) for v in r.objective] for m, r in results.items()})
        return results["lyra"].solution

    training, days = size["training"], size["days"]
    drawn: Row = {"days": days, "load": size["load"], "elastic": False, "most_days": 0.5}
    workload = lyra_workload(training, seed=seed, **drawn)
    cluster = lyra_cluster(training, size["inference"], days=days, step=RECLAIM_STEP, seed=seed)
    run = simulate(workload, cluster, "lyra", method=compare, seed=seed)
    if not (report := run.audit()):
        raise SystemExit(f"Figure 10, seed {seed}: {report.violations[0].message}")
    return found
