"""What an optimal grouping is worth over Muri's traces, by the paper's text.

    python benchmarks/muri_simulation.py [trace3 trace3_pr trace1 trace1_pr baselines testbed]

Without arguments every trace; prints markdown and writes it to
benchmarks/figures/muri_simulation.md. Needs ../shared/data/muri. Every simulation is audited.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from figures import ROOT, arguments, write

from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.policies import make_policy

DATA = ROOT.parent / "shared" / "data" / "muri"
TRACES = ("trace3", "trace3_pr", "trace1", "trace1_pr")
CLUSTER = Cluster.uniform(8, 8)
EVENTS: dict[str, Any] = {"interval": None}
POLICIES: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    ("srtf", None, {}),
    ("srsf", None, {}),
    ("muri_s", "muri", EVENTS),
    ("muri_s", "muri_needed", EVENTS),
    ("muri_s", "exact", EVENTS),
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
    yield f"## {name}: {len(workload.jobs):,} jobs, 8 servers of 8 GPUs\n"
    yield (
        "| policy | method | mean completion s | of the best heuristic's | makespan s | p99 s "
        "| GPUs held | rounds proved | s |"
    )
    yield "|" + "---|" * 9
    heuristic: dict[str, float] = {}
    for policy, method, options in POLICIES:
        began = time.perf_counter()
        run = simulate(workload, CLUSTER, policy, method=method, **options)
        seconds = time.perf_counter() - began
        require_sound(run)
        s = run.summary
        if method != "exact":
            heuristic[policy] = min(heuristic.get(policy, float("inf")), s["mean_jct"])
        share = f"{100 * s['mean_jct'] / heuristic[policy]:.1f} %" if method == "exact" else ""
        solved = [entry for entry in run.rounds["solved"] if entry != "{}"]
        proved = sum('"optimal"' in entry for entry in solved)
        yield (
            f"| {policy} | {method or ''} | {s['mean_jct']:,.0f} | {share} | {s['makespan']:,.0f} "
            f"| {s['p99_jct']:,.0f} | {100 * s['utilization']:.1f} % "
            f"| {f'{proved:,} of {len(solved):,}' if solved else ''} | {seconds:.1f} |"
        )
    for sharing in (False, True):
        began = time.perf_counter()
        mean = bound(workload, CLUSTER, "mean_jct", sharing=sharing)
        span = bound(workload, CLUSTER, "makespan", sharing=sharing)
        seconds = time.perf_counter() - began
        what = "where jobs share GPUs" if sharing else "without sharing"
        yield (
            f"| bound, {what} | {mean.source} | {float(mean.value):,.0f} | "
            f"| {float(span.value):,.0f} | | | | {seconds:.1f} |"
        )
    yield ""


def baselines() -> Iterator[str]:
    """Yield the metrics of Themis and AntMan, which the paper compares with, on all traces."""
    yield "## Themis and AntMan, as far as Muri's text goes\n"
    yield "| trace | policy | mean completion s | makespan s | p99 s | GPUs held | CPU s |"
    yield "|" + "---|" * 7
    for name in TRACES:
        for policy in ("themis", "antman"):
            began = time.process_time()
            run = simulate(jobs(name), CLUSTER, policy)
            seconds = time.process_time() - began
            require_sound(run)
            s = run.summary
            yield (
                f"| {name} | {policy} | {s['mean_jct']:,.0f} | {s['makespan']:,.0f} "
                f"| {s['p99_jct']:,.0f} | {100 * s['utilization']:.1f} % | {seconds:.1f} |"
            )


def testbed() -> Iterator[str]:
    """Yield the ratios of Tables 4 and 5: 400 jobs, rounds of six minutes."""
    yield "## Tables 4 and 5: 400 jobs, rounds of six minutes\n"
    yield (
        "The paper takes the busiest interval with 400 jobs, of a trace it does not name; here "
        "it is the shortest interval of a trace with 400 submissions. Muri by Algorithm 1 as "
        "printed (`muri`). Ratios over Muri-S (SRTF, SRSF) and Muri-L (Tiresias, Themis); printed: "
        "the testbed's.\n"
    )
    yield "| policy | metric | trace 1 | trace 3 | printed |\n" + "|" + "---|" * 5
    found = {(name, policy): rounds(busiest(name), policy)
             for name in ("trace1", "trace3") for policy in ROUNDS}  # fmt: skip
    for policy, (muri, printed) in TESTBED.items():
        for metric, value in zip(("mean_jct", "makespan", "p99_jct"), printed, strict=True):
            ours = [found[name, policy][metric] / found[name, muri][metric]
                    for name in ("trace1", "trace3")]  # fmt: skip
            yield f"| {policy} | {metric} | {ours[0]:.2f} | {ours[1]:.2f} | {value} |"


def busiest(name: str, count: int = 400) -> Workload:
    """Return the jobs that are submitted in the shortest interval with so many of them."""
    source = jobs(name).model_dump(mode="json", exclude_defaults=True)
    rows = source["jobs"]
    submit = [float(row.get("submit", 0)) for row in rows]
    first = min(range(len(rows) - count + 1), key=lambda i: submit[i + count - 1] - submit[i])
    chosen = rows[first : first + count]
    chosen = [row | {"submit": float(row.get("submit", 0)) - submit[first]} for row in chosen]
    return Workload.parse({"name": f"{name}, {count} jobs", "jobs": chosen}, "busiest")


def rounds(workload: Workload, policy: str) -> dict[str, float]:
    """Return the metrics of a policy that decides every six minutes only."""
    made = make_policy(policy)
    made.interval, made.on_events = 360, False  # type: ignore[attr-defined]
    run = simulate(workload, CLUSTER, made)
    require_sound(run)
    return run.summary


def jobs(name: str) -> Workload:
    """Return a trace; those with _pr have all jobs at 0."""
    path = DATA / f"{name.removesuffix('_pr')}.csv"
    return Workload.from_trace(path, "muri", together=name.endswith("_pr"))


def require_sound(run: Simulation) -> None:
    """Audit a simulation."""
    report = run.audit()
    if not report:
        raise SystemExit(f"the audit of {run} failed: {report.violations[:3]}")


SECTIONS = {
    **{name: partial(trace, name) for name in TRACES},
    "baselines": baselines,
    "testbed": testbed,
}

if __name__ == "__main__":
    write("muri_simulation", SECTIONS, arguments())
