"""A simulation's bound by windows of time, each of which is a task: what it costs and gives.

In any schedule of all jobs, those submitted in a window have a schedule of their own. So the sum of
the windows' bounds on the sum of completion times is a bound for all jobs, and as certain as these.
But every window has the whole cluster, and no job waits for one of another window.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction

from simulation_bounds import drawn

from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import bound
from dlsched.simulation.bounds.demands import demands
from dlsched.simulation.workload.clock import TICKS

WORKERS = 8
WINDOWS = (1, 2, 8)


def windows() -> Iterator[str]:
    """Yield bounds on mean completion time as one task, and as sums of windows'."""
    yield "## Windows of a simulation's bound\n"
    yield (
        "Waiting is what the bound has above the mean of the jobs alone; a gain is over one task, "
        f"with {WORKERS} workers and without exchanges.\n"
    )
    yield (
        "| jobs | windows | bound, s | waiting, s | waiting of one window's | s in all "
        "| s of the largest | gain |\n|---|---|---|---|---|---|---|---|"
    )
    bound(drawn(100, 1, 1.0), Cluster.uniform(1, 8))  # imports what it needs
    for name, workload, cluster in _workloads():
        alone = _alone(workload, cluster)
        first: tuple[float, float] | None = None
        for count in WINDOWS:
            value, seconds = _bound(workload, cluster, count)
            waiting = float(value - alone)
            first = first or (waiting, sum(seconds))
            longest = max(*seconds, sum(seconds) / WORKERS) if count > 1 else sum(seconds)
            yield (
                f"| {name} | {count} | {float(value):,.0f} | {waiting:,.0f} "
                f"| {100 * waiting / first[0]:.0f} % | {sum(seconds):.1f} | {max(seconds):.1f} "
                f"| {first[1] / longest:.1f} |"
            )
    yield (
        "\nIt does not pay. The rounds of a search for prices are limited, so that one task takes "
        "seconds on any trace; windows have these rounds each. What they lose is what the bound is "
        "for: jobs that wait for those of earlier windows. So a bound is one task of a suite "
        "(`bounds = true`), and the bounds of its workloads are made at the same time."
    )


def _workloads() -> Iterator[tuple[str, Workload, Cluster]]:
    shown = "20,000 on 64 servers of 8 GPUs, load 1.1"
    yield shown, drawn(20_000, 64, 1.1), Cluster.uniform(64, 8)
    few = Workload.from_trace("synthetic-1", limit=5_000)
    yield f"{len(few.jobs):,} of synthetic-1 on 16 servers of 8 GPUs", few, Cluster.uniform(16, 8)


def _bound(workload: Workload, cluster: Cluster, count: int) -> tuple[Fraction, list[float]]:
    """Return the bound on mean completion time by windows, and the seconds of each."""
    jobs = sorted(workload.jobs, key=lambda job: job.submit_ticks)
    total, seconds = Fraction(0), []
    size = -(-len(jobs) // count)
    for first in range(0, len(jobs), size):
        window = tuple(jobs[first : first + size])
        began = time.process_time()
        own = workload.model_copy(update={"jobs": window})
        total += bound(own, cluster).value * len(window)
        seconds.append(time.process_time() - began)
    return total / len(jobs), seconds


def _alone(workload: Workload, cluster: Cluster) -> Fraction:
    """Return the mean completion time of jobs that never wait."""
    return Fraction(sum(demands(workload, cluster).lengths), len(workload.jobs) * TICKS)
