"""Hadar's simulations (sections IV and VI): duration, completion times, use of GPUs, bounds.

    python benchmarks/hadar_simulation.py [section4 section6 variants]

Without arguments every section; prints markdown and writes it to
benchmarks/figures/hadar_simulation.md. Every simulation is audited. Rates are those of
../shared/data/gavel if they are there, else the synthetic ones of the generator.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from figures import ROOT, arguments, write

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.generators import hadar_cluster, hadar_workload
from dlsched.simulation.run import Simulation

RATES = ROOT.parent / "shared" / "data" / "gavel" / "isolated_throughputs.json"
MEASURED = RATES if RATES.exists() else None
HOUR = 3600
POLICIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("hadar", "hadar", {}),
    ("hadar, utility linear (ours)", "hadar", {"utility": "linear"}),
    ("gavel", "gavel", {}),
    ("gavel, water filling", "gavel", {"method": "water_filling"}),
    ("tiresias", "tiresias", {"limits": (3600,), "interval": 360}),
    ("tiresias, one type", "tiresias", {"limits": (3600,), "interval": 360, "one_type": True}),
    ("yarn_cs", "yarn_cs", {}),
)
VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("hadar", "hadar", {}),
    ("hadar, every round anew", "hadar", {"mode": "full"}),
    ("hadar_pooled", "hadar", {"method": "hadar_pooled"}),
    ("gavel, makespan", "gavel", {"method": "makespan"}),
)
PAPER = {
    "hadar": ("40", "1"),
    "gavel": ("48 (1.21)", "1.20"),
    "tiresias": ("54 (1.35)", "1.40"),
    "yarn_cs": ("68 (1.67)", "-"),
}
"""Durations in hours with their ratio to Hadar's, and ratio of the medians (Figure 4)."""


def run(workload: Workload, cluster: Cluster, policy: str, **options: Any) -> Simulation:
    """Simulate and audit."""
    made = simulate(workload, cluster, policy, **options)
    report = made.audit()
    if not report:
        raise SystemExit(f"the audit of {made} failed: {report.violations[:3]}")
    return made


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
    """Return the share of rounds in which a job starts, moves or stops."""
    rounds = made.rounds
    return float(((rounds["started"] > 0) | (rounds["preempted"] > 0)).mean())


def table(head: list[str]) -> str:
    """Return the head of a table."""
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}"


def section4() -> Iterator[str]:
    """Yield the comparison of Figures 3 and 4."""
    yield from compared(POLICIES)


def variants() -> Iterator[str]:
    """Yield the same of other methods and modes."""
    yield from compared(VARIANTS)


def compared(policies: tuple[tuple[str, str, dict[str, Any]], ...]) -> Iterator[str]:
    """Yield a table of policies on the workload of section IV."""
    source = "rates of Gavel's files" if MEASURED else "synthetic rates"
    yield f"## Figures 3 and 4: 480 jobs on 20 V100, 20 P100, 20 K80; {source}\n"
    yield "Seed 0, GPU-hours times 0.6. Duration and median completion time in hours, and their"
    yield "ratios to `hadar`'s; share of the GPUs held while some job waits, and altogether; share"
    yield "of rounds with a change; CPU seconds of the simulation. The paper's figures beside them;"
    yield "its Figure 3 has YARN-CS first, then Hadar, then Gavel and Tiresias, and 30 % of Hadar's"
    yield "rounds change.\n"
    yield table(
        ["policy", "duration", "ratio", "paper", "median", "ratio", "paper", "mean",
         "held, waiting", "held", "rounds changed", "CPU s"]
    )  # fmt: skip
    workload, cluster = hadar_workload(measured=MEASURED), hadar_cluster()
    first: tuple[float, float] | None = None
    for label, policy, options in policies:
        began = time.process_time()
        made = run(workload, cluster, policy, **options)
        spent = time.process_time() - began
        whole, median, mean = (
            made.summary[name] / HOUR for name in ("makespan", "median_jct", "mean_jct")
        )
        first = first or (whole, median)
        paper = PAPER.get(label, ("-", "-"))
        yield (
            f"| {label} | {whole:.1f} | {whole / first[0]:.2f} | {paper[0]} "
            f"| {median:.1f} | {median / first[1]:.2f} | {paper[1]} | {mean:.1f} "
            f"| {100 * while_waiting(made):.0f} % | {100 * made.summary['utilization']:.0f} % "
            f"| {100 * changed(made):.0f} % | {spent:.0f} |"
        )
    least = {name: made.bound(name) for name in ("makespan", "mean_jct")}
    yield (
        f"\nNo policy has a duration below {float(least['makespan'].value) / HOUR:.1f} h "
        f"({least['makespan'].source}), or a mean completion time below "
        f"{float(least['mean_jct'].value) / HOUR:.1f} h ({least['mean_jct'].source})."
    )


