"""Stages of iterations for policies that interleave jobs: no scheduler records them.

Each job gets model and stages of a job of a shipped trace with stages, drawn by its id and a seed.
What a policy gains by them is what it would gain if the cluster's jobs were like that trace's.
"""

from __future__ import annotations

from typing import Any

from dlsched.records import read_trace
from dlsched.registry.cluster_state import uniform
from dlsched.simulation import Job, Workload
from dlsched.simulation.workload.profiles import PROFILES

NEED_STAGES = ("muri_l", "muri_s")
"""The policies that need stages."""
SOURCE = "synthetic-1"
"""The trace that they are drawn from."""


def with_stages(workload: Workload, seed: int) -> Workload:
    """Return a workload whose jobs have stages, models and the restart overheads of these."""
    known = [job for job in read_trace(SOURCE).jobs if job.stages]
    rows: list[dict[str, Any]] = []
    for job in workload.jobs:
        drawn = known[int(uniform(job.id, seed) * len(known))]
        rows.append({"gpus": job.gpus, "model": drawn.model, "stages": drawn.stages})
    rows, _ = PROFILES["muri"](rows)
    jobs = tuple(_with(job, row) for job, row in zip(workload.jobs, rows, strict=True))
    return workload.model_copy(update={"jobs": jobs})


def _with(job: Job, row: dict[str, Any]) -> Job:
    return job.model_copy(update={name: row[name] for name in ("model", "stages", "restart")})
