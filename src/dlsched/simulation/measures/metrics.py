"""Metrics of a simulation, from its log alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.problems.interleaving.instances.state import RECORDED
from dlsched.problems.interleaving.structures.profiles import RESOURCES
from dlsched.simulation.log import TABLES, Ending, Log
from dlsched.simulation.measures.queue import Floats, blocking_index, fairness, steps
from dlsched.simulation.workload.clock import TICKS, ticks

if TYPE_CHECKING:
    import pandas as pd

STAGES = {len(RECORDED): RECORDED, len(RESOURCES): RESOURCES}
"""Names of the resources by the number of stages of a job."""


TIMES = ["time", "start", "end", "overhead", "work", "lost"]
"""Columns of the log's tables that are times."""


def frame(log: Log, table: str) -> pd.DataFrame:
    """Return a table of a log as a data frame; times in seconds as floats."""
    return _in_seconds(_rows(log, table))


def count_over_time(log: Log, jobs: pd.DataFrame, what: str) -> tuple[Floats, Floats]:
    """Return a curve, as `steps` does: jobs ``"waiting"`` or ``"running"``, or ``"gpus"`` held."""
    segments = frame(log, "segments")
    size = segments["gpus"].to_numpy() if what == "gpus" else np.ones(len(segments))
    times = [segments["start"], segments["end"]]
    changes = [size, -size]
    if what == "waiting":
        jobs = jobs.dropna(subset=["end"])
        ones = np.ones(len(jobs))
        times = [jobs["submit"], jobs["end"], *times]
        changes = [ones, -ones, -size, size]
    return steps(np.concatenate(times), np.concatenate(changes))


def _in_seconds(rows: pd.DataFrame) -> pd.DataFrame:
    times = rows.columns.intersection(TIMES)
    return rows.assign(**{name: rows[name].astype(float) / TICKS for name in times})


def _rows(log: Log, table: str) -> pd.DataFrame:
    """Return a table of a log as it is: differences of whole microseconds are exact."""
    import pandas as pd

    return pd.DataFrame(log.rows(table), columns=list(TABLES[table]))


def jobs_frame(log: Log) -> pd.DataFrame:
    """Return one row per job of the workload, in the order of submission; times in seconds.

    Columns: ``id``, ``gpus``, ``submit``, ``work``, ``start`` (the first), ``end``, ``jct``
    (completion less submission), ``queueing`` (time without GPUs), ``attained`` (time with GPUs),
    ``service`` (GPU-seconds held), ``preemptions``. A job that did not end
    has no ``end`` and ``jct``.
    """
    return _jobs(log, log.meta("workload"), _rows(log, "segments"))


def _jobs(log: Log, header: dict[str, Any], segments: pd.DataFrame) -> pd.DataFrame:
    workload = header["workload"]["jobs"]
    submit = [ticks(job["submit"]) for job in workload]
    return by_job(workload, submit, segments, _rows(log, "completions"), TICKS)


def by_job(
    workload: list[dict[str, Any]],
    times: list[Any],
    segments: pd.DataFrame,
    completed: pd.DataFrame,
    unit: int,
) -> pd.DataFrame:
    """Return what `jobs_frame` does, from times in a unit of a number to the second.

    Parameters
    ----------
    workload, times
        The jobs as the header of a log has them, and when they are submitted.
    segments, completed
        The tables ``segments`` and ``completions``.
    """
    import pandas as pd

    submit = pd.Series(times)
    jobs = pd.DataFrame([(job["id"], job["gpus"]) for job in workload], columns=["id", "gpus"])
    jobs["submit"] = submit / unit
    jobs["work"] = [float(job["work"]) for job in workload]
    segments["length"] = segments["end"] - segments["start"]
    segments["service"] = segments["length"] * segments["gpus"]
    groups = segments.groupby("job")
    totals = groups[["length", "service"]].sum().reindex(jobs.index, fill_value=0)
    completions = completed.set_index("job")["time"]
    jct = completions - submit.reindex(completions.index)
    queueing = jct - totals["length"].reindex(completions.index)
    jobs["start"] = groups["start"].min() / unit
    jobs["end"] = completions / unit
    jobs["jct"] = jct / unit
    jobs["attained"] = totals["length"] / unit
    jobs["service"] = totals["service"] / unit
    jobs["queueing"] = queueing / unit
    preempted = segments[segments["ending"] == Ending.PREEMPTED]
    jobs["preemptions"] = preempted.groupby("job").size().reindex(jobs.index, fill_value=0)
    return jobs


