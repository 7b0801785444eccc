"""Small instances of interleaving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlsched.problems.interleaving import Instance


def job(name: str, stages: Sequence[Any], gpus: int = 1) -> dict[str, Any]:
    """Return a job with a stage on each resource."""
    return {"id": name, "gpus": gpus, "stages": list(stages)}


def cover(jobs: Sequence[dict[str, Any]], budget: int | None = None, **fields: Any) -> Instance:
    """Return an instance with groups of any size, on as many resources as jobs have stages."""
    resources = list("rstuvwxy")[: len(jobs[0]["stages"])]
    usual = {"name": "hand", "grouping": "cover", "gpu_budget": budget, "resources": resources}
    return Instance(**usual | fields, jobs=jobs)
