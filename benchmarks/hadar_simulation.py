"""Hadar's simulations (sections II, IV and VI): duration, completion times, use of GPUs, bounds.

    python benchmarks/hadar_simulation.py [section4 readings inputs program optimum figure5 eq10
        example section6 over_hadar corollary slots]

Without arguments every section; prints markdown and writes it to
benchmarks/figures/hadar_simulation.md. Every simulation is audited. Rates are those of
../shared/data/gavel if they are there, else drawn in their ranges.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import hadar_example
import hadar_nodes
import numpy as np
from code_version import ROOT
from hadar_example import run, table

from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import bound
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.generators import hadar_cluster, hadar_workload

algorithm = import_module("dlsched.problems.utility.heuristics.hadar")
"""The module; the package has a method of this name."""
RATES = ROOT.parent / "shared" / "data" / "gavel" / "isolated_throughputs.json"
MEASURED = RATES if RATES.exists() else None
HOUR = 3600
SLOT = 360
Options = dict[str, Any]
POLICIES: tuple[tuple[str, str, Options], ...] = (
    ("hadar", "hadar", {}),
    ("hadar, inverse time", "hadar", {"utility": "inverse_time"}),
    ("gavel", "gavel", {}),
    ("gavel, water filling", "gavel", {"method": "water_filling"}),
    ("gavel, makespan", "gavel", {"method": "makespan"}),
    ("tiresias", "tiresias", {"limits": (3600,), "interval": SLOT}),
    ("tiresias, one type", "tiresias", {"limits": (3600,), "interval": SLOT, "one_type": True}),
    ("yarn_cs", "yarn_cs", {}),
)
READINGS: tuple[tuple[str, str, Options], ...] = (
    ("gavel", "gavel", {}),
    ("hadar: effective throughput, sticky", "hadar", {}),
    ("effective throughput, full", "hadar", {"mode": "full"}),
    ("effective throughput, keep", "hadar", {"mode": "keep"}),
    ("normalized throughput, sticky", "hadar", {"utility": "normalized_throughput"}),
    ("inverse time, sticky", "hadar", {"utility": "inverse_time"}),
    ("inverse time, full", "hadar", {"utility": "inverse_time", "mode": "full"}),
    ("inverse time, keep", "hadar", {"utility": "inverse_time", "mode": "keep"}),
    ("linear, sticky", "hadar", {"utility": "linear"}),
    ("hadar_literal, sticky", "hadar", {"method": "hadar_literal"}),
)
PAPER = {
    "hadar": ("40", "1"),
    "gavel": ("48 (1.21)", "1.20"),
    "tiresias": ("54 (1.35)", "1.40"),
    "yarn_cs": ("68 (1.67)", "-"),
}
"""Durations in hours with their ratio to Hadar's, and ratio of the medians (Figure 4)."""


SAID = """
Effective throughput, normalised or not, fills the cluster to the end, as in the paper's Figure 3.
It puts the median late: all jobs are there at once, and those of few iterations, or of little work,
come last. The inverse of the time and the linear utility have an earlier median than Gavel, by more
than the paper's, and the longest jobs come last. If running jobs keep their GPUs, the share of
changed rounds is nearest to the paper's, and the duration farthest from it. No reading has a
shorter duration than Gavel."""
"""What the figures of the readings say."""


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


class Row(NamedTuple):
    """What the tables state of a simulation; times in hours."""

    makespan: float
    median: float
    mean: float
    waiting: float
    held: float
    changed: float
    cpu: float
    scanned: str


def row(workload: Workload, cluster: Cluster, policy: str, options: Options) -> Row:
    """Simulate, audit, and return the figures."""
    began = time.process_time()
    made = run(workload, cluster, policy, **options)
    spent = time.process_time() - began
    s = made.summary
    hours = (s[name] / HOUR for name in ("makespan", "median_jct", "mean_jct"))
    return Row(*hours, while_waiting(made), s["utilization"], changed(made), spent, scanned(made))


