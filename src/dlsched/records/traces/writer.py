"""Writing a trace in the format that `read_trace` reads by default."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from dlsched.errors import OptionError
from dlsched.records.readers.columns import MAPPINGS, TIMES, Column, make_columns
from dlsched.records.readers.values import UNITS
from dlsched.records.traces.job import RECORD, TraceJob
from dlsched.records.traces.trace import Trace
from dlsched.schema.files import write_bytes
from dlsched.schema.quantities import simplify, to_json


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace as ``.csv`` or ``.csv.gz``, in the columns of the mapping ``"muri"``.

    A field that a job does not have is an empty cell. Where jobs have a record of what a scheduler
    did, its fields are further columns (``RECORD`` of module ``job``). Reading the file gives the
    same jobs.

    Raises
    ------
    OptionError
        If a job has a number of stages other than 0 or 3.
    """
    write_bytes(Path(path), trace_text(trace).encode())


def trace_text(trace: Trace) -> str:
    """Return the text of the CSV file, with ``\\n`` at the end of every line."""
    written = make_columns(MAPPINGS["muri"])
    stages = len(MAPPINGS["muri"]["stages"])
    for job in trace.jobs:
        if len(job.stages) not in (0, stages):
            raise OptionError(
                f'job "{job.id}" has {len(job.stages)} stages; the format has {stages}, or none'
            )
    written = (*written, *record_columns(trace))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in written])
    for job in trace.jobs:
        stage = iter(job.stages)
        writer.writerow([_cell(job, column, stage) for column in written])
    return text.getvalue()


def record_columns(trace: Trace) -> tuple[Column, ...]:
    """Return the columns of the record's fields that a job of a trace has."""
    there = {name for job in trace.jobs for name in job.record}
    names = (name for name in RECORD if name in there)
    return tuple(Column(name, name, "s" if name in TIMES else None) for name in names)


def _cell(job: TraceJob, column: Column, stage: Any) -> str:
    if column.field == "nodes":
        return json.dumps(job.nodes) if job.nodes else ""
    value = next(stage, None) if column.field == "stages" else getattr(job, column.field)
    if value is None or isinstance(value, str):
        return value or ""
    return repr(to_json(simplify(value / UNITS[column.unit] if column.unit else value)))
