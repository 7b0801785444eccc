"""How long workloads wait by priority, and how often they are preempted (MAST, section 5)."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import islice, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from dlsched.simulation.log import Ending, Log, Segment
from dlsched.simulation.measures.metrics import frame
from dlsched.simulation.workload.clock import TICKS

if TYPE_CHECKING:
    import pandas as pd

LIMIT: Final = 1800.0
"""Seconds from which a wait violates the objective **(D)**; the paper does not state its own."""


def waits(log: Log) -> pd.DataFrame:
    """Return one row per wait: from a submission or a preemption to the next start.

    A workload that is preempted begins a new wait (section 5.5). Columns: ``job`` (position in the
    workload), ``submitted`` (whether it begins with the submission), ``begin``, ``end`` (seconds;
    none if it did not start again), ``seconds``, ``priority`` (of the job as the workload has it)
    and ``rank`` (its priority when it was first ranked in this wait: the lowest if over quota, by
    what the policy wrote in ``solved["new"]``; none if it wrote nothing).
    """
    import pandas as pd

    jobs = log.meta("workload")["workload"]["jobs"]
    begins: list[list[float]] = [[float(job["submit"])] for job in jobs]
    starts: list[list[float]] = [[] for _ in jobs]
    goes_on = [False] * len(jobs)
    segments = [Segment(*row) for row in log.rows("segments")]
    for segment in sorted(segments, key=attrgetter("start", "end")):
        j = segment.job
        if not goes_on[j]:
            starts[j].append(segment.start / TICKS)
        goes_on[j] = segment.ending == Ending.CHANGED
        if segment.ending == Ending.PREEMPTED:
            begins[j].append(segment.end / TICKS)
    ranks: dict[str, list[int]] = defaultdict(list)
    for row in log.rows("decisions"):
        for name, rank in json.loads(row[-1]).get("new", {}).items():
            ranks[name].append(rank)
    rows = []
    for j, job in enumerate(jobs):
        of_job = zip_longest(begins[j], starts[j], ranks[job["id"]])
        for k, (begin, end, rank) in enumerate(islice(of_job, len(begins[j]))):
            rows.append((j, k == 0, begin, end, job.get("priority"), rank))
    columns = ["job", "submitted", "begin", "end", "priority", "rank"]
    waiting = pd.DataFrame(rows, columns=columns)
    numbers = ["end", "priority", "rank"]
    waiting[numbers] = waiting[numbers].astype(float)
    waiting.insert(4, "seconds", waiting["end"] - waiting["begin"])
    return waiting.sort_values("begin", kind="stable", ignore_index=True)


def violations(
    log: Log,
    limit: float = LIMIT,
    *,
    begin: float = 0.0,
    end: float = float("inf"),
    lowest: int = 7,
) -> pd.DataFrame:
    """Return how many waits of workloads within quota were longer than a limit, by priority.

    A workload's start within a certain latency is guaranteed within quota (section 2); its wait
    counts if it began within quota **(D)**. A wait that does not end is too long.

    Parameters
    ----------
    limit
        Seconds.
    begin, end
        Waits count that begin after `begin` and before `end`, in seconds.
    lowest
        Priority of what is over quota, which has no guarantee.

    Returns
    -------
    DataFrame
        Index: priority. Columns: ``waits``, ``violations``, ``rate`` (0 to 1).
    """
    rows = waits(log)
    rows = rows[(rows["begin"] > begin) & (rows["begin"] < end) & (rows["rank"] < lowest)]
    late = ~(rows["seconds"] <= limit)
    counts = late.groupby(rows["rank"]).agg(["size", "sum"])
    table = counts.set_axis(["waits", "violations"], axis=1)
    table.index = table.index.astype(int)
    return table.assign(rate=table["violations"] / table["waits"]).rename_axis("priority")


def preemptions(log: Log) -> pd.DataFrame:
    """Return the preemptions by priority of the jobs, and by rank over quota or not.

    Returns
    -------
    DataFrame
        Index: priority of the job. Columns: ``jobs``, ``preemptions``, ``per_job``,
        ``within_quota`` (preemptions of runs whose wait began within quota).
    """
    rows = waits(log)
    rows["preempted"] = ~rows["submitted"]
    # A preemption ends the run that the wait before it led to.
    before = rows.groupby("job")["rank"].shift()
    rows["within"] = rows["preempted"] & (before == rows["priority"])
    table = rows.groupby("priority").agg(
        jobs=("job", "nunique"), preemptions=("preempted", "sum"), within_quota=("within", "sum")
    )
    table.index = table.index.astype(int)
    return table.assign(per_job=table["preemptions"] / table["jobs"])


def allocation_rate(
    log: Log, begin: float = 0.0, end: float | None = None, gpu_type: str | None = None
) -> float:
    """Return the GPU time that jobs held over that of the cluster (section 5.2), from 0 to 1.

    Parameters
    ----------
    begin, end
        Seconds; None for the last submission, after which nothing new fills the cluster.
    gpu_type
        Type of the servers that count; None for all. Jobs of another type are not on these.
    """
    meta = log.meta()
    if end is None:
        end = max(float(job["submit"]) for job in meta["workload"]["jobs"])
    servers = meta["cluster"]["servers"]
    counted = {
        server["id"]: server["gpus"]
        for server in servers
        if gpu_type in (None, server.get("gpu_type"))
    }

    def held(shares: str) -> int:
        return sum(gpus for server, gpus, *_ in json.loads(shares) if server in counted)

    segments = frame(log, "segments")
    length = segments["end"].clip(begin, end) - segments["start"].clip(begin, end)
    gpu_time = length * segments["shares"].map(held)
    return float(gpu_time.sum() / (sum(counted.values()) * (end - begin)))
