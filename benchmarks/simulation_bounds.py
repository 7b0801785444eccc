"""Lower bounds on simulated metrics: how far policies are from them, and which step gains what.

    python benchmarks/simulation_bounds.py [alone shared published papers large]

Without arguments every section; prints markdown and writes it to
benchmarks/figures/simulation_bounds.md. All but the last use ../shared/data.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from figures import ROOT, arguments, write
from published.bounds import bound as published_bound

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.bounds import bound, makespan, mean, pooled
from dlsched.simulation.bounds.demands import Demands, Mode, Resource, demands, pool
from dlsched.simulation.bounds.mean import PriceAscent
from dlsched.simulation.bounds.sharing import group_facet, mixtures, stage_facet, stage_sharing
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.generators import hadar_cluster, hadar_workload

DATA = ROOT.parent / "shared" / "data"
TRACES = ("trace1", "trace3", "trace1_pr", "trace3_pr")
CLUSTER = Cluster.uniform(8, 8)
ONE = (Fraction(1),)
HOUR = 3600


def trace(name: str, **options: int) -> Workload:
    """Return the jobs of one of Muri's traces; with ``_pr`` they are all submitted at 0."""
    path = DATA / "muri" / f"{name.removesuffix('_pr')}.csv"
    return Workload.from_trace(path, "muri", together=name.endswith("_pr"), **options)


def steps(d: Demands) -> list[float]:
    """Return the bounds of the pooled machine, of the first prices, and of the last."""
    one = pool(d, ONE)
    search = PriceAscent.of(d, ONE)
    found = [pooled.total_by_remaining_time(one), pooled.total_of_submission_and_length(one)]
    found.append(search.best)
    search.run()
    start = sum(d.release)
    return [float(x - start) / len(d.release) / TICKS for x in (*found, search.best)]


def alone() -> Iterator[str]:
    """Yield the bounds of policies whose jobs have their GPUs to themselves, beside SRSF."""
    yield "## Mean completion time, seconds, no sharing: SRSF on Muri's traces\n"
    yield (
        "| trace | remaining time | jobs alone | first prices | bound | SRSF | gap "
        "| makespan bound | SRSF | CPU s |"
    )
    yield "|" + "---|" * 10
    for name in TRACES:
        workload = trace(name)
        run = simulate(workload, CLUSTER, "srsf")
        began = time.process_time()
        found = steps(demands(workload, CLUSTER))
        spent = time.process_time() - began
        span = float(bound(workload, CLUSTER, "makespan").value)
        jct, end = run.summary["mean_jct"], run.summary["makespan"]
        cells = " | ".join(f"{x:,.0f}" for x in (*found, jct))
        yield (
            f"| {name} | {cells} | {100 * (jct - found[-1]) / jct:.1f} % "
            f"| {span:,.0f} | {end:,.0f} | {spent:.1f} |"
        )
    yield ""


def shared() -> Iterator[str]:
    """Yield the bounds of policies that share GPUs, with both kinds of charges."""
    yield "## Where jobs share GPUs: charges by stages, and by groups\n"
    yield (
        "Pooled GPU time over 64 GPUs, seconds: alone, with the best of 45 mixtures of the three "
        "stages as charges, and with the best charges for all groups of up to three. Then the "
        "bounds on mean completion time and makespan.\n"
    )
    yield "| trace | alone | mixtures | groups | mean, bound | source | makespan, bound | CPU s |"
    yield "|" + "---|" * 8
    for name in TRACES:
        workload = trace(name)
        began = time.process_time()
        jobs = stage_sharing(workload, CLUSTER)
        best = group_facet(jobs, jobs.loads())
        assert best is not None, "the traces have few kinds of jobs"
        every = [stage_facet(jobs, weights) for weights in mixtures(3)]
        area = [
            sum(load * float(x) for load, x in zip(jobs.loads(), facet, strict=True)) / 64 / TICKS
            for facet in (tuple(Fraction(1) for _ in best), best, *every)
        ]
        value = bound(workload, CLUSTER, sharing=True)
        span = float(bound(workload, CLUSTER, "makespan", sharing=True).value)
        yield (
            f"| {name} | {area[0]:,.0f} | {max(area[2:]):,.0f} | {area[1]:,.0f} "
            f"| {float(value.value):,.0f} | {value.source} | {span:,.0f} "
            f"| {time.process_time() - began:.1f} |"
        )
    yield ""


