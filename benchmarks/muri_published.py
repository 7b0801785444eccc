"""Muri's published simulator: its printed figures, and what optimal groups are worth in it.

    python benchmarks/muri_published.py [trace3 trace1 trace2 trace4 exact exact_large weights
                                         shapes bottlenecks noise audits]

Needs the traces of ../shared/data/muri. Every simulation is audited from its log. Tables have
ours, the published value and their relative difference; figures are in
benchmarks/figures/muri_published.md. Processor seconds depend less than seconds on what else the
machine does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from published import simulate
from published.muri.blossom import heaviest

from dlsched.simulation import Cluster, Workload

DATA = Path(__file__).parents[1].parent / "shared/data/muri"
TRACES = ("trace1", "trace1_pr", "trace3", "trace3_pr")
LARGE = ("trace2", "trace4")
"""Traces on which other matchings and variants would take an hour."""
METRICS = ("mean_jct", "makespan", "p99_jct")
MURI = ("muri_s", "muri_l")
NOISE = (0.2, 0.4, 0.6, 0.8, 1.0)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "worst_order": ("muri_l, worst order", {"worst_order": True}),
    "no_blossom": ("muri_l, without Blossom", {"method": "in_order"}),
    "max_group_2": ("muri_l, at most 2", {"max_group_size": 2}),
    "max_group_3": ("muri_l, at most 3", {"max_group_size": 3}),
}
"""The variants of Figures 11 and 12: name, and options."""
PAIRS = (
    *((policy, "muri_s") for policy in ("srtf", "srsf")),
    *((policy, "muri_l") for policy in ("tiresias", "antman", "themis")),
    *(("antman", policy) for policy in ("tiresias", "themis")),
)
"""The policies of Figures 9 and 10, and those that they are compared with."""
CLUSTER = Cluster.uniform(8, 8)


class Run(NamedTuple):
    """Metrics of a simulation, and the processor seconds and seconds that it took."""

    metrics: dict[str, float]
    cpu: float
    seconds: float


@cache
def workload(trace: str) -> Workload:
    """Return a trace; those with _pr have all jobs at 0."""
    path = DATA / f"{trace.removesuffix('_pr')}.csv"
    return Workload.from_trace(path, "muri", together=trace.endswith("_pr"), resources=3)


@cache
def published() -> Any:
    """Return what the authors printed."""
    first, more = (
        json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("published", "published_more")
    )
    figures = {v: first["figures"][v] | more["figures"][v] for v in VARIANTS}
    known = {"traces": first["traces"] | more["traces"], "figures": figures}
    return first | known | {"figure_13": more["figure_13"]}


@cache
def compile_matching() -> None:
    """Compile or load the matching, before a clock starts."""
    heaviest(1 - np.eye(2))


def measure(jobs: Workload, policy: str, **options: Any) -> Run:
    """Simulate, audit, and return the metrics."""
    compile_matching()
    began, cpu = time.perf_counter(), time.process_time()
    run = simulate(jobs, CLUSTER, policy, **options)
    took = time.process_time() - cpu, time.perf_counter() - began
    report = run.audit()
    assert report.feasible, report.violations[:3]
    return Run({name: run.summary[name] for name in METRICS}, *took)


@cache
def result(trace: str, policy: str, **options: Any) -> Run:
    """Simulate one of the four traces, once."""
    return measure(workload(trace), policy, **options)


def beside(run: Run, printed: dict[str, float]) -> str:
    """Return cells for each metric: ours, and the relative difference to what is printed."""
    cells = []
    for name in METRICS:
        ours = run.metrics[name]
        if name in printed:
            cells.append(f"{ours:,.3f} | {printed[name]:,.3f} | {ours / printed[name] - 1:+.1e}")
        else:
            cells.append(f"{ours:,.3f} | - | -")
    return f"{' | '.join(cells)} | {run.cpu:.1f}"


def family(name: str) -> Iterator[str]:
    """Yield all policies on a trace, with arrivals and with all jobs at 0.

    On the smaller traces also Muri with other matchings, and the variants of Figures 11 and 12.
    """
    cells = "".join(f" {metric}, ours | printed | difference |" for metric in METRICS)
    yield f"| trace | policy |{cells} CPU s |"
    yield "|" + "---|" * 12
    figures = published()["figures"]
    for trace in (name, f"{name}_pr"):
        rows: list[tuple[str, str, dict[str, Any], dict[str, float]]] = []
        known = {policy: dict(values) for policy, values in published()["traces"][trace].items()}
        if trace == "trace3":
            mean_split = {"mean_jct": known["muri_l"].pop("mean_jct")}
            rows.append(("muri_l, split", "muri_l", {"split": True}, mean_split))
            again = published()["rerun"][trace]["muri_s"]
            rows.append(("muri_s, split, rerun", "muri_s", {"split": True}, again))
        rows += [(policy, policy, {}, values) for policy, values in known.items()]
        if name not in LARGE:
            rows += [(f"{p} (muri)", p, {"method": "muri"}, known[p]) for p in MURI]
        for variant, (label, options) in VARIANTS.items():
            if trace in figures[variant] and name not in LARGE:
                rows.append((label, "muri_l", options, figures[variant][trace]))
        for label, policy, options, values in rows:
            yield f"| {trace} | {label} | {beside(result(trace, policy, **options), values)} |"
    if name in LARGE:
        yield from ratios((name, f"{name}_pr"))


def ratios(traces: tuple[str, ...]) -> Iterator[str]:
    """Yield one policy's metrics over another's, ours and as printed."""
    titles = [f"{metric}, ours | {metric}, printed" for metric in METRICS]
    yield f"| policy | over | trace | {' | '.join(titles)} |\n" + "|" + "---|" * 9
    for policy, base in PAIRS:
        for trace in traces:
            printed = published()["traces"][trace]
            ours = [result(trace, name).metrics for name in (policy, base)]
            cells = over(*ours, printed[policy], printed[base])
            yield f"| {policy} | {base} | {trace} | {cells} |"


def exact() -> Iterator[str]:
    """Yield what the best groups of every round are worth."""
    yield from optimum(("trace3", "trace3_pr"), "groups")


def optimum(traces: tuple[str, ...], weigh_by: str) -> Iterator[str]:
    """Yield a table of heuristic and optimum."""
    yield (
        "| trace | policy | mean_jct, template | mean_jct, exact | mean saved "
        "| makespan, template | makespan, exact | makespan saved | CPU s, template | CPU s, exact |"
    )
    yield "|" + "---|" * 10
    for trace in traces:
        for policy in MURI:
            base, best = (
                result(trace, policy),
                result(trace, policy, method="exact", weigh_by=weigh_by),
            )
            cells = []
            for name in ("mean_jct", "makespan"):
                ours, least = base.metrics[name], best.metrics[name]
                cells.append(f"{ours:,.0f} | {least:,.0f} | {1 - least / ours:.1%}")
            cells.append(f"{base.cpu:.0f} | {best.cpu:.0f}")
            yield f"| {trace} | {policy} | {' | '.join(cells)} |"


RATIOS = {
    "SRTF and SRSF": ("muri_s", ("srtf", "srsf")),
    "Tiresias and AntMan": ("muri_l", ("tiresias", "antman")),
    "Themis, repeated in shape only,": ("muri_l", ("themis",)),
}
"""The tables of ratios: policies, and the Muri that they are compared with."""


def shapes() -> Iterator[str]:
    """Yield the ratios of Figures 9 to 12, beside those of the printed figures."""
    titles = [f"{metric}, ours | {metric}, printed" for metric in METRICS]
    for label, (muri, policies) in RATIOS.items():
        yield f"{label} over {muri}.\n"
        yield f"| policy | trace | {' | '.join(titles)} |\n" + "|" + "---|" * 8
        for policy in policies:
            for trace in TRACES:
                printed = published()["traces"][trace]
                ours = [result(trace, name).metrics for name in (policy, muri)]
                yield f"| {policy} | {trace} | {over(*ours, printed[policy], printed[muri])} |"
    yield f"| variant | trace | {' | '.join(titles[:2])} |\n" + "|" + "---|" * 6
    for variant, (label, options) in VARIANTS.items():
        for trace, printed in published()["figures"][variant].items():
            if trace in TRACES:
                base = published()["traces"][trace]["muri_l"]
                ours = [result(trace, "muri_l", **each).metrics for each in (options, {})]
                yield f"| {label} | {trace} | {over(*ours, printed, base, METRICS[:2])} |"
    yield f"| groups | trace | {' | '.join(titles[:2])} |\n" + "|" + "---|" * 6
    for size in (2, 3):
        for trace in ("trace1_pr", "trace3_pr"):
            printed = published()["figures"][f"max_group_{size}"][trace]
            antman = published()["traces"][trace]["antman"]
            limited = result(trace, "muri_l", max_group_size=size).metrics
            ours = [result(trace, "antman").metrics, limited]
            yield f"| {size} | {trace} | {over(*ours, antman, printed, METRICS[:2])} |"
    yield f"| over | trace | {' | '.join(titles)} |\n" + "|" + "---|" * 8
    for other in ("tiresias", "themis"):
        for trace in TRACES:
            printed = published()["traces"][trace]
            ours = [result(trace, name).metrics for name in ("antman", other)]
            yield f"| {other} | {trace} | {over(*ours, printed['antman'], printed[other])} |"


def over(
    ours: dict[str, float],
    our_base: dict[str, float],
    printed: dict[str, float],
    printed_base: dict[str, float],
    metrics: tuple[str, ...] = METRICS,
) -> str:
    """Return the cells of ratios, ours and printed, of each metric."""
    return " | ".join(
        f"{ours[m] / our_base[m]:.2f} | {printed[m] / printed_base[m]:.2f}" for m in metrics
    )


def bottlenecks() -> Iterator[str]:
    """Yield Figure 13 on the authors' jobs."""
    yield (
        "| kinds | policy | mean completion s | published | difference | ratio over Muri "
        "| published ratio |"
    )
    yield "|" + "---|" * 7
    for kinds in range(1, 5):
        jobs = workload(f"job_type_{kinds}" if kinds < 4 else "trace3")
        printed = published()["figure_13"][f"job_type_{kinds}"]
        for policy, muri in (("srtf", MURI[0]), ("tiresias", MURI[1])):
            base = measure(jobs, policy).metrics["mean_jct"]
            theirs = printed[policy]["mean_jct"]
            yield (
                f"| {kinds} | {policy} | {base:,.4f} | {theirs:,.4f} | {base / theirs - 1:+.1e} "
                "| | |"
            )
            ways = [("split",), (), ("split", "queues")]
            for way in ways if muri == "muri_l" else ways[:2]:
                ours = measure(jobs, muri, **dict.fromkeys(way, True)).metrics["mean_jct"]
                known = printed[muri]["mean_jct"]
                yield (
                    f"| {kinds} | {', '.join([muri, *way])} | {ours:,.4f} | {known:,.4f} "
                    f"| {ours / known - 1:+.1e} | {base / ours:.2f} | {theirs / known:.2f} |"
                )


def noise() -> Iterator[str]:
    """Yield the shape of Figure 14."""
    yield "| policy | " + " | ".join(map(str, NOISE)) + " | makespan |\n" + "|" + "---|" * 7
    for policy in MURI:
        base = result("trace3", policy).metrics
        cells, spans = [], []
        for error in NOISE:
            runs = [measure(workload("trace3"), policy, profile_error=error, seed=s).metrics
                    for s in range(1, 6)]  # fmt: skip
            over = [run["mean_jct"] / base["mean_jct"] for run in runs]
            spans += [run["makespan"] / base["makespan"] for run in runs]
            cells.append(f"{sum(over) / len(over):.3f} ({min(over):.3f}-{max(over):.3f})")
        yield f"| {policy} | {' | '.join(cells)} | {max(spans):.4f} |"


SECTIONS = {
    **{name: partial(family, name) for name in ("trace3", "trace1", "trace2", "trace4")},
    "exact": exact,
    "shapes": shapes,
    "bottlenecks": bottlenecks,
    "noise": noise,
}