def scanned(made: Simulation) -> str:
    """Return in how many of Hadar's decisions jobs were scanned instead of its program."""
    solved = [entry for entry in map(json.loads, made.rounds["solved"]) if entry]
    own = [entry for entry in solved if str(entry.get("method", "")).startswith("hadar")]
    return f"{sum('scanned' in entry for entry in own)} of {len(own)}" if own else "-"


SCANNED = (
    "Scanned: of Hadar's decisions, those in which jobs were scanned in the order of utility per "
    "GPU, as the program of Algorithm 2, with a state for each use of every machine (5^15, some "
    "3e10), is too large on 15 machines of 4 GPUs."
)


def least_duration(workload: Workload, cluster: Cluster) -> float:
    """Return a lower bound on the hours until all jobs are complete."""
    return float(bound(workload, cluster, "makespan").value) / HOUR


def section4() -> Iterator[str]:
    """Yield the comparison of Figures 3 and 4."""
    source = "rates of Gavel's files" if MEASURED else "synthetic rates"
    yield f"{SCANNED}\n"
    yield table(
        ["policy", "duration", "ratio", "paper", "median", "ratio", "paper", "mean",
         "held, waiting", "held", "rounds changed", "scanned", "CPU s"]
    )  # fmt: skip
    workload, cluster = hadar_workload(measured=MEASURED), hadar_cluster()
    first: Row | None = None
    for label, policy, options in POLICIES:
        r = row(workload, cluster, policy, options)
        first = first or r
        paper = PAPER.get(label, ("-", "-"))
        yield (
            f"| {label} | {r.makespan:.1f} | {r.makespan / first.makespan:.2f} | {paper[0]} "
            f"| {r.median:.1f} | {r.median / first.median:.2f} | {paper[1]} | {r.mean:.1f} "
            f"| {100 * r.waiting:.0f} % | {100 * r.held:.0f} % | {100 * r.changed:.0f} % "
            f"| {r.scanned} | {r.cpu:.0f} |"
        )
    least = {name: bound(workload, cluster, name) for name in ("makespan", "mean_jct")}


def readings() -> Iterator[str]:
    """Yield what the paper leaves open of Hadar: its utility, and which jobs a round decides on."""
    yield f"{SCANNED}\n"
    yield table(
        ["reading", "duration", "gavel's / it (1.21)", "median", "gavel's / it (1.20)", "mean",
         "held, waiting", "held", "rounds changed", "scanned", "CPU s"]
    )  # fmt: skip
    workload, cluster = hadar_workload(measured=MEASURED), hadar_cluster()
    own: Row | None = None
    for label, policy, options in READINGS:
        r = row(workload, cluster, policy, options)
        own = own or r
        yield (
            f"| {label} | {r.makespan:.1f} | {own.makespan / r.makespan:.2f} | {r.median:.1f} "
            f"| {own.median / r.median:.2f} | {r.mean:.1f} | {100 * r.waiting:.0f} % "
            f"| {100 * r.held:.0f} % | {100 * r.changed:.0f} % | {r.scanned} | {r.cpu:.0f} |"
        )
    assert own is not None
    least = least_duration(workload, cluster)
    yield table(["bound", "hours", "gavel's / it"])
    yield f"| duration | {least:.1f} | {own.makespan / least:.2f} |"
    yield SAID


COMPARED: tuple[tuple[str, str, Options], ...] = (
    ("hadar t", "hadar", {}),
    ("hadar i", "hadar", {"utility": "inverse_time"}),
    ("gavel", "gavel", {}),
    ("tiresias", "tiresias", {"limits": (3600,), "interval": SLOT}),
    ("yarn_cs", "yarn_cs", {}),
)