def published() -> Iterator[str]:
    """Yield the bounds for the simulator of Muri's authors, beside the printed figures."""
    yield "## The published simulator: bounds and printed figures, seconds\n"
    yield (
        "Bounds are for all policies that share GPUs like those named. Themis' are those of SRTF; "
        "its printed makespan of trace 3, 8,172,105, is below.\n"
    )
    yield "| trace | policies | mean, bound | least printed | makespan, bound | least printed |"
    yield "|" + "---|" * 6
    printed = json.loads((DATA / "muri" / "published.json").read_text())["traces"]
    kinds = {"srsf": ("srtf", "srsf", "tiresias"), "muri_s": ("muri_s", "muri_l"),
             "antman": ("antman",)}  # fmt: skip
    for name in ("trace3", "trace3_pr", "trace1"):
        jobs = trace(name, resources=3)
        for policy, same in kinds.items():
            cells = []
            for metric in ("mean_jct", "makespan"):
                limit = float(published_bound(jobs, CLUSTER, policy, metric).value)
                least = min(printed[name][each][metric] for each in same)
                cells += [f"{limit:,.0f}", f"{least:,.0f}"]
            yield f"| {name} | {', '.join(same)} | {' | '.join(cells)} |"
    yield ""


def one_resource(d: Demands) -> Demands:
    """Return the demands as if all GPUs were of each job's fastest type, with its best CPUs."""
    of_gpus = [i for i, r in enumerate(d.resources) if r.name.startswith("GPUs")]
    total = sum((d.resources[i].most for i in of_gpus), Fraction(0))
    modes = [
        (Mode(kind.length, (min(sum(m.uses[i] for i in of_gpus) for m in kind.modes),)),)
        for kind in d.kinds
    ]
    rows = [(r, w, modes[k]) for r, w, k in zip(d.release, d.work, d.kind, strict=True)]
    return Demands.of([Resource("GPUs", ((0, total),))], rows)


def papers() -> Iterator[str]:
    """Yield the bounds of Hadar's workload and Synergy's static trace."""
    yield "## Types of GPUs, CPUs and memory: hours\n"
    yield "All submitted at 0. One resource: GPUs, each as fast as a job can be.\n"
    yield "| workload | mean, one resource | mean | makespan, one resource | makespan | CPU s |"
    yield "|" + "---|" * 6
    rates = DATA / "gavel" / "isolated_throughputs.json"
    profiles = DATA / "synergy" / "profiles.json"
    trace = DATA / "synergy" / "static_100job_6_3_1100.csv"
    static = Workload.from_trace(trace, "synergy", measured=profiles, together=True)
    cases = (
        ("Hadar, section IV", hadar_workload(measured=rates), hadar_cluster()),
        ("Synergy, static trace", static, Cluster.uniform(4, 8, cpus=24, memory=500)),
    )
    for label, workload, cluster in cases:
        began = time.process_time()
        weak = one_resource(demands(workload, cluster))
        found = [mean.prove(weak).total(weak)[0] / len(weak.work) / TICKS,
                 bound(workload, cluster).value,
                 makespan.of_demands(weak)[0] / TICKS,
                 bound(workload, cluster, "makespan").value]  # fmt: skip
        cells = " | ".join(f"{float(x) / HOUR:.2f}" for x in found)
        yield f"| {label} | {cells} | {time.process_time() - began:.1f} |"
    yield ""


def drawn(jobs: int, servers: int, load: float, seed: int = 0) -> Workload:
    """Return synthetic jobs with arrivals over as long as the GPUs are busy at a load."""
    rng = np.random.default_rng(seed)
    work = np.round(60 * 10 ** rng.uniform(0, 3, jobs))
    gpus = rng.choice([1, 2, 4, 8], jobs, p=[0.7, 0.1, 0.15, 0.05])
    submit = np.sort(rng.uniform(0, float((work * gpus).sum()) / (8 * servers * load), jobs))
    stages = rng.integers(1, 9, (8, 3)).tolist()
    rows = [
        {"id": f"j{i}", "submit": int(submit[i]), "gpus": int(gpus[i]), "work": int(work[i]),
         "stages": stages[i % 8]}
        for i in range(jobs)
    ]  # fmt: skip
    return Workload.parse({"name": "drawn", "jobs": rows}, "the benchmark")


def large() -> Iterator[str]:
    """Yield time and memory on 20,000 synthetic jobs."""
    yield "## 20,000 synthetic jobs, 64 servers of 8 GPUs, load 1.1\n"
    yield "| sharing | metric | bound, s | source | SRSF, s | CPU s | largest memory so far, MB |"
    yield "|" + "---|" * 7
    workload, cluster = drawn(20_000, 64, 1.1), Cluster.uniform(64, 8)
    summary = simulate(workload, cluster, "srsf").summary
    for sharing in (False, True):
        for metric in ("mean_jct", "makespan"):
            began = time.process_time()
            found = bound(workload, cluster, metric, sharing=sharing)
            spent = time.process_time() - began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            yield (
                f"| {'yes' if sharing else 'no'} | {metric} | {float(found.value):,.0f} "
                f"| {found.source} | {'' if sharing else f'{summary[metric]:,.0f}'} "
                f"| {spent:.1f} | {memory:,.0f} |"
            )
    yield ""


SECTIONS = {
    "alone": alone, "shared": shared, "published": published, "papers": papers, "large": large,
}  # fmt: skip

if __name__ == "__main__":
    write("simulation_bounds", SECTIONS, arguments())
