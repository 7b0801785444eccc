"""What an optimal grouping is worth over Muri's traces, by the paper's text.

Needs ../shared/data/muri. Every simulation is audited.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import published
from code_version import ROOT
from runs import Row

from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.policies import make_policy

DATA = ROOT.parent / "shared" / "data" / "muri"
CLUSTER = Cluster.uniform(8, 8)
EVENTS: dict[str, Any] = {"interval": None}
POLICIES: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    ("srtf", None, {}),
    ("srsf", None, {}),
    ("muri_s", "muri", EVENTS),
    ("muri_s", "muri_needed", EVENTS),
    ("muri_s", "exact", EVENTS),
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


def trace(name: str) -> Iterator[Row]:
    """Yield the policies' metrics and the lower bounds on one trace."""
    workload = jobs(name)
    heuristic: dict[str, list[float]] = {}
    for policy, method, options in POLICIES:
        began = time.process_time()
        label = ", ".join(filter(None, (method, options.get("objective"))))
        run = simulate(workload, CLUSTER, policy, method=method, **options)
        row: Row = {"policy": policy, "method": label, "k": "4" if label else ""}
        seconds = time.process_time() - began
        require_sound(run)
        s, others = run.summary, heuristic.setdefault(policy, [])
        row["mean completion s"] = f"{s['mean_jct']:,.0f}"
        shares = [f"{100 * (1 - s['mean_jct'] / other):.1f}" for other in others]
        row["saved of `muri`, %"] = shares[0] if shares else ""
        both = shares and method != "muri_needed"
        row["saved of the better, %"] = min(shares, key=float) if both else ""
        if method in ("muri", "muri_needed"):
            others.append(s["mean_jct"])
        row |= {"makespan s": f"{s['makespan']:,.0f}", "p99 s": f"{s['p99_jct']:,.0f}"}
        row["GPUs held"] = f"{100 * s['utilization']:.1f} %"
        solved = [entry for entry in run.rounds["solved"] if entry != "{}"]
        proved = sum('"optimal"' in entry for entry in solved)
        row["rounds proved"] = f"{proved:,} of {len(solved):,}" if solved else ""
        yield row | {"CPU s": f"{seconds:.1f}"}
    for sharing in (False, True):
        began = time.process_time()
        mean, span = (
            bound(workload, CLUSTER, m, sharing=sharing) for m in ("mean_jct", "makespan")
        )
        what = "where jobs share GPUs" if sharing else "without sharing"
        row = {"policy": f"bound, {what}", "method": mean.source}
        row["mean completion s"] = f"{float(mean.value):,.0f}"
        row["makespan s"] = f"{float(span.value):,.0f}"
        yield row | {"CPU s": f"{time.process_time() - began:.1f}"}


def testbed() -> Iterator[Row]:
    """Yield section 6.2: the authors' 400 jobs, beside what they measured on 64 GPUs."""
    measured = json.loads((DATA / "published_more.json").read_text(encoding="utf-8"))["testbed"]
    found = {}
    for policy in ROUNDS:
        text, public = jobs("cluster_trace"), jobs("cluster_trace", resources=3)
        found[policy] = rounds(text, policy)
        runs = [("text", 4, found[policy])]
        if policy != "themis":
            theirs = published.simulate(public, CLUSTER, policy)
            assert theirs.audit(), theirs.audit()
            runs.append(("published", 3, theirs.summary))
        known = measured[policy]
        for simulator, k, summary in runs:
            off = 100 * (summary["mean_jct"] / known["mean_jct"] - 1)
            yield {
                "table": 0, "policy": policy, "simulator": simulator, "k": k,
                "mean completion s": f"{summary['mean_jct']:,.0f}",
                "measured": f"{known['mean_jct']:,.0f}", "difference, %": f"{off:+.1f}",
                "makespan s": f"{summary['makespan']:,.0f}",
                "measured makespan": f"{known['makespan']:,.0f}",
                "p99 s": f"{summary['p99_jct']:,.0f}", "measured p99": f"{known['p99_jct']:,.0f}",
            }  # fmt: skip
    for policy, (muri, said) in TESTBED.items():
        for metric, value in zip(("mean_jct", "makespan", "p99_jct"), said, strict=True):
            ours, theirs = (d[policy][metric] / d[muri][metric] for d in (found, measured))
            row = {"table": 1, "policy": policy, "metric": metric}
            row |= {"by the text, k = 4": f"{ours:.2f}", "measured": f"{theirs:.2f}"}
            yield row | {"printed": f"{value:.2f}"}


def figure8() -> Iterator[Row]:
    """Yield the mean queue on the testbed's jobs by policy, until the last job ends."""
    text = jobs("cluster_trace")
    for policy in ROUNDS:
        summary = rounds(text, policy)
        waiting = summary["mean_queueing"] * len(text.jobs) / summary["makespan"]
        row = {"policy": policy, "waiting jobs": f"{waiting:.1f}"}
        yield row | {"makespan s": f"{summary['makespan']:,.0f}"}


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