def summary(log: Log) -> dict[str, Any]:
    """Return the metrics of a simulation; times in seconds.

    ``mean_jct``, ``median_jct``, ``p95_jct``, ``p99_jct`` and the same of ``queueing``
        Completion less submission; time without GPUs. ``p95`` and ``p99`` are the values at
        position floor(0.95 n) and floor(0.99 n) of the sorted ones, counted from 0, as in Muri's
        evaluation.
    ``makespan``
        Time of the last completion.
    ``mean_slowdown``, ``mean_fairness``
        Completion time over the time alone; over the time with an equal share of the cluster
        (`simulation.measures.queue.fairness`). Jobs without work are left out; 1 if there are no
        others **(D)**.
    ``mean_queue_length``, ``blocking_index``
        Jobs that wait, over time; see `dlsched.simulation.measures.queue.blocking_index`.
    ``utilization``, ``busy_...``
        Share of the cluster's GPU time until the last completion that jobs held, where GPUs that
        several jobs share count once; share of it in which jobs used a resource, by their stages.
    ``preemptions``, ``preempted_share``
        Preemptions altogether; share of the jobs that were preempted at least once.
    ``preemptive``, ``restart``, ``checkpoints``
        Whether the policy says that it may stop jobs; mean `Job.restart` of the jobs; share of them
        that keep their work when they are preempted.
    ``decisions``, ``mean_decision_seconds``, ``max_decision_seconds``
        Number of decisions; wall-clock time of one, which depends on the machine.
    """
    seconds = [seconds for _, seconds in log.rows("timings")]
    header = log.meta("workload", "cluster", "preemptive")
    segments = _rows(log, "segments")
    return summarize(_jobs(log, header, segments), _in_seconds(segments), seconds, header)


def summarize(
    jobs: pd.DataFrame, segments: pd.DataFrame, timings: list[float], header: dict[str, Any]
) -> dict[str, Any]:
    """Return what `summary` does, from one row per job, segments and decisions in seconds.

    Parameters
    ----------
    header
        ``workload`` and ``cluster``, as a log has them.
    """
    ended = jobs.dropna(subset=["jct"])
    if not len(ended):
        return {"jobs": len(jobs), "completed": 0}
    makespan = float(jobs["end"].max())
    # Where nothing takes time, all that is held is 0.
    span = makespan or 1.0
    working = ended[ended["work"] > 0]
    slowdown = working["jct"] / working["work"]
    gpus = sum(server["gpus"] for server in header["cluster"]["servers"])
    fair = fairness(ended, gpus)[working.index]
    return {
        "jobs": len(jobs),
        "completed": len(ended),
        **_distribution(ended["jct"], "jct"),
        "makespan": makespan,
        **_distribution(ended["queueing"], "queueing"),
        "mean_slowdown": float(slowdown.mean()) if len(working) else 1.0,
        "mean_fairness": float(fair.mean()) if len(working) else 1.0,
        "mean_queue_length": float(ended["queueing"].sum()) / span,
        "blocking_index": blocking_index(jobs, segments, makespan),
        "utilization": _gpu_seconds(segments) / (gpus * span),
        **_busy(segments, header["workload"]["jobs"], gpus * span),
        "preemptions": int(jobs["preemptions"].sum()),
        "preempted_share": float((jobs["preemptions"] > 0).mean()),
        "preemptive": bool(header.get("preemptive", True)),
        "restart": float(np.mean([job.get("restart", 0) for job in header["workload"]["jobs"]])),
        "checkpoints": float(
            np.mean([job.get("checkpoints", True) for job in header["workload"]["jobs"]])
        ),
        "decisions": len(timings),
        "mean_decision_seconds": float(np.mean(timings)) if timings else 0.0,
        "max_decision_seconds": max(timings, default=0.0),
    }


def _distribution(values: pd.Series[float], name: str) -> dict[str, float]:
    ordered = np.sort(values.to_numpy())
    return {
        f"mean_{name}": float(ordered.mean()),
        f"median_{name}": float(np.median(ordered)),
        f"p95_{name}": rank(ordered, 0.95),
        f"p99_{name}": rank(ordered, 0.99),
    }


def _busy(segments: pd.DataFrame, jobs: list[dict[str, Any]], gpu_time: float) -> dict[str, float]:
    """Return the share of the cluster's GPU time in which each resource of the stages was used.

    A job that does a second of work uses each resource for its stage's share of that second, on
    each of its GPUs. Nothing is returned where the jobs have no stages, or not equally many.
    """
    stages_of_jobs = [job.get("stages", ()) for job in jobs]
    names = STAGES.get(len(stages_of_jobs[0]), ())
    if not names or any(len(stages) != len(names) for stages in stages_of_jobs):
        return {}
    stages = np.array(stages_of_jobs, float)
    iteration = stages.sum(axis=1, keepdims=True)
    shares = stages / np.maximum(iteration, 1e-300)
    work = segments["work"] * segments["gpus"]
    done = work.groupby(segments["job"]).sum().reindex(range(len(stages)), fill_value=0.0)
    used = done.to_numpy() @ shares
    return {f"busy_{name}": float(time / gpu_time) for name, time in zip(names, used, strict=True)}


def _gpu_seconds(segments: pd.DataFrame) -> float:
    """Return the GPU-seconds that jobs held; those of GPUs that several jobs share count once."""
    segments = segments.sort_values("start", kind="stable")
    shared = segments["sharing"].notna()
    # The jobs of a group hold the same GPUs: what another one held already does not count again.
    before = segments[shared].groupby("sharing")["end"].transform(lambda end: end.cummax().shift())
    start = segments["start"].copy()
    start[shared] = np.fmax(start[shared], before)
    length = (segments["end"] - start).clip(lower=0)
    return float((length * segments["gpus"]).sum())


def rank(ordered: Any, share: float) -> float:
    """Return the value at position floor(share x n) of n sorted values, counted from 0."""
    position = int(np.floor(share * len(ordered)))
    return float(ordered[min(position, len(ordered) - 1)])
