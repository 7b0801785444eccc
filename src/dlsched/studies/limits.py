"""Certified lower bounds on what any schedule of the counted jobs could have reached.

Only the counted jobs enter: without the others every schedule of all jobs is still one of these, so
that a bound on their mean completion time holds for it. A job's completion counts from when it
became eligible there; what it waited before is added, as no schedule could change it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dlsched.schema.files import read_json, write_json
from dlsched.simulation import Workload
from dlsched.simulation.bounds import bound
from dlsched.simulation.history import Period


@dataclass(frozen=True)
class Limit:
    """A lower bound.

    Attributes
    ----------
    mean_jct
        Seconds from submission to end, on average over the counted jobs.
    mean_wait
        The same of the waiting; None where jobs may share GPUs, as they then run longer.
    source
        Which bound it is.
    sharing
        Whether it holds for schedules in which jobs share GPUs.
    """

    mean_jct: float
    mean_wait: float | None
    source: str
    sharing: bool


def lower_limit(
    period: Period, workload: Workload, sharing: bool, folder: Path | None = None
) -> Limit:
    """Return the bound of a period, or that which a folder has of the same jobs.

    Parameters
    ----------
    workload
        All simulated jobs.
    sharing
        Whether jobs may share GPUs.
    folder
        Where the bound is kept.
    """
    jobs = period.simulated
    counted = jobs[jobs["role"] == "counted"]
    ids = set(counted["id"])
    alone = workload.model_copy(update={"jobs": tuple(j for j in workload.jobs if j.id in ids)})
    path = None if folder is None else folder / f"bound{'-sharing' if sharing else ''}.json"
    text = alone.model_dump_json(exclude_defaults=True) + period.cluster.model_dump_json()
    digest = hashlib.sha256(text.encode()).hexdigest()
    kept = read_json(path) if path is not None and path.exists() else {}
    if kept.get("jobs_sha256") == digest:
        value, source = float(kept["seconds"]), str(kept["source"])
    else:
        found = bound(alone, period.cluster, "mean_jct", sharing=sharing)
        # Rounded down, so that a bound that is written stays one.
        value, source = float(np.nextafter(float(found.value), -np.inf)), found.source
        if path is not None:
            write_json(path, {"jobs_sha256": digest, "seconds": value, "source": source})
    eligible = np.maximum(counted["eligible"].to_numpy(float), period.since)
    before = float((eligible - counted["submit"].to_numpy(float)).mean())
    runtime = float((counted["end"] - counted["start"]).mean())
    wait = None if sharing else max(0.0, value + before - runtime)
    return Limit(value + before, wait, source, sharing)
