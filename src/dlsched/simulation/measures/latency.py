"""How long workloads wait by priority, and how often they are preempted (MAST, section 5)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from dlsched.simulation.log import TABLES, Ending, Log
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

    jobs = log.meta()["workload"]["jobs"]
    begins: list[list[float]] = [[float(job["submit"])] for job in jobs]
    starts: list[list[float]] = [[] for _ in jobs]
    index = {name: i for i, name in enumerate(TABLES["segments"])}
    rows = sorted(log.rows("segments"), key=lambda row: (row[index["start"]], row[index["end"]]))
    goes_on = [False] * len(jobs)
    unit = TICKS if log.meta()["clock"] == "microseconds" else 1
    for row in rows:
        j = row[index["job"]]
        if not goes_on[j]:
            starts[j].append(row[index["start"]] / unit)
        goes_on[j] = row[index["ending"]] == Ending.CHANGED
        if row[index["ending"]] == Ending.PREEMPTED:
            begins[j].append(row[index["end"]] / unit)
    ranks = _ranks(log)
    found = []
    for j, job in enumerate(jobs):
        for k, begin in enumerate(begins[j]):
            end = starts[j][k] if k < len(starts[j]) else None
            seen = ranks.get(job["id"], [])
            found.append(
                {
                    "job": j,
                    "submitted": k == 0,
                    "begin": begin,
                    "end": end,
                    "seconds": None if end is None else end - begin,
                    "priority": job.get("priority"),
                    "rank": seen[k] if k < len(seen) else None,
                }
            )
    rows_frame = pd.DataFrame(found)
    numbers = ["end", "seconds", "priority", "rank"]
    rows_frame[numbers] = rows_frame[numbers].astype(float)
    return rows_frame.sort_values("begin", kind="stable", ignore_index=True)


def _ranks(log: Log) -> dict[str, list[int]]:
    """Return the priorities of each job's waits, as the policy saw them."""
    found: dict[str, list[int]] = {}
    for row in log.rows("decisions"):
        for name, rank in json.loads(row[-1]).get("new", {}).items():
            found.setdefault(name, []).append(rank)
    return found


def violations(
    log: Log,
    limit: float = LIMIT,
    *,
    begin: float = 0.0,
    end: float = float("inf"),
    lowest: int = 7,
) -> pd.DataFrame:
    """Return how many waits of workloads within quota were longer than a limit, by priority.

    A workload's start within a certain latency is guaranteed within quota (section 2.3); its wait
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
    found = waits(log)
    found = found[(found["begin"] > begin) & (found["begin"] < end) & (found["rank"] < lowest)]
    late = ~(found["seconds"] <= limit)
    by = found.assign(late=late).groupby("rank")["late"]
    table = by.agg(["size", "sum"]).set_axis(["waits", "violations"], axis=1)
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
    found = waits(log)
    found["preempted"] = ~found["submitted"]
    # A preemption ends the run that the wait before it led to.
    before = found.groupby("job")["rank"].shift()
    found["within"] = found["preempted"] & (before == found["priority"])
    by = found.groupby("priority")
    table = by.agg(
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
    jobs = meta["workload"]["jobs"]
    if end is None:
        end = max(float(job["submit"]) for job in jobs)
    kinds = {server["id"]: server.get("gpu_type") for server in meta["cluster"]["servers"]}
    segments = frame(log, "segments")
    shared = segments["shares"].map(
        lambda text: sum(
            share[1] for share in json.loads(text) if gpu_type in (None, kinds[share[0]])
        )
    )
    length = segments["end"].clip(begin, end) - segments["start"].clip(begin, end)
    gpus = sum(
        server["gpus"]
        for server in meta["cluster"]["servers"]
        if gpu_type in (None, server.get("gpu_type"))
    )
    return float((length * shared).sum() / (gpus * (end - begin)))
