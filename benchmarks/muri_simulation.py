"""What an optimal grouping is worth over Muri's traces, by the paper's text.

    python benchmarks/muri_simulation.py [trace3 trace3_pr trace1 trace1_pr baselines testbed
        figure8]

Without arguments every trace; prints markdown and writes it to
benchmarks/figures/muri_simulation.md. Needs ../shared/data/muri. Every simulation is audited.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import published
from code_version import ROOT

from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.policies import make_policy

DATA = ROOT.parent / "shared" / "data" / "muri"
TRACES = ("trace3", "trace1", "trace1_pr")
CLUSTER = Cluster.uniform(8, 8)
EVENTS: dict[str, Any] = {"interval": None}
POLICIES: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    ("srtf", None, {}),
    ("srsf", None, {}),
    ("muri_s", "muri", EVENTS),
    ("muri_s", "muri_needed", EVENTS),
    ("muri_s", "exact", EVENTS),
    ("muri_s", "exact", {**EVENTS, "ties": "shortest"}),
    ("muri_s", None, {**EVENTS, "objective": "seeded_speeds"}),
    ("tiresias", None, {}),
    ("muri_l", "muri", EVENTS),
    ("muri_l", "muri_needed", EVENTS),
    ("muri_l", "exact", EVENTS),
)

ROUNDS = ("srtf", "srsf", "tiresias", "themis", "muri_s", "muri_l")
TESTBED: dict[str, tuple[str, tuple[float, float, float]]] = {
    "srtf": ("muri_s", (2.12, 1.56, 3.31)),
    "srsf": ("muri_s", (2.03, 1.59, 3.82)),
    "tiresias": ("muri_l", (2.59, 1.48, 2.54)),
    "themis": ("muri_l", (3.56, 1.47, 2.60)),
}
"""By policy: what it is compared with, and the printed ratios of mean, makespan and p99."""


def trace(name: str) -> Iterator[str]:
    """Yield the policies' metrics and the lower bounds on one trace."""
    workload = jobs(name)
    yield (
        "| policy | method | k | mean completion s | saved of `muri`, % | saved of the better, % "
        "| makespan s | p99 s | GPUs held | rounds proved | CPU s |"
    )
    yield "|" + "---|" * 11
    heuristic: dict[str, list[float]] = {}
    for policy, method, options in POLICIES:
        began = time.process_time()
        label = ", ".join(filter(None, (method, options.get("ties"), options.get("objective"))))
        run = simulate(workload, CLUSTER, policy, method=method, **options)
        seconds = time.process_time() - began
        require_sound(run)
        s = run.summary
        others = heuristic.setdefault(policy, [])
        shares = [100 * (1 - s["mean_jct"] / other) for other in (*others[:1], *others[1:2])]
        saved = [f"{share:.1f}" for share in [*shares[:1], min(shares)]] if shares else ["", ""]
        if method == "muri_needed":
            saved[1] = ""
        if method in ("muri", "muri_needed"):
            others.append(s["mean_jct"])
        solved = [entry for entry in run.rounds["solved"] if entry != "{}"]
        proved = sum('"optimal"' in entry for entry in solved)
        yield (
            f"| {policy} | {label} | {4 if label else ''} | {s['mean_jct']:,.0f} "
            f"| {' | '.join(saved)} | {s['makespan']:,.0f} "
            f"| {s['p99_jct']:,.0f} | {100 * s['utilization']:.1f} % "
            f"| {f'{proved:,} of {len(solved):,}' if solved else ''} | {seconds:.1f} |"
        )
    for sharing in (False, True):
        began = time.process_time()
        mean = bound(workload, CLUSTER, "mean_jct", sharing=sharing)
        span = bound(workload, CLUSTER, "makespan", sharing=sharing)
        seconds = time.process_time() - began
        what = "where jobs share GPUs" if sharing else "without sharing"
        yield (
            f"| bound, {what} | {mean.source} | | {float(mean.value):,.0f} | | "
            f"| {float(span.value):,.0f} | | | | {seconds:.1f} |"
        )


def testbed() -> Iterator[str]:
    """Yield section 6.2: the authors' 400 jobs, beside what they measured on 64 GPUs."""
    yield (
        "| policy | simulator | k | mean completion s | measured | difference, % | makespan s "
        "| measured makespan | p99 s | measured p99 |"
    )
    yield "|" + "---|" * 10
    measured = json.loads((DATA / "published_more.json").read_text(encoding="utf-8"))["testbed"]
    found = {}
    for policy in ROUNDS:
        text, public = jobs("cluster_trace"), jobs("cluster_trace", resources=3)
        runs = [("text", 4, rounds(text, policy))]
        if policy != "themis":
            theirs = published.simulate(public, CLUSTER, policy)
            assert theirs.audit(), theirs.audit()
            runs.append(("published", 3, theirs.summary))
        found[policy] = runs[0][2]
        printed = measured[policy]
        for simulator, k, summary in runs:
            off = 100 * (summary["mean_jct"] / printed["mean_jct"] - 1)
            cells = [f"{summary['mean_jct']:,.0f} | {printed['mean_jct']:,.0f} | {off:+.1f}"]
            cells += [f"{summary[m]:,.0f} | {printed[m]:,.0f}" for m in ("makespan", "p99_jct")]
            yield f"| {policy} | {simulator} | {k} | {' | '.join(cells)} |"
    yield "| policy | metric | by the text, k = 4 | measured | printed |\n" + "|" + "---|" * 5
    for policy, (muri, printed_ratios) in TESTBED.items():
        names = ("mean_jct", "makespan", "p99_jct")
        for metric, value in zip(names, printed_ratios, strict=True):
            ours, theirs = (d[policy][metric] / d[muri][metric] for d in (found, measured))
            yield f"| {policy} | {metric} | {ours:.2f} | {theirs:.2f} | {value:.2f} |"


def figure8() -> Iterator[str]:
    """Yield the mean queue on the testbed's jobs by policy, until the last job ends."""
    yield "\n| policy | waiting jobs | makespan s |\n|---|---|---|"
    text = jobs("cluster_trace")
    for policy in ROUNDS:
        summary = rounds(text, policy)
        waiting = summary["mean_queueing"] * len(text.jobs) / summary["makespan"]
        yield f"| {policy} | {waiting:.1f} | {summary['makespan']:,.0f} |"


def rounds(workload: Workload, policy: str) -> dict[str, float]:
    """Return the metrics of a policy that decides every six minutes only."""
    made = make_policy(policy)
    made.interval, made.on_events = 360, False  # type: ignore[attr-defined]
    run = simulate(workload, CLUSTER, made)
    require_sound(run)
    return run.summary


def jobs(name: str, resources: int = 4) -> Workload:
    """Return a trace with the paper's four resources; those with _pr have all jobs at 0."""
    path = DATA / f"{name.removesuffix('_pr')}.csv"
    together = name.endswith("_pr")
    return Workload.from_trace(path, "muri", together=together, resources=resources)


def require_sound(run: Simulation) -> None:
    """Audit a simulation."""
    report = run.audit()
    if not report:
        raise SystemExit(f"the audit of {run} failed: {report.violations[:3]}")


SECTIONS = {
    **{name: partial(trace, name) for name in TRACES},
    "testbed": testbed,
    "figure8": figure8,
}
