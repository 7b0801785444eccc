"""Hadar's example of section II, and the batches on physical nodes of section VI.

Sections of `hadar_simulation.py`, which runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.run import Simulation

SLOT = 360
TYPES = ("V100", "P100", "K80")
EXAMPLE = {"J1": (3, 80, (40, 20, 30)), "J2": (2, 30, (5, 15, 5)), "J3": (2, 50, (10, 2, 20))}
"""GPUs, epochs, and epochs a round on each type, of the jobs of section II-A."""
EXAMPLE_POLICIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gavel", "gavel", {}),
    ("gavel, makespan", "gavel", {"method": "makespan"}),
    ("hadar", "hadar", {"mode": "full"}),
    ("hadar, inverse time", "hadar", {"mode": "full", "utility": "inverse_time"}),
    ("hadar_literal", "hadar", {"mode": "full", "method": "hadar_literal"}),
    ("optimum of P1, effective throughput", "hadar", {"mode": "full", "method": "exact"}),
    ("optimum of P1, inverse time", "hadar",
     {"mode": "full", "method": "exact", "utility": "inverse_time"}),
)  # fmt: skip

Speeds = Mapping[str, tuple[float, ...]]
CLUSTERS: dict[str, tuple[tuple[tuple[str, int], ...], Speeds]] = {
    "AWS": (
        (("V100", 1), ("K80", 2), ("T4", 2)),
        {
            "IC": (8.0, 2.0, 4.0), "LM": (6.0, 2.0, 3.5), "LT": (5.0, 1.5, 3.0),
            "RS": (4.0, 2.0, 2.5), "MM": (5.0, 1.0, 2.5),
        },
    ),
    "testbed": (
        (("Titan RTX", 1), ("T4", 1), ("T400", 1), ("RTX 3090", 1), ("A2000", 1)),
        {
            "IC": (7.0, 4.0, 1.0, 8.0, 3.5), "LM": (5.5, 3.5, 1.0, 6.0, 3.0),
            "LT": (4.5, 3.0, 0.7, 5.0, 2.5), "RS": (3.5, 2.5, 1.0, 4.0, 2.0),
            "MM": (4.0, 2.5, 0.5, 5.0, 2.0),
        },
    ),
}  # fmt: skip
"""Nodes of both clusters of section VI-A, with one GPU each; made up: iterations a second on each
of their types, by model."""
SECONDS = {"IC": 900, "LM": 2400, "LT": 2400, "RS": 4800, "MM": 1200}
"""Made up: seconds of each model on the fastest type."""
MIXES = {
    "M-1": "MM", "M-3": "LT MM MM", "M-4": "IC LM LT MM", "M-5": "IC LM LT RS MM",
    "M-8": "IC LM LT RS" + 4 * " MM", "M-10": "IC LM LT RS" + 6 * " MM",
    "M-12": "IC LM LT RS" + 8 * " MM",
}  # fmt: skip
"""Models of the batches of section VI-B."""
BATCH_POLICIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gavel", "gavel", {}),
    ("hadar", "hadar", {}),
    ("hadar i", "hadar", {"utility": "inverse_time"}),
    ("hadare", "hadare", {}),
)
PAPER_RATIOS = {
    "AWS": ("1.20", "1.56", "1.17", "1.79", "1.17", "2.23"),
    "testbed": ("1.21", "1.62", "1.16", "1.79", "1.23", "2.76"),
}
"""Ratios of section VI-C as printed: use over Gavel's of Hadar and HadarE, durations of Gavel over
Hadar and of Hadar over HadarE (one figure, of no cluster named; section I has more than 1.5 on AWS
and 1.8 on the testbed), mean completion times of Gavel over both."""


def run(workload: Workload, cluster: Cluster, policy: str, **options: Any) -> Simulation:
    """Simulate and audit."""
    made = simulate(workload, cluster, policy, **options)
    report = made.audit()
    if not report:
        raise SystemExit(f"the audit of {made} failed: {report.violations[:3]}")
    return made


def table(head: list[str]) -> str:
    """Return the head of a table."""
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}"


def rounds_of(made: Simulation, slot: int = SLOT) -> int:
    """Return the number of rounds until the last completion."""
    return int(-(-made.summary["makespan"] // slot))


def example() -> Iterator[str]:
    """Yield the example of section II-A and Figure 1."""
    yield "## Section II-A: three jobs on two V100, three P100 and one K80\n"
    yield "The rates are epochs a round of the whole job, as in Figure 1(a); no restart overhead."
    yield "CRU: share of the GPUs held, by round and over all rounds. The paper has 6 rounds and"
    yield "some 78 % for Gavel, 5 and some 87 % for Hadar; six are the least that P1 allows.\n"
    yield table(["policy", "rounds", "completion of J1, J2, J3 in rounds", "CRU by round", "CRU"])
    rows = []
    for name, (gpus, epochs, rates) in EXAMPLE.items():
        row = {"id": name, "submit": 0, "gpus": gpus, "work": epochs * SLOT / rates[0]}
        # An epoch counts as 360 iterations, so that rates are whole numbers.
        more = {"iterations": SLOT * epochs, "gpu_type": TYPES[0]}
        rows.append(row | more | {"rates": dict(zip(TYPES, rates, strict=True))})
    workload = Workload.parse({"name": "section II", "jobs": rows}, "the benchmark")
    cluster = Cluster.of(
        [{"gpus": n, "gpu_type": kind} for n, kind in zip((2, 3, 1), TYPES, strict=True)]
    )
    for label, policy, options in EXAMPLE_POLICIES:
        made = run(workload, cluster, policy, **options)
        held = np.zeros(rounds_of(made))
        for segment in made.log.rows("segments"):
            first, last = segment[1] // (10**6 * SLOT), -(-segment[2] // (10**6 * SLOT))
            held[first:last] += segment[3] / cluster.gpus
        yield (
            f"| {label} | {len(held)} | {', '.join(f'{e / SLOT:.3g}' for e in made.jobs['end'])} "
            f"| {', '.join(f'{100 * h:.0f}' for h in held)} % | {100 * held.mean():.0f} % |"
        )


def batch(name: str, mix: str) -> tuple[Workload, Cluster]:
    """Return a mix of models as jobs with forks on all nodes, and a cluster."""
    nodes, speeds = CLUSTERS[name]
    kinds = [kind for kind, _ in nodes]
    fastest = kinds[int(np.argmax(speeds["MM"]))]
    rows = [
        {"id": f"j{i}", "submit": 0, "gpus": 1, "min_gpus": 1, "max_gpus": 5, "restart": 10,
         "work": SECONDS[m], "model": m, "gpu_type": fastest,
         "rates": dict(zip(kinds, speeds[m], strict=True))}
        for i, m in enumerate(MIXES[mix].split())
    ]  # fmt: skip
    cluster = Cluster.of([{"gpus": 1, "gpu_type": k, "count": count} for k, count in nodes])
    return Workload.parse({"name": mix, "jobs": rows}, "the benchmark"), cluster


def measures(made: Simulation, slot: int = SLOT) -> list[float]:
    """Return use of the nodes, duration and mean completion time in minutes."""
    span = slot * rounds_of(made, slot)
    held = float(made.jobs["service"].sum()) / (made.cluster.gpus * span)
    return [held, made.summary["makespan"] / 60, made.summary["mean_jct"] / 60]


def section6() -> Iterator[str]:
    """Yield the comparison of Figures 8 to 10."""
    yield "## Figures 8 to 10: batches on five nodes with one GPU each; made-up rates\n"
    yield "The paper's rates are not published, so only shapes compare. AWS: one V100, two K80, two"
    yield "T4. Testbed: Titan RTX, T4, T400, RTX 3090, A2000. Rounds of 360 s, 10 s for a changed"
    yield "allocation. CRU: node time held over that of all nodes until the end of the last round."
    yield "Duration and mean completion time in minutes. hadar i: with the inverse of the"
    yield "completion time as utility.\n"
    names = [label for label, _, _ in BATCH_POLICIES]
    ratios = {}
    for cluster_name in CLUSTERS:
        yield f"\n{cluster_name}:\n"
        heads = [f"{what}, {label}" for what in ("CRU", "duration", "mean") for label in names]
        yield table(["mix", *heads])
        found: dict[str, list[list[float]]] = {label: [] for label in names}
        for mix in MIXES:
            workload, cluster = batch(cluster_name, mix)
            for label, policy, options in BATCH_POLICIES:
                found[label].append(measures(run(workload, cluster, policy, **options)))
            cells = [
                f"{100 * found[label][-1][what]:.0f} %" if not what
                else f"{found[label][-1][what]:.0f}"
                for what in range(3)
                for label in names
            ]  # fmt: skip
            yield f"| {mix} | {' | '.join(cells)} |"
        mean = {label: np.array(rows) for label, rows in found.items()}
        for label in ("hadar", "hadar i"):
            ratios[cluster_name, label] = [
                (mean[label][:, 0] / mean["gavel"][:, 0]).mean(),
                (mean["hadare"][:, 0] / mean["gavel"][:, 0]).mean(),
                (mean["gavel"][:, 1] / mean[label][:, 1]).mean(),
                (mean[label][:, 1] / mean["hadare"][:, 1]).mean(),
                (mean["gavel"][:, 2] / mean[label][:, 2]).mean(),
                (mean["gavel"][:, 2] / mean["hadare"][:, 2]).mean(),
            ]
    yield "\nMeans of the ratios over the mixes. CRU: the policy's over Gavel's; times: Gavel's"
    yield "over the policy's, for HadarE's duration Hadar's over it; the paper's in brackets.\n"
    yield table(
        ["cluster, Hadar", "CRU, Hadar", "CRU, HadarE", "duration, Hadar",
         "duration, Hadar over HadarE", "mean, Hadar", "mean, HadarE"]
    )  # fmt: skip
    for (cluster_name, label), values in ratios.items():
        pairs = zip(values, PAPER_RATIOS[cluster_name], strict=True)
        yield f"| {cluster_name}, {label} | {' | '.join(f'{v:.2f} ({p})' for v, p in pairs)} |"


def slots() -> Iterator[str]:
    """Yield the use of the nodes by the length of a round (Figures 12 and 13)."""
    yield "## Figures 12 and 13: use of the nodes by the length of a round; made-up rates\n"
    yield "CRU as above, in percent, and duration in minutes, with rounds of 90, 180, 360 and 720"
    yield "seconds. Communication is not modelled, only 10 s for a changed allocation. The paper"
    yield "has HadarE's highest CRU at 360 s for large mixes and at 90 s for small ones, on both"
    yield "clusters; Hadar's at 90 or 180 s on AWS but for M-3, and like HadarE's on its testbed.\n"
    lengths = (90, 180, 360, 720)
    yield table(
        ["cluster, mix", *(f"{what}, {name}, {n} s" for name in ("hadar", "hadare")
                           for what in ("CRU", "duration") for n in lengths)]
    )  # fmt: skip
    for cluster_name in CLUSTERS:
        for mix in MIXES:
            workload, cluster = batch(cluster_name, mix)
            cells = []
            for policy in ("hadar", "hadare"):
                found = [measures(run(workload, cluster, policy, interval=n), n) for n in lengths]
                cells += [f"{100 * m[0]:.0f}" for m in found] + [f"{m[1]:.0f}" for m in found]
            yield f"| {cluster_name}, {mix} | {' | '.join(cells)} |"
