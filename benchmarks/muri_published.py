"""Muri's published simulator: its printed figures, and what optimal groups are worth in it.

Needs the traces of ../shared/data/muri. Every simulation is audited from its log. Processor seconds
depend less than seconds on what else the machine does.
"""

import json
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from code_version import ROOT
from published import simulate
from published.muri.blossom import heaviest
from runs import Row

from dlsched.simulation import Cluster, Workload

DATA = ROOT.parent / "shared" / "data" / "muri"
TRACES = ("trace1", "trace1_pr", "trace3", "trace3_pr")
LARGE = ("trace2", "trace4")
"""Traces on which other matchings and variants would take an hour."""
METRICS = ("mean_jct", "makespan", "p99_jct")
MURI = ("muri_s", "muri_l")
NOISE = (0.2, 0.4, 0.6, 0.8, 1.0)
VARIANTS: dict[str, tuple[str, Row]] = {
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


def printed(trace: str, policy: str) -> Any:
    """Return what is printed of a policy or a variant on a trace."""
    if policy in VARIANTS:
        return published()["figures"][policy][trace]
    return published()["traces"][trace][policy]


def measure(jobs: Workload, policy: str, **options: Any) -> Row:
    """Simulate, audit, and return the metrics and the processor seconds."""
    heaviest(1 - np.eye(2))  # compiled or loaded before the clock starts
    began = time.process_time()
    run = simulate(jobs, CLUSTER, policy, **options)
    spent = time.process_time() - began
    report = run.audit()
    assert report.feasible, report.violations[:3]
    return {name: run.summary[name] for name in METRICS} | {"CPU s": spent}


@cache
def result(trace: str, policy: str, **options: Any) -> Row:
    """Simulate a policy or a variant on a trace, once."""
    if policy in VARIANTS:
        return measure(workload(trace), "muri_l", **VARIANTS[policy][1])
    return measure(workload(trace), policy, **options)


def family(name: str) -> Iterator[Row]:
    """Yield all policies on a trace, with arrivals and with all jobs at 0.

    On the smaller traces also Muri with other matchings, and the variants of Figures 11 and 12.
    """
    for trace in (name, f"{name}_pr"):
        known = {policy: dict(values) for policy, values in published()["traces"][trace].items()}
        rows: list[tuple[str, str, Row, Row]] = []
        if trace == "trace3":
            mean_split = {"mean_jct": known["muri_l"].pop("mean_jct")}
            rows.append(("muri_l, split", "muri_l", {"split": True}, mean_split))
            again = published()["rerun"][trace]["muri_s"]
            rows.append(("muri_s, split, rerun", "muri_s", {"split": True}, again))
        rows += [(policy, policy, {}, values) for policy, values in known.items()]
        if name not in LARGE:
            rows += [(f"{p} (muri)", p, {"method": "muri"}, known[p]) for p in MURI]
            figures = published()["figures"]
            rows += [
                (label, variant, {}, figures[variant][trace])
                for variant, (label, _) in VARIANTS.items()
                if trace in figures[variant]
            ]
        for label, policy, options, values in rows:
            ours, row = result(trace, policy, **options), {"table": 0, "trace": trace}
            row["policy"] = label
            for metric in METRICS:
                row[f"{metric}, ours"] = f"{ours[metric]:,.3f}"
                there = metric in values
                row[f"{metric}, printed"] = f"{values[metric]:,.3f}" if there else "-"
                off = f"{ours[metric] / values[metric] - 1:+.1e}" if there else "-"
                row[f"{metric}, difference"] = off
            yield row | {"CPU s": f"{ours['CPU s']:.1f}"}
    for policy, base in PAIRS if name in LARGE else ():
        for trace in (name, f"{name}_pr"):
            yield {"table": 1, "policy": policy, "over": base} | over(trace, policy, base)


def over(trace: str, policy: str, base: str, metrics: Sequence[str] = METRICS) -> Row:
    """Return the ratios of two policies' metrics, ours and as printed."""
    row: Row = {"trace": trace}
    for metric in metrics:
        for whose, of in (("ours", result), ("printed", printed)):
            top, bottom = (of(trace, name)[metric] for name in (policy, base))
            row[f"{metric}, {whose}"] = f"{top / bottom:.2f}"
    return row


def exact() -> Iterator[Row]:
    """Yield what the best groups of every round are worth."""
    for trace in ("trace3", "trace3_pr"):
        for policy in MURI:
            found = {
                "template": result(trace, policy),
                "exact": result(trace, policy, method="exact", weigh_by="groups"),
            }
            row: Row = {"trace": trace, "policy": policy}
            for metric, name in {"mean_jct": "mean", "makespan": "makespan"}.items():
                values = [run[metric] for run in found.values()]
                row |= {f"{metric}, {how}": run[metric] for how, run in found.items()}
                row[f"{name} saved"] = f"{1 - values[1] / values[0]:.1%}"
            yield row | {f"CPU s, {how}": run["CPU s"] for how, run in found.items()}


RATIOS = {"muri_s": ("srtf", "srsf"), "muri_l": ("tiresias", "antman"), "muri_l ": ("themis",)}
"""The tables of ratios: the Muri that policies are compared with; Themis is alike in shape only."""


def shapes() -> Iterator[Row]:
    """Yield the ratios of Figures 9 to 12, beside those of the printed figures."""
    for table, (muri, policies) in enumerate(RATIOS.items()):
        for policy in policies:
            for trace in TRACES:
                row: Row = {"table": table, "policy": policy}
                yield row | over(trace, policy, muri.strip())
    for variant, (label, _) in VARIANTS.items():
        for trace in published()["figures"][variant]:
            if trace in TRACES:
                row = {"table": 3, "variant": label}
                yield row | over(trace, variant, "muri_l", METRICS[:2])
    for size in (2, 3):
        for trace in ("trace1_pr", "trace3_pr"):
            row = {"table": 4, "groups": size}
            yield row | over(trace, "antman", f"max_group_{size}", METRICS[:2])
    for other in ("tiresias", "themis"):
        for trace in TRACES:
            yield {"table": 5, "over": other} | over(trace, "antman", other)


def bottlenecks() -> Iterator[Row]:
    """Yield Figure 13 on the authors' jobs."""
    for kinds in range(1, 5):
        jobs = workload(f"job_type_{kinds}" if kinds < 4 else "trace3")
        known = published()["figure_13"][f"job_type_{kinds}"]
        for policy, muri in (("srtf", MURI[0]), ("tiresias", MURI[1])):
            ways = [("split",), (), ("split", "queues")][: 3 if muri == "muri_l" else 2]
            base = measure(jobs, policy)["mean_jct"]
            for name, way in ((policy, ()), *((muri, way) for way in ways)):
                ours = measure(jobs, name, **dict.fromkeys(way, True))["mean_jct"]
                theirs = known[name]["mean_jct"]
                row = {"kinds": kinds, "policy": ", ".join([name, *way])}
                row |= {"mean completion s": f"{ours:,.4f}", "published": f"{theirs:,.4f}"}
                row["difference"] = f"{ours / theirs - 1:+.1e}"
                if name == muri:
                    row["ratio over Muri"] = f"{base / ours:.2f}"
                    row["published ratio"] = f"{known[policy]['mean_jct'] / theirs:.2f}"
                yield row


def noise() -> Iterator[Row]:
    """Yield completion times and makespans over those without wrong profiles (Figure 14)."""
    for policy in MURI:
        base = result("trace3", policy)
        for error in NOISE:
            for seed in range(1, 6):
                run = measure(workload("trace3"), policy, profile_error=error, seed=seed)
                row = {"policy": policy, "error": str(error), "seed": seed}
                row["mean"] = run["mean_jct"] / base["mean_jct"]
                yield row | {"makespan": run["makespan"] / base["makespan"]}
