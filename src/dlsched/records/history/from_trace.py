"""A job trace as a record: what published traces keep of the scheduler that ran them."""

from __future__ import annotations

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.history.raw import Record, empty, tuples
from dlsched.records.traces.record import counted
from dlsched.records.traces.trace import Trace

NAMES = {
    "id": "id",
    "submit": "submit",
    "eligible": "eligible",
    "start": "start",
    "end": "duration",
    "gpus": "gpus",
}


def read(trace: Trace) -> Record:
    """Return the jobs of a trace as rows.

    A job ends when it has run for its duration from its first start on: of a job that was started
    several times, the breaks between are left out.

    Raises
    ------
    InstanceError
        If no job has a start.
    """
    jobs = trace.jobs
    if not any(job.start is not None for job in jobs):
        raise InstanceError(
            trace.name, "jobs", "have no recorded start", "read a format that has it, as helios"
        )
    raw = empty(len(jobs))
    columns = raw.columns
    columns["row"] = np.arange(1, raw.size + 1)
    columns["id"] = np.array([job.id for job in jobs], object)
    columns["gpus"] = np.array([job.gpus for job in jobs], float)
    for name in ("user", "account", "partition", "gpu_type", "state"):
        columns[name] = np.array([getattr(job, name) for job in jobs], object)
    for name in ("submit", "eligible", "start", "limit"):
        values = [getattr(job, name) for job in jobs]
        columns[name] = np.array([np.nan if v is None else float(v) for v in values])
    duration = np.array([float(job.duration) for job in jobs])
    columns["end"] = columns["start"] + duration
    columns["elapsed"] = duration
    held = [job.nodes if sum(g for _, g in job.nodes) == job.gpus else () for job in jobs]
    columns["nodes"] = tuples([tuple(name for name, _ in parts) for parts in held])
    columns["amounts"] = tuples([tuple(gpus for _, gpus in parts) for parts in held])
    early = columns["start"] < columns["submit"]
    columns["submit"][early] = columns["start"][early]
    record = Record(raw, dict(NAMES), list(trace.notes), local=False)
    if early.any():
        record.notes.append(
            f"{counted(int(early.sum()), 'job')} started before the submission, as clocks differ: "
            "submitted at the start"
        )
    return record