NODES = (("V100", 1), ("K80", 2), ("T4", 2))
"""Nodes of the paper's AWS cluster, with one GPU each."""
SPEEDS = {
    "IC": (8.0, 2.0, 4.0, 900), "LM": (6.0, 2.0, 3.5, 2400), "LT": (5.0, 1.5, 3.0, 2400),
    "RS": (4.0, 2.0, 2.5, 4800), "MM": (5.0, 1.0, 2.5, 1200),
}  # fmt: skip
"""Made up: iterations per second on each type of NODES, and seconds on V100, by model."""
MIXES = {
    "M-1": "MM", "M-3": "LT MM MM", "M-4": "IC LM LT MM", "M-5": "IC LM LT RS MM",
    "M-8": "IC LM LT RS" + 4 * " MM", "M-10": "IC LM LT RS" + 6 * " MM",
    "M-12": "IC LM LT RS" + 8 * " MM",
}  # fmt: skip
"""Models of the batches of section VI-B."""


def section6() -> Iterator[str]:
    """Yield the comparison of Figures 8 to 10."""
    yield "## Figures 8 to 10: batches on five nodes with one GPU each; made-up rates\n"
    yield "The paper's rates are not published, so only shapes compare. One V100, two K80, two T4;"
    yield "rounds of 360 s, 10 s for a changed allocation. CRU: node time held over that of all"
    yield "nodes until the end of the last round. Duration and mean completion time in minutes.\n"
    names = ("gavel", "hadar", "hadare")
    yield table(["mix", *(f"{what}, {name}" for what in ("CRU", "duration", "mean")
                          for name in names)])  # fmt: skip
    kinds = [kind for kind, _ in NODES]
    cluster = Cluster.of([{"gpus": 1, "gpu_type": k, "count": count} for k, count in NODES])
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for mix, models in MIXES.items():
        rows = [
            {"id": f"j{i}", "submit": 0, "gpus": 1, "min_gpus": 1, "max_gpus": 5, "restart": 10,
             "work": SPEEDS[m][3], "model": m, "gpu_type": "V100",
             "rates": dict(zip(kinds, SPEEDS[m], strict=False))}
            for i, m in enumerate(models.split())
        ]  # fmt: skip
        workload = Workload.parse({"name": mix, "jobs": rows}, "the benchmark")
        for name in names:
            made = run(workload, cluster, name)
            span = -(-made.summary["makespan"] // 360) * 360
            held = float((made.jobs["service"]).sum()) / (5 * span)
            found[name].append([held, made.summary["makespan"] / 60, made.summary["mean_jct"] / 60])
        cells = [
            f"{100 * found[name][-1][what]:.0f} %" if not what else f"{found[name][-1][what]:.0f}"
            for what in range(3)
            for name in names
        ]
        yield f"| {mix} | {' | '.join(cells)} |"
    mean = {name: np.array(found[name]) for name in names}
    ratios = [
        (mean["hadar"][:, 0] / mean["gavel"][:, 0]).mean(),
        (mean["hadare"][:, 0] / mean["gavel"][:, 0]).mean(),
        (mean["gavel"][:, 1] / mean["hadar"][:, 1]).mean(),
        (mean["hadar"][:, 1] / mean["hadare"][:, 1]).mean(),
        (mean["gavel"][:, 2] / mean["hadar"][:, 2]).mean(),
        (mean["gavel"][:, 2] / mean["hadare"][:, 2]).mean(),
    ]
    yield (
        "\nMeans of the ratios over the mixes (the paper's on AWS): CRU of Hadar over Gavel "
        f"{ratios[0]:.2f} (1.20), of HadarE {ratios[1]:.2f} (1.56); duration of Gavel over Hadar "
        f"{ratios[2]:.2f} (1.17), of Hadar over HadarE {ratios[3]:.2f} (1.79); mean completion "
        f"time of Gavel over Hadar {ratios[4]:.2f} (1.17), over HadarE {ratios[5]:.2f} (2.23)."
    )


SECTIONS = {"section4": section4, "section6": section6, "variants": variants}

if __name__ == "__main__":
    write("hadar_simulation", SECTIONS, arguments())
