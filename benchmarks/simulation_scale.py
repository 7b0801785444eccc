"""What a simulation costs: processor time and memory, by the number of jobs, and of known traces.

    python benchmarks/simulation_scale.py [scale queue burst srsf published]

Every row is a process of its own. Seconds are those of the processor in this process, which depend
little on what else the machine does; memory is the most that the process had resident, of which
Python with its libraries is about 60 MB before, and 150 MB once the metrics load pandas. The
figures go into benchmarks/figures/simulation_scale.md.
"""

from __future__ import annotations

import math
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import published as published_simulators
from figures import arguments, write

from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.policies.ordering import Fifo

T = TypeVar("T")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SIZES, WEIGHTS = (1, 2, 4, 8, 16, 32), (60, 10, 12, 12, 4, 2)
"""GPUs of the synthetic jobs, and how many of each in a hundred."""
SYNERGY = ("static_100job_6_3_1100.csv", "profiles.json")
SERVERS, GPUS = 512, 8
MEAN_SECONDS = 11_200
"""About the mean of the running times, which `load` refers to."""
HEAD = (
    "| jobs | load | stretches | log, MB | simulation, s | memory, MB | audit and metrics, s | "
    "memory, MB | mean JCT, h |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


class Cost(NamedTuple):
    """Processor time of a step in seconds, and the most memory so far in MB."""

    seconds: float
    memory: float

    @classmethod
    def of(cls, step: Callable[[], Any]) -> tuple[Cost, Any]:
        """Take a step; return its cost and its result."""
        began = time.process_time()
        result = step()
        seconds = time.process_time() - began
        return cls(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024), result


def synthetic(count: int, load: float) -> Workload:
    """Return jobs that arrive as a Poisson process; times are log-normal, up to 23 days."""
    rng = random.Random(count)
    gpus = sum(g * w for g, w in zip(SIZES, WEIGHTS, strict=True)) / 100
    rate = SERVERS * GPUS * load / (gpus * MEAN_SECONDS)
    now, jobs = 0.0, []
    for i in range(count):
        now += rng.expovariate(rate)
        jobs.append(
            {
                "id": f"j{i}",
                "submit": round(now, 3),
                "gpus": rng.choices(SIZES, WEIGHTS)[0],
                "work": round(min(rng.lognormvariate(8.2, 1.5), 2e6), 3),
            }
        )
    return Workload.parse({"name": "synthetic", "jobs": jobs}, "synthetic")


def large(count: int, load: float) -> str:
    """Simulate SRTF into a file, and audit; return the line of the table."""
    jobs, cluster = synthetic(count, load), Cluster.uniform(SERVERS, GPUS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        cost, run = Cost.of(lambda: simulate(jobs, cluster, "srtf", log=path))
        size = path.stat().st_size / 1e6
        checked, report = Cost.of(run.audit)
        assert report, report
        mean = run.summary["mean_jct"] / 3600
    stretches = report.details["segments"]
    return (
        f"| {count:,} | {load:g} | {stretches:,} | {size:.0f} | {cost.seconds:.1f} | "
        f"{cost.memory:.0f} | {checked.seconds:.1f} | {checked.memory:.0f} | {mean:.2f} |"
    )


def traced(label: str, own: str, public: str) -> str:
    """Simulate a published trace; return the line of the table."""
    run: Any
    cost, run = Cost.of(RUNS[label])
    assert run.audit()
    hours = run.summary["makespan"] / 3600
    return (
        f"| {label} | {len(run.workload.jobs):,} | {cost.seconds:.2f} | {own} | {public} | "
        f"{cost.memory:.0f} | {hours:.2f} |"
    )


def _muri(trace: str, policy: str) -> published_simulators.Simulation:
    jobs = Workload.from_trace(SHARED / "muri" / f"{trace}.csv", profiles="muri", resources=3)
    return published_simulators.simulate(jobs, Cluster.uniform(), policy)


def _paper(trace: str, policy: str) -> Simulation:
    jobs = Workload.from_trace(SHARED / "muri" / f"{trace}.csv", profiles="muri")
    return simulate(jobs, Cluster.uniform(), policy)


def _synergy() -> published_simulators.Simulation:
    file, measured = (SHARED / "synergy" / name for name in SYNERGY)
    jobs = Workload.from_trace(file, "synergy", measured=measured, together=True)
    cluster = Cluster.uniform(4, 8, cpus=24, memory=500)
    return published_simulators.simulate(jobs, cluster, "synergy", method="tune")


RUNS: dict[str, Callable[[], Any]] = {
    "trace 1, SRTF": lambda: _paper("trace1", "srtf"),
    "trace 1, SRTF, published": lambda: _muri("trace1", "srtf"),
    "trace 1, Muri-S, published": lambda: _muri("trace1", "muri_s"),
    "trace 3, Muri-S, published": lambda: _muri("trace3", "muri_s"),
    "Synergy's static trace, tune, published": _synergy,
}
ASKED = {
    "trace 1, SRTF": ("1", "3 s"),
    "trace 1, SRTF, published": ("1", "3 s"),
    "trace 1, Muri-S, published": ("20", "more than an hour"),
    "trace 3, Muri-S, published": ("3", "34 s"),
    "Synergy's static trace, tune, published": ("1", "6 s"),
}


def _alone(function: Callable[..., T], *values: Any) -> T:
    """Return what a function returns in a process of its own."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(function, *values).result()


def scale() -> Iterator[str]:
    """100,000 jobs, and fewer, on a cluster that they fill."""
    yield (
        f"## SRTF on {SERVERS} servers of {GPUS} GPUs\n\nAn exact simulation into a file, and its "
        "audit. Load is the GPU time of the jobs over that of the cluster while they arrive.\n"
    )
    yield HEAD
    for count in (5_000, 20_000, 100_000):
        yield _alone(large, count, 0.9)


def queue() -> Iterator[str]:
    """The same with more work than the cluster can do, so that thousands of jobs wait."""
    yield (
        "## The same with a queue\n\nWith more work than GPUs the queue grows until the last "
        "arrival; every decision chooses from all of it.\n"
    )
    yield HEAD
    for count, load in ((5_000, 20), (20_000, 20)):
        yield _alone(large, count, load)


class Backfill(Fifo):
    """First in, first out without preemption; what does not fit is skipped."""

    name = "backfill"
    strict = False


BURST: dict[str, str | Backfill] = {
    "fifo": "fifo",
    "backfill": Backfill(),
    "srtf": "srtf",
    "srsf": "srsf",
}
BURST_SERVERS, BURST_SIZES = 64, (6_250, 25_000, 100_000)


def day(count: int) -> Workload:
    """Return jobs that are all submitted within a day, whatever there is to run them."""
    rng = random.Random(count)
    jobs = [
        {
            "id": f"j{i}",
            "submit": round(rng.uniform(0, 86_400), 3),
            "gpus": rng.choices(SIZES, WEIGHTS)[0],
            "work": round(min(rng.lognormvariate(8.2, 1.5), 2e6), 3),
        }
        for i in range(count)
    ]
    return Workload.parse({"name": "day", "jobs": jobs}, "day")


def waiting(policy: str, count: int) -> tuple[str, float]:
    """Simulate a day's burst into a file; return the line of the table, and the seconds."""
    jobs, cluster = day(count), Cluster.uniform(BURST_SERVERS, GPUS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        cost, run = Cost.of(lambda: simulate(jobs, cluster, BURST[policy], log=path))
        queue = [row[2] for row in run.log.rows("decisions")]
    each = cost.seconds / len(queue) * 1e6
    line = (
        f"| {policy} | {count:,} | {max(queue):,} | {len(queue):,} | {cost.seconds:.1f} | "
        f"{each:.0f} | {cost.memory:.0f} |"
    )
    return line, cost.seconds


def burst() -> Iterator[str]:
    """A day's burst: nearly all jobs wait, and a decision must not look at all of them."""
    yield from bursts("A day's burst", ("fifo", "backfill", "srtf"))


def srsf() -> Iterator[str]:
    """The same, least remaining time times GPUs first, and by time alone in the same run."""
    yield from bursts("The same, shortest remaining service first", ("srsf", "srtf"))


def bursts(title: str, policies: Sequence[str]) -> Iterator[str]:
    """Yield a table of the day's burst."""
    yield (
        f"## {title}\n\nAll jobs are submitted within a day, to {BURST_SERVERS} servers of "
        f"{GPUS} GPUs; nearly all wait. `backfill` is `fifo` that skips what does not fit. The "
        "growth is the exponent of the jobs between the first and the last size.\n"
    )
    yield (
        "| policy | jobs | longest queue | decisions | simulation, s | a decision, us | memory, MB "
        "|\n|---|---|---|---|---|---|---|"
    )
    growth = []
    for policy in policies:
        seconds = []
        for count in BURST_SIZES:
            line, taken = _alone(waiting, policy, count)
            seconds.append(taken)
            yield line
        ratio = math.log(seconds[-1] / seconds[0]) / math.log(BURST_SIZES[-1] / BURST_SIZES[0])
        growth.append(f"{policy} {ratio:.2f}")
    yield f"\nGrowth: {', '.join(growth)}."


def published() -> Iterator[str]:
    """Traces whose public simulators' times are known."""
    yield (
        "## Traces of the papers\n\nSeconds of the processor from reading the trace to the last "
        "completion, without the audit; beside what was asked for, and what the authors' public "
        "code needs.\n"
    )
    yield (
        "| simulation | jobs | s | asked, s | public code | memory, MB | makespan, h |\n"
        "|---|---|---|---|---|---|---|"
    )
    for label, (own, public) in ASKED.items():
        yield _alone(traced, label, own, public)


if __name__ == "__main__":
    parts = {"scale": scale, "queue": queue, "burst": burst, "srsf": srsf, "published": published}
    write("simulation_scale", parts, arguments())