def inputs() -> Iterator[str]:
    """Yield the durations and medians on other workloads that fit the paper's text."""
    cluster = hadar_cluster()
    drawn: dict[str, Workload] = {
        f"seed {seed}": hadar_workload(measured=MEASURED, seed=seed) for seed in range(5)
    }
    drawn["one GPU each"] = hadar_workload(measured=MEASURED, sizes={1: 1})
    drawn["1, 2, 4, 8 GPUs alike"] = hadar_workload(
        measured=MEASURED, sizes=dict.fromkeys((1, 2, 4, 8), 1)
    )
    drawn["rates linear in the GPUs"] = linear(drawn["seed 0"])
    found = {
        label: [row(workload, cluster, policy, options) for _, policy, options in COMPARED]
        for label, workload in drawn.items()
    }
    names = [name for name, _, _ in COMPARED]
    ratios = [f"{name}'s / {own}" for name in names[2:] for own in names[:2]]
    for title, of in (("Duration", "makespan"), ("Median", "median")):
        yield f"\n{title}:\n"
        least = ["least", "gavel's / least"] if of == "makespan" else []
        yield table(["workload", *names, *ratios, *least])
        for label, workload in drawn.items():
            values = [float(getattr(r, of)) for r in found[label]]
            cells = [f"{v:.1f}" for v in values]
            cells += [f"{v / own:.2f}" for v in values[2:] for own in values[:2]]
            if least:
                limit = least_duration(workload, cluster)
                cells += [f"{limit:.1f}", f"{values[2] / limit:.2f}"]
            yield f"| {label} | {' | '.join(cells)} |"


def program() -> Iterator[str]:
    """Yield Algorithm 2's program beside the scan, where the program is small enough."""
    names = ("program t", "scan t", "program i", "scan i", "gavel")
    ratios = [f"gavel's / {name}" for name in names[:4]]
    rows: dict[str, list[str]] = {"makespan": [], "median": []}
    tunables = algorithm.TUNABLES
    for seed in range(5):
        workload = hadar_workload(96, measured=MEASURED, scale=0.15, seed=seed)
        cluster, found = hadar_cluster(6), []
        for utility in ("effective_throughput", "inverse_time"):
            for steps in (tunables.most_steps, 0):
                algorithm.TUNABLES = replace(tunables, most_steps=steps)
                found.append(row(workload, cluster, "hadar", {"utility": utility}))
                whole, of = found[-1].scanned.split(" of ")
                assert whole == ("0" if steps else of)
        algorithm.TUNABLES = tunables
        found.append(row(workload, cluster, "gavel", {}))
        for name, lines in rows.items():
            values = [float(getattr(r, name)) for r in found]
            cells = [f"{v:.2f}" for v in values] + [f"{values[4] / v:.2f}" for v in values[:4]]
            lines.append(f"| {seed} | {' | '.join(cells)} |")
    for title, lines in zip(("Duration", "Median"), rows.values(), strict=True):
        yield f"\n{title}:\n"
        yield table(["seed", *names, *ratios])
        yield from lines


def eq10() -> Iterator[str]:
    """Yield how far speed-ups between two types are from one number for all models (eq. 10)."""
    if MEASURED is None:
        return
    rates = [
        entry["iterations_per_second"]
        for entry in json.loads(MEASURED.read_text())
        if entry["scale_factor"] == 1
    ]
    yield table(["types", "models", "least", "median", "most", "off"])
    for a, b in (("v100", "k80"), ("v100", "p100"), ("p100", "k80")):
        found = [float(r[a]) / float(r[b]) for r in rates if r.get(a) and r.get(b)]
        off = (max(found) / min(found)) ** 0.5
        yield (
            f"| {a} over {b} | {len(found)} | {min(found):.2f} | {np.median(found):.2f} "
            f"| {max(found):.2f} | {off:.2f} |"
        )


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


OPTIMUM = ((20, 6, 0.03, range(5)), (32, 8, 0.03, range(5)))
"""Jobs, machines of 4 GPUs, factor of the GPU-hours, and seeds, of the section `optimum`."""
TIME_LIMIT = 60
"""Seconds of wall-clock time for one plan."""


