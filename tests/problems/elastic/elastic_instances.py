"""Small instances of elastic: what a test does not say of a job has one value in all."""

from collections.abc import Sequence
from typing import Any

from dlsched.problems.elastic import Instance

Row = dict[str, Any]
TRAINING: Row = {"id": "training", "capacity": 6, "speed": 1}
LOAN: Row = {"id": "loan", "capacity": 9, "speed": 0.25}


def job(name: str, least: int, most: int, seconds: Any, gpus: int = 1, **flags: Any) -> Row:
    """Return a job, with its least running time or a list of one for each number of workers."""
    field = "running_times" if isinstance(seconds, Sequence) else "min_running_time"
    numbers = {"gpus_per_worker": gpus, "min_workers": least, "max_workers": most, field: seconds}
    return {"id": name} | numbers | flags


def epoch(capacity: int, *jobs: Row, loan: int | None = None, speed: Any = 0.5) -> Instance:
    """Return an instance with one capacity or, with GPUs on loan, with two pools."""
    if loan is None:
        return Instance(name="hand", capacity=capacity, jobs=jobs)
    pools = [TRAINING | {"capacity": capacity}, LOAN | {"capacity": loan, "speed": speed}]
    return Instance(name="hand", pools=pools, jobs=jobs)
