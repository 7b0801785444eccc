"""Hadar's simulations (sections II and IV): duration, completion times, use of GPUs, bounds.

Every simulation is audited. Rates are those of ../shared/data/gavel.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from code_version import ROOT
from runs import Row

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.generators import hadar_cluster, hadar_workload

algorithm = import_module("dlsched.problems.utility.heuristics.hadar")
"""The module; the package has a method of this name."""
MEASURED = ROOT.parent / "shared" / "data" / "gavel" / "isolated_throughputs.json"
HOUR = 3600
SLOT = 360
Policies = Mapping[str, Mapping[str, Any]]
"""By label the policy and its options; the policy is `hadar` if there is none."""
TYPES = ("V100", "P100", "K80")
EXAMPLE = {"J1": (3, 80, (40, 20, 30)), "J2": (2, 30, (5, 15, 5)), "J3": (2, 50, (10, 2, 20))}
"""GPUs, epochs, and epochs a round on each type, of the jobs of section II-A."""


def run(workload: Workload, cluster: Cluster, policy: Any = "hadar", **options: Any) -> Simulation:
    """Simulate and audit."""
    made = simulate(workload, cluster, policy, **options)
    report = made.audit()
    if not report:
        raise SystemExit(f"the audit of {made} failed: {report.violations[:3]}")
    return made


def rounds_of(made: Simulation, slot: int = SLOT) -> int:
    """Return the number of rounds until the last completion."""
    return int(-(-made.summary["makespan"] // slot))


def while_waiting(made: Simulation) -> float:
    """Return the share of GPUs that jobs hold, over the time in which some job waits (D)."""
    jobs, segments = made.jobs, made.log.rows("segments")
    held = np.zeros((len(segments), 3))
    held[:] = [(row[1] / 1e6, row[2] / 1e6, row[3]) for row in segments]
    # A job waits from its submission to its completion, less the time that it holds GPUs.
    moments = np.unique(np.concatenate((held[:, 0], held[:, 1], jobs["submit"], jobs["end"])))
    steps = np.diff(moments)

    def level(begin: Any, end: Any, weight: Any) -> Any:
        change = np.zeros(len(moments))
        np.add.at(change, np.searchsorted(moments, begin), weight)
        np.add.at(change, np.searchsorted(moments, end), -np.asarray(weight))
        return np.cumsum(change)[:-1]

    present = level(jobs["submit"], jobs["end"], np.ones(len(jobs)))
    running = level(held[:, 0], held[:, 1], np.ones(len(held)))
    busy = level(held[:, 0], held[:, 1], held[:, 2])
    waits = present > running + 0.5
    return float(busy[waits] @ steps[waits] / (made.cluster.gpus * steps[waits].sum()))


def changed(made: Simulation) -> float:
    """Return the share of rounds until the last completion in which a job starts or stops."""
    rounds = made.rounds
    several = ((rounds["started"] > 0) | (rounds["preempted"] > 0)).sum()
    return float(several / -(-made.summary["makespan"] // SLOT))


def figures(workload: Workload, cluster: Cluster, **options: Any) -> Row:
    """Simulate, audit, and return the figures, times in hours and shares in per cent."""
    began = time.process_time()
    made = run(workload, cluster, **options)
    spent, s = time.process_time() - began, made.summary
    # Hadar scans jobs where its program is too large.
    solved = [entry for entry in map(json.loads, made.rounds["solved"]) if entry]
    own = [entry for entry in solved if str(entry.get("method", "")).startswith("hadar")]
    row: Row = {"duration": s["makespan"] / HOUR, "median": s["median_jct"] / HOUR}
    row |= {"mean": s["mean_jct"] / HOUR, "held": 100 * s["utilization"], "CPU s": spent}
    row |= {"held, waiting": 100 * while_waiting(made), "rounds changed": 100 * changed(made)}
    scans = f"{sum('scanned' in entry for entry in own)} of {len(own)}" if own else "-"
    return row | {"scanned": scans}


def drawn(seed: int = 0, inputs: str = "", **size: Any) -> Workload:
    """Return section IV's jobs, fewer or shorter ones, or others that fit its text."""
    sizes = {"one GPU each": (1,), "1, 2, 4, 8 GPUs alike": (1, 2, 4, 8)}.get(inputs)
    more: Row = {"sizes": dict.fromkeys(sizes, 1)} if sizes else {}
    workload = hadar_workload(measured=MEASURED, seed=seed, **more, **size)
    return linear(workload) if inputs == "rates linear in the GPUs" else workload


def policies(
    policies: Policies,
    seeds: int = 1,
    inputs: tuple[str, ...] = (),
    machines: int = 15,
    **size: Any,
) -> Iterator[Row]:
    """Yield policies on section IV's jobs by seed, then on other inputs, with certified bounds."""
    cluster = hadar_cluster(machines)
    cases = [*((f"seed {seed}", drawn(seed, **size)) for seed in range(seeds))]
    for label, workload in [*cases, *((name, drawn(0, name)) for name in inputs)]:
        said: Row = {"workload": label}
        for metric, name in {"makespan": "least duration", "mean_jct": "least mean"}.items():
            said[name] = float(bound(workload, cluster, metric).value) / HOUR
        for policy, options in policies.items():
            yield said | {"policy": policy} | figures(workload, cluster, **options)