def optimum() -> Iterator[str]:
    """Yield Hadar's program beside the optimum of all slots to come, in the same place."""
    yield table(
        ["jobs, GPUs, seed", "utility", "mean, hadar", "optimum", "bound", "saved",
         "duration, hadar", "optimum", "bound", "saved", "utility's ratio", "plans proved",
         "CPU s, hadar", "optimum"]
    )  # fmt: skip
    for utility in ("effective_throughput", "inverse_time"):
        both: list[tuple[float, float]] = []
        for jobs, machines, scale, seeds in OPTIMUM:
            for seed in seeds:
                workload = hadar_workload(jobs, measured=MEASURED, scale=scale, seed=seed)
                cluster = hadar_cluster(machines)
                line, means = _both(workload, cluster, utility)
                both.append(means)
                yield f"| {jobs}, {4 * machines}, {seed} | {utility.replace('_', ' ')} {line}"
        saved = np.array([1 - best / rule for rule, best in both])
        yield (
            f"| mean | {utility.replace('_', ' ')} | | | | {100 * saved.mean():.1f} % (shorter in "
            f"{(saved > 0).sum()}, longer in {(saved < 0).sum()} of {len(saved)}) "
            "| | | | | | | | |"
        )


def _both(workload: Workload, cluster: Cluster, utility: str) -> tuple[str, tuple[float, float]]:
    """Return a line of the table, and the mean completion times of algorithm and optimum."""
    found, spent, worth = [], [], []
    for options in ({}, {"method": "exact", "time_limit": TIME_LIMIT}):
        began = time.process_time()
        found.append(run(workload, cluster, "hadar", utility=utility, **options))
        spent.append(time.process_time() - began)
        slots = np.ceil(found[-1].jobs["end"] / SLOT)
        gain = [1 if utility == "inverse_time" else float(j.iterations or 1) for j in workload.jobs]
        worth.append(float((np.array(gain) / slots).sum()))
    cells = []
    for metric in ("mean_jct", "makespan"):
        rule, best = (made.summary[metric] for made in found)
        least = float(found[0].bound(metric).value)
        cells += [
            f"{rule:,.0f}",
            f"{best:,.0f}",
            f"{least:,.0f}",
            f"{100 * (1 - best / rule):.1f} %",
        ]
    solved = [json.loads(entry) for entry in found[1].rounds["solved"]]
    plans = [entry for entry in solved if "status" in entry]
    proved = sum(entry["status"] == "optimal" for entry in plans)
    line = (
        f"| {' | '.join(cells)} | {worth[1] / worth[0]:.3f} | {proved} of {len(plans)} "
        f"| {spent[0]:.1f} | {spent[1]:.1f} |"
    )
    return line, (found[0].summary["mean_jct"], found[1].summary["mean_jct"])


def figure5() -> Iterator[str]:
    """Yield the time of a round, on a cluster that grows with the jobs."""
    yield table(
        ["jobs", "GPUs", "hadar, CPU s", "hadar, longest", "gavel, CPU s", "gavel, longest"]
    )
    for policy in ("hadar", "gavel"):  # loads libraries
        run(hadar_workload(8, measured=MEASURED, scale=0.02), hadar_cluster(3), policy)
    for jobs in (32, 64, 128, 256, 512, 1024, 2048):
        cluster = hadar_cluster(max(3, jobs // 8))
        workload = hadar_workload(jobs, measured=MEASURED, scale=0.02)
        cells = []
        for policy in ("hadar", "gavel"):
            began = time.process_time()
            made = run(workload, cluster, policy)
            spent = time.process_time() - began
            cells += [
                f"{spent / made.summary['decisions']:.3f}",
                f"{made.summary['max_decision_seconds']:.3f}",
            ]
        yield f"| {jobs:,} | {cluster.gpus:,} | {' | '.join(cells)} |"


SECTIONS = {
    "section4": section4, "readings": readings, "inputs": inputs, "program": program,
    "optimum": optimum, "figure5": figure5, "eq10": eq10, "example": hadar_example.example,
    "section6": hadar_nodes.section6, "over_hadar": hadar_nodes.over_hadar,
    "corollary": hadar_nodes.corollary,
    "slots": hadar_nodes.slots,
}  # fmt: skip
