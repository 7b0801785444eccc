"""Synergy's simulations: its published numbers, its figures, and what an optimum would save.

    python benchmarks/synergy_simulation.py [static figure9 figure12 figure11 figures7_8 ftf
                                             figure13 figure10 trace optimum generated]

Without arguments every section; prints markdown and writes it to
benchmarks/figures/synergy_simulation.md. Every simulation is audited. All sections but the last use
the profiles of ../shared/data/synergy, and are left out, saying so, if these are not there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any, NamedTuple

import numpy as np
from figures import ROOT, arguments, write
from numpy.typing import NDArray

from dlsched.simulation import Cluster, Workload
from dlsched.simulation.api import simulate
from dlsched.simulation.generators import synergy_workload
from dlsched.simulation.run import Simulation

DATA = ROOT.parent / "shared" / "data"
PROFILES = DATA / "synergy" / "profiles.json"
STATIC = DATA / "synergy" / "static_100job_6_3_1100.csv"
PHILLY = DATA / "muri" / "trace1.csv"
LONG, SHORT = (6500, slice(4000, 5000)), (2600, slice(1000, 2000))
"""Jobs of a workload, and those whose completion times count: as in the public code, and fewer."""


def recorded(section: Callable[[], Iterator[str]]) -> Callable[[], Iterator[str]]:
    """Leave a section out if the measured profiles are not there."""

    @wraps(section)
    def guarded() -> Iterator[str]:
        if PROFILES.exists():
            yield from section()
        else:
            yield f"## {section.__name__}\n\nLeft out: ../shared/data/synergy is not there."

    return guarded


def run(workload: Workload, cluster: Cluster, method: str, **options: Any) -> Simulation:
    """Simulate and audit."""
    made = simulate(workload, cluster, "synergy", method=method, **options)
    report = made.audit()
    if not report:
        raise SystemExit(f"the audit of {made} failed: {report.violations[:3]}")
    return made


def servers(count: int, cpus_per_gpu: int = 3) -> Cluster:
    """Return servers of 8 GPUs and 500 GB."""
    return Cluster.uniform(count, 8, cpus=8 * cpus_per_gpu, memory=500)


class Steady(NamedTuple):
    """Completion times in hours of jobs in the steady state; shares of GPUs and CPUs in use."""

    hours: NDArray[np.float64]
    gpus: float
    cpus: float

    @property
    def mean(self) -> float:
        """Mean completion time."""
        return float(self.hours.mean())

    @property
    def long(self) -> float:
        """95th percentile of the completion times of 4 h and more."""
        return float(np.quantile(self.hours[self.hours >= 4], 0.95))


@cache
def published(
    method: str,
    load: float,
    order: str = "fifo",
    split: str = "20/70/10",
    multi: bool = False,
    cpus_per_gpu: int = 3,
    length: str = "short",
) -> Steady:
    """Simulate the published variant on 128 GPUs, at so many jobs per hour."""
    number, measured = LONG if length == "long" else SHORT
    jobs = synergy_workload(
        number, load=load, split=split, multi=multi, measured=PROFILES, cpus_per_gpu=cpus_per_gpu
    )
    made = run(jobs, servers(16, cpus_per_gpu), method, order=order, variant="published")
    hours = made.jobs["jct"].to_numpy()[measured] / 3600
    use = (0.0, 0.0) if method == "opt" else _use(made, measured)
    made.log.close()
    return Steady(hours, *use)


def table(head: list[str]) -> str:
    """Return the head of a table."""
    return f"| {' | '.join(head)} |\n|{'---|' * len(head)}"


@recorded
def static() -> Iterator[str]:
    """Yield the makespans of the static trace."""
    yield "## Table 5, static trace: 100 jobs, 32 GPUs, FIFO\n"
    yield "Makespan in hours of the variant `published`, beside what the authors' simulator gives"
    yield "and what Table 5 prints for theirs; of the variant of the paper, in which jobs end when"
    yield "their work is done; mean completion times of both; CPU seconds of a simulation.\n"
    yield table(
        ["mechanism", "published", "authors' code", "Table 5", "rounds", "paper", "mean, published",
         "mean, paper", "s, published", "s, paper"]
    )  # fmt: skip
    known = {
        "proportional": ("15.25", "15.67"), "greedy": ("12.33", "-"), "tune": ("11.00", "11.33"),
        "opt": ("10.58", "11.01"),
    }  # fmt: skip
    jobs = Workload.from_trace(STATIC, "synergy", measured=PROFILES, together=True)
    cluster = servers(4)
    for method in (
        "proportional",
        "greedy",
        "tune",
        "tune_public",
        "water_filling",
        "balance",
        "price_round",
        "exact",
        "opt",
    ):
        cells = []
        for variant in ("published", "paper"):
            began = time.process_time()
            made = run(jobs, cluster, method, variant=variant)
            cells.append((made.summary, time.process_time() - began))
        (p, p_seconds), (o, o_seconds) = cells
        code, paper = known.get(method, ("-", "-"))
        yield (
            f"| {method} | {p['makespan'] / 3600:.2f} | {code} | {paper} "
            f"| {p['makespan'] / 300:.0f} | {o['makespan'] / 3600:.2f} "
            f"| {p['mean_jct'] / 3600:.2f} | {o['mean_jct'] / 3600:.2f} "
            f"| {p_seconds:.2f} | {o_seconds:.2f} |"
        )
    least = made.bound("makespan"), made.bound("mean_jct")
    yield (
        f"\nNo policy has a makespan below {float(least[0].value) / 3600:.2f} h "
        f"({least[0].source}), or a mean completion time below "
        f"{float(least[1].value) / 3600:.2f} h ({least[1].source})."
    )


@recorded
def figure9() -> Iterator[str]:
    """Yield completion times by load under FIFO."""
    yield "## Figures 1 and 9: FIFO, one GPU a job, 20/70/10, 128 GPUs\n"
    yield f"Mean completion time in hours of jobs 4000 to 4999 of {LONG[0]}, measured profiles,"
    yield "variant `published`, seed 42. Paper at 9 jobs/h: 81 in proportion, 22 tuned (3.4 times),"
    yield "20 with OPT.\n"
    yield table(["jobs/h", "proportional", "greedy", "tune", "opt", "proportional / tune"])
    for load in (8.0, 9.0):
        found = {
            method: published(method, load, length="long").mean
            for method in ("proportional", "greedy", "tune", *(["opt"] if load == 9 else []))
        }
        cells = [f"{mean:.2f}" for mean in found.values()] + ["-"] * (4 - len(found))
        yield (f"| {load:g} | {' | '.join(cells)} | {found['proportional'] / found['tune']:.2f} |")
    at = published("tune", 9.0, length="long").hours
    yield (
        f"\nTuned at 9 jobs/h: mean {float(at.mean())!r}, 99th percentile "
        f"{float(np.quantile(at, 0.99))!r}, 99.9th {float(np.quantile(at, 0.999))!r}; the authors' "
        "ae-readme.md prints "
        "21.876600555555555, 156.93307777777775, 170.61199750000023."
    )


@recorded
def figure12() -> Iterator[str]:
    """Yield completion times by CPUs per GPU."""
    yield "## Figure 12: CPUs per GPU, FIFO, 9 jobs/h\n"
    yield "As Figure 9. Each number of CPUs has its own set of profiles.\n"
    yield table(["CPUs per GPU", "proportional", "tune", "ratio", "paper's ratio"])
    for cpus, ratio in ((3, 3.4), (4, 3.0), (5, 2.2), (6, 1.8)):
        fair = published("proportional", 9.0, cpus_per_gpu=cpus, length="long").mean
        tuned = published("tune", 9.0, cpus_per_gpu=cpus, length="long").mean
        yield f"| {cpus} | {fair:.2f} | {tuned:.2f} | {fair / tuned:.2f} | {ratio} |"


@recorded
def figure11() -> Iterator[str]:
    """Yield completion times by split."""
    yield "## Figure 11: splits, FIFO, 1 to 8 GPUs a job\n"
    yield f"Mean completion time in hours of jobs 1000 to 1999 of {SHORT[0]}, else as Figure 9;"
    yield "sizes 1/2/4/8 at .70/.10/.15/.05. Paper: GREEDY falls behind proportional allocation as"
    yield "more jobs are sensitive, TUNE does not.\n"
    yield table(["image/language/speech", "jobs/h", "proportional", "greedy", "tune"])
    for split in ("20/70/10", "33/33/33", "50/0/50"):
        for load in (5.0,):
            found = [
                published(method, load, split=split, multi=True).mean
                for method in ("proportional", "greedy", "tune")
            ]
            cells = " | ".join(f"{value:.1f}" for value in found)
            yield f"| {split} | {load:g} | {cells} |"


@recorded
def figures7_8() -> Iterator[str]:
    """Yield completion times under LAS and SRTF."""
    yield "## Figures 7 and 8: LAS and SRTF, 1 to 8 GPUs a job, 20/70/10\n"
    yield "As Figure 11. Paper: up to 1.6 times in the mean; the 95th percentile of long jobs under"
    yield "LAS is halved. Long jobs take 4 h or more.\n"
    head = ["order", "jobs/h", "proportional", "tune", "ratio"]
    yield table([*head, "p95 of long, proportional", "p95 of long, tune"])
    for order, loads in (("las", (5.0,)), ("srtf", (5.0,))):
        for load in loads:
            fair, tuned = (
                published(method, load, order, multi=True) for method in ("proportional", "tune")
            )
            yield (
                f"| {order} | {load:g} | {fair.mean:.2f} | {tuned.mean:.2f} "
                f"| {fair.mean / tuned.mean:.2f} | {fair.long:.1f} | {tuned.long:.1f} |"
            )


@recorded
def ftf() -> Iterator[str]:
    """Yield completion times under finish-time fairness."""
    yield "## Section 5.3.2: finish-time fairness\n"
    yield "As Figure 11. The public code takes the jobs with the least finish-time fairness first."
    yield "Paper: 2.3 times with one GPU a job, 2 times with several.\n"
    yield table(["GPUs a job", "jobs/h", "proportional", "tune", "ratio"])
    for multi, load in ((False, 9.0), (True, 5.0)):
        fair, tuned = (
            published(method, load, "ftf", multi=multi).mean for method in ("proportional", "tune")
        )
        sizes = "1 to 8" if multi else "1"
        yield f"| {sizes} | {load:g} | {fair:.1f} | {tuned:.1f} | {fair / tuned:.2f} |"


@recorded
def figure13() -> Iterator[str]:
    """Yield completion times of DRF and Tetris."""
    yield "## Figure 13: DRF and Tetris, one GPU a job, 128 GPUs\n"
    yield "As Figure 11. With best-case demands as static ones, and tuned. Paper at 50/0/50: 7.2"
    yield "times (DRF) and 1.8 times (Tetris); it does not print the load.\n"
    yield table(["order", "image/language/speech", "jobs/h", "static", "tune", "ratio"])
    for order in ("drf", "tetris"):
        for split, load in (("20/70/10", 9.0), ("50/0/50", 6.0)):
            fixed, tuned = (
                published(method, load, order, split).mean for method in ("greedy", "tune")
            )
            yield (
                f"| {order} | {split} | {load:g} | {fixed:.2f} | {tuned:.2f} "
                f"| {fixed / tuned:.2f} |"
            )


@recorded
def figure10() -> Iterator[str]:
    """Yield shares of GPUs and CPUs in use."""
    yield "## Figure 10: GPUs allocated, CPUs used\n"
    yield "Over the time from the arrival of job 1000 to that of job 2000, FIFO, 1 to 8 GPUs a job:"
    yield "share of the GPUs that jobs hold, and of the CPUs that they use, which is at most their"
    yield "best case. Paper: 60 % of the CPUs in proportion, up to 90 % tuned, at low load; GREEDY"
    yield "leaves GPUs idle at 5.5 jobs/h with 33/33/33 or more sensitive jobs.\n"
    yield table(["image/language/speech", "jobs/h", "mechanism", "GPUs held", "CPUs used"])
    for split in ("20/70/10", "33/33/33", "50/0/50"):
        for load in (5.0,):
            for method in ("proportional", "greedy", "tune"):
                made = published(method, load, split=split, multi=True)
                shares = f"{100 * made.gpus:.0f} % | {100 * made.cpus:.0f} %"
                yield f"| {split} | {load:g} | {method} | {shares} |"


def _use(made: Simulation, measured: slice) -> tuple[float, float]:
    """Return the shares of GPUs and CPUs in use in the time measured."""
    jobs = made.workload.jobs
    begin, end = float(jobs[measured.start].submit), float(jobs[measured.stop].submit)
    best = {}
    for name, matrix in made.workload.matrices.items():
        fastest = max(max(row) for row in matrix.throughput)
        best[name] = float(
            min(
                c
                for c, row in zip(matrix.cpus, matrix.throughput, strict=True)
                if max(row) == fastest
            )
        )
    segments = made.log.rows("segments")
    lengths = np.array([max(0.0, min(end, s[2]) - max(begin, s[1])) for s in segments])
    gpus = np.array([s[3] for s in segments])
    used = np.array([min(_cpus(s[4]), s[3] * best[str(jobs[s[0]].profile)]) for s in segments])
    total = (end - begin) * made.cluster.gpus
    cpus = sum(float(server.cpus or 0) for server in made.cluster.servers) / made.cluster.gpus
    return float(lengths @ gpus) / total, float(lengths @ used) / (cpus * total)


@cache
def _cpus(shares: str) -> float:
    return float(sum(row[2] for row in json.loads(shares)))


@recorded
def trace() -> Iterator[str]:
    """Yield completion times on a trace derived from Philly."""
    yield "## Figure 6: a trace derived from Philly\n"
    yield "The paper's 8,000 jobs of Philly on 512 GPUs are not in the data here. Instead: Muri's"
    yield "trace 1, derived from Philly: the first 300 jobs, with their times, durations and GPUs,"
    yield "on 64 GPUs; a model for each job by the split 20/70/10; variant of the paper. Mean"
    yield "completion time in hours; paper: SRTF 30 to 26, LAS 32 to 28, FIFO 71 to 62 (1.15, 1.14,"
    yield "1.15 times).\n"
    yield table(["order", "proportional", "tune", "ratio", "bound over all policies"])
    jobs = Workload.from_trace(PHILLY, "synergy", measured=PROFILES, limit=300)
    for order in ("srtf", "las", "fifo"):
        fair, tuned = (
            run(jobs, servers(8), method, order=order) for method in ("proportional", "tune")
        )
        a, b = (made.summary["mean_jct"] / 3600 for made in (fair, tuned))
        least = float(tuned.bound("mean_jct").value) / 3600
        yield f"| {order} | {a:.2f} | {b:.2f} | {a / b:.2f} | {least:.2f} |"


METHODS = ("proportional", "greedy", "tune", "tune_public", "water_filling", "exact", "opt")


@recorded
def optimum() -> Iterator[str]:
    """Yield what the optimum of each round is worth."""
    yield "## What the optimum of each round is worth: 32 GPUs, measured profiles\n"
    yield "Mean completion time in hours of all 120 jobs (60 x 10^x s, x from 1.5 to 4, times 0.1;"
    yield "one GPU each; seed 42), variant of the paper: heuristics, the proven optimum of each"
    yield "round (`exact`), its relaxation that servers need not attain (`opt`), the lower bound"
    yield "over all policies. Saved: by `exact` of the mean with TUNE; then the makespans and"
    yield "the seconds of a decision by `exact`.\n"
    yield table(
        ["image/language/speech", "jobs/h", "order", *METHODS, "bound", "saved",
         "makespan, tune", "exact", "s a decision"]
    )  # fmt: skip
    for split in ("20/70/10", "60/30/10"):
        for load in (None, 22.0):
            jobs = synergy_workload(120, load=load, split=split, scale=0.1, measured=PROFILES)
            for order in ("fifo", "srtf"):
                found = {m: run(jobs, servers(4), m, order=order) for m in METHODS}
                mean = {m: made.summary["mean_jct"] / 3600 for m, made in found.items()}
                last = found["exact"]
                least = float(last.bound("mean_jct").value) / 3600
                saved = 100 * (1 - mean["exact"] / mean["tune"])
                spans = [found[m].summary["makespan"] / 3600 for m in ("tune", "exact")]
                yield (
                    f"| {split} | {'all at 0' if load is None else f'{load:g}'} | {order} | "
                    + " | ".join(f"{mean[m]:.2f}" for m in METHODS)
                    + f" | {least:.2f} | {saved:.1f} % | {spans[0]:.1f} | {spans[1]:.1f} "
                    f"| {last.summary['mean_decision_seconds']:.3f} |"
                )


def generated() -> Iterator[str]:
    """Yield the same on inputs that come with the package."""
    yield "## The same on generated profiles: 16 GPUs\n"
    yield "100 jobs, all submitted at 0. `exact` ends where a round's optimum is proved to 1 %: the"
    yield "generated throughputs have three decimals, and full proofs take minutes a round.\n"
    yield table(["image/language/speech", "order", *METHODS, "bound", "saved"])
    for split in ("20/70/10", "60/30/10"):
        jobs = synergy_workload(100, load=None, split=split, scale=0.05)
        for order in ("fifo", "srtf"):
            mean = {}
            for method in METHODS:
                more = {"gap": 0.01} if method == "exact" else {}
                made = run(jobs, servers(2), method, order=order, **more)
                mean[method] = made.summary["mean_jct"] / 3600
            least = float(made.bound("mean_jct").value) / 3600
            saved = 100 * (1 - mean["exact"] / mean["tune"])
            cells = " | ".join(f"{mean[m]:.2f}" for m in METHODS)
            yield f"| {split} | {order} | {cells} | {least:.2f} | {saved:.1f} % |"


SECTIONS = {
    section.__name__: section
    for section in (
        static, figure9, figure12, figure11, figures7_8, ftf, figure13, figure10, trace, optimum,
        generated,
    )
}  # fmt: skip

if __name__ == "__main__":
    write("synergy_simulation", SECTIONS, arguments())
