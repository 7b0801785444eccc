"""Metrics of a simulation, from its log alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dlsched.simulation.clock import TICKS
from dlsched.simulation.log import TABLES, Ending, Log


def frame(log: Log, table: str) -> pd.DataFrame:
    """Return a table of a log as a data frame; times in seconds as floats."""
    rows = pd.DataFrame(log.rows(table), columns=list(TABLES[table]))
    unit = TICKS if log.meta()["clock"] == "microseconds" else 1
    for column in ("time", "start", "end", "overhead", "work", "lost"):
        if column in rows:
            rows[column] = rows[column].astype(float) / unit
    return rows


def jobs_frame(log: Log) -> pd.DataFrame:
    """Return one row per job of the workload, in the order of submission; times in seconds.

    Columns: ``id``, ``gpus``, ``submit``, ``start`` (the first), ``end``, ``jct`` (completion less
    submission), ``queueing`` (time without GPUs), ``attained`` (time with GPUs), ``service``
    (GPU-seconds held), ``preemptions``. A job that did not end has no ``end`` and ``jct``.
    """
    jobs = pd.DataFrame(
        [
            {"id": job["id"], "gpus": job["gpus"], "submit": float(job["submit"])}
            for job in log.meta()["workload"]["jobs"]
        ]
    )
    segments = frame(log, "segments")
    segments["length"] = segments["end"] - segments["start"]
    segments["service"] = segments["length"] * segments["gpus"]
    by_job = segments.groupby("job")
    jobs["start"] = by_job["start"].min()
    jobs["end"] = frame(log, "completions").set_index("job")["time"]
    jobs["jct"] = jobs["end"] - jobs["submit"]
    jobs["attained"] = by_job["length"].sum()
    jobs["service"] = by_job["service"].sum()
    jobs[["attained", "service"]] = jobs[["attained", "service"]].fillna(0.0)
    jobs["queueing"] = jobs["jct"] - jobs["attained"]
    preempted = segments[segments["ending"] == Ending.PREEMPTED]
    jobs["preemptions"] = preempted.groupby("job").size().reindex(jobs.index, fill_value=0)
    return jobs


def gpu_seconds(log: Log) -> float:
    """Return the GPU time that jobs held; GPUs that a group shares count once."""
    segments = frame(log, "segments")
    length = (segments["end"] - segments["start"]) * segments["gpus"]
    alone = segments["sharing"].isna()
    total = float(length[alone].sum())
    for _, group in segments[~alone].sort_values("start").groupby(["sharing", "shares"]):
        # The union of the members' stretches: none begins before the latest end so far.
        before = group["end"].cummax().shift(fill_value=-np.inf)
        new = (group["end"] - np.maximum(group["start"], before)).clip(lower=0)
        total += float((new * group["gpus"]).sum())
    return total


def summary(log: Log) -> dict[str, Any]:
    """Return the metrics of a simulation; times in seconds.

    ``p95_jct`` and ``p99_jct`` are the values at position floor(0.95 n) and floor(0.99 n) of the
    sorted completion times, counted from 0, as in Muri's evaluation. ``utilization`` is the share
    of the cluster's GPU time until the last completion that jobs held; GPUs that several jobs share
    count once.
    """
    jobs = jobs_frame(log)
    jct = np.sort(jobs["jct"].dropna().to_numpy())
    queueing = np.sort(jobs["queueing"].dropna().to_numpy())
    if not len(jct):
        return {"jobs": len(jobs), "completed": 0}
    makespan = float(jobs["end"].max())
    gpus = sum(server["gpus"] for server in log.meta()["cluster"]["servers"])
    timings = [row[1] for row in log.rows("timings")]
    return {
        "jobs": len(jobs),
        "completed": len(jct),
        "mean_jct": float(jct.mean()),
        "median_jct": float(np.median(jct)),
        "p95_jct": rank(jct, 0.95),
        "p99_jct": rank(jct, 0.99),
        "makespan": makespan,
        "mean_queueing": float(queueing.mean()),
        "median_queueing": float(np.median(queueing)),
        "p95_queueing": rank(queueing, 0.95),
        "p99_queueing": rank(queueing, 0.99),
        "utilization": gpu_seconds(log) / (gpus * makespan) if makespan else 0.0,
        "preemptions": int(jobs["preemptions"].sum()),
        "decisions": len(timings),
        "mean_decision_seconds": float(np.mean(timings)) if timings else 0.0,
    }


def gpu_seconds(log: Log) -> float:
    """Return the GPU-seconds that jobs held; those of GPUs that several jobs share count once."""
    segments = frame(log, "segments").sort_values("start", kind="stable")
    shared = segments["sharing"].notna()
    # The jobs of a group hold the same GPUs: what another one held already does not count again.
    before = segments[shared].groupby("sharing")["end"].transform(lambda end: end.cummax().shift())
    start = segments["start"].copy()
    start[shared] = np.fmax(start[shared], before)
    length = (segments["end"] - start).clip(lower=0)
    return float((length * segments["gpus"]).sum())


def rank(ordered: Any, share: float) -> float:
    """Return the value at position floor(share x n) of n sorted values, counted from 0."""
    return float(ordered[min(len(ordered) - 1, int(np.floor(share * len(ordered))))])