def linear(workload: Workload) -> Workload:
    """Return jobs whose rates are those of one GPU times their number; the time on K80 is kept."""
    single = {job.model: job.rates for job in workload.jobs if job.gpus == 1}
    jobs = []
    for job in workload.jobs:
        rates = {kind: float(rate) * job.gpus for kind, rate in single[job.model].items()}
        iterations = max(1, round(float(job.work) * rates["K80"]))
        jobs.append(job.model_copy(update={"rates": rates, "iterations": iterations}))
    rows = [job.model_dump(exclude_none=True) for job in jobs]
    return Workload.parse({"name": "linear", "jobs": rows}, "the benchmark")


def program(seeds: int) -> Iterator[Row]:
    """Yield Algorithm 2's program beside the scan, where the program is small enough."""
    tunables = algorithm.TUNABLES
    for seed in range(seeds):
        workload = hadar_workload(96, measured=MEASURED, scale=0.15, seed=seed)
        cluster = hadar_cluster(6)
        for utility, letter in (("effective_throughput", "t"), ("inverse_time", "i")):
            for how, steps in (("program", tunables.most_steps), ("scan", 0)):
                algorithm.TUNABLES = replace(tunables, most_steps=steps)
                row = figures(workload, cluster, utility=utility)
                whole, of = row["scanned"].split(" of ")
                assert whole == ("0" if steps else of)
                yield {"seed": seed, "policy": f"{how} {letter}"} | row
        algorithm.TUNABLES = tunables
        yield {"seed": seed, "policy": "gavel"} | figures(workload, cluster, policy="gavel")


def eq10() -> Iterator[Row]:
    """Yield how far speed-ups between two types are from one number for all models (eq. 10)."""
    entries = json.loads(MEASURED.read_text())
    rates = [e["iterations_per_second"] for e in entries if e["scale_factor"] == 1]
    for a, b in (("v100", "k80"), ("v100", "p100"), ("p100", "k80")):
        found = [float(r[a]) / float(r[b]) for r in rates if r.get(a) and r.get(b)]
        yield {
            "types": f"{a} over {b}", "models": len(found), "least": min(found),
            "median": float(np.median(found)), "most": max(found),
            "off": (max(found) / min(found)) ** 0.5,
        }  # fmt: skip


def figure5() -> Iterator[Row]:
    """Yield the CPU seconds of a decision by the jobs."""
    for policy in ("hadar", "gavel"):  # loads libraries
        run(hadar_workload(8, measured=MEASURED, scale=0.02), hadar_cluster(3), policy)
    for jobs in (32, 64, 128, 256, 512, 1024, 2048):
        cluster = hadar_cluster(max(3, jobs // 8))
        workload = hadar_workload(jobs, measured=MEASURED, scale=0.02)
        row: Row = {"jobs": f"{jobs:,}", "GPUs": f"{cluster.gpus:,}"}
        for policy in ("hadar", "gavel"):
            began = time.process_time()
            made = run(workload, cluster, policy)
            spent = time.process_time() - began
            row[f"{policy}, CPU s"] = spent / made.summary["decisions"]
            row[f"{policy}, longest"] = made.summary["max_decision_seconds"]
        yield row


def example(policies: Policies) -> Iterator[Row]:
    """Yield the example of section II-A and Figure 1."""
    rows = []
    for name, (gpus, epochs, rates) in EXAMPLE.items():
        row: Row = {"id": name, "submit": 0, "gpus": gpus, "work": epochs * SLOT / rates[0]}
        # An epoch counts as 360 iterations, so that rates are whole numbers.
        row |= {"iterations": SLOT * epochs, "gpu_type": TYPES[0]}
        rows.append(row | {"rates": dict(zip(TYPES, rates, strict=True))})
    workload = Workload.parse({"name": "section II", "jobs": rows}, "the benchmark")
    cluster = Cluster.of(
        [{"gpus": n, "gpu_type": kind} for n, kind in zip((2, 3, 1), TYPES, strict=True)]
    )
    for label, options in policies.items():
        made = run(workload, cluster, **options)
        held = np.zeros(rounds_of(made))
        for segment in made.log.rows("segments"):
            first, last = segment[1] // (10**6 * SLOT), -(-segment[2] // (10**6 * SLOT))
            held[first:last] += 100 * segment[3] / cluster.gpus
        ends = ", ".join(f"{end / SLOT:.3g}" for end in made.jobs["end"])
        yield {
            "policy": label, "rounds": len(held), "completion of J1, J2, J3 in rounds": ends,
            "CRU by round": f"{', '.join(f'{h:.0f}' for h in held)} %",
            "CRU": f"{held.mean():.0f} %",
        }  # fmt: skip
