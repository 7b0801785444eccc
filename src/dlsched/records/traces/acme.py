"""Acme (NSDI'24): ``trace_seren.csv`` and ``trace_kalos.csv``, one file per cluster.

The columns are those of the README of InternLM/AcmeTrace, section "Job Trace": ``gpu_num`` GPUs
required; ``submit_time``, ``start_time`` and ``end_time`` as dates with a time zone; ``state`` as
in Helios (note 1). Kalos has also jobs that were ``RUNNING`` when it was recorded, and some that
never started.

A job's duration is ``end_time`` minus ``start_time``. The column ``duration`` is not read: in
``trace_kalos.csv`` it counts from ``submit_time``, so that it includes the time in the queue, as
both rows of the README's example show (11:00:58 to 11:01:16 is 18 s, of which 10 s in the queue).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dlsched.records.traces.record import (
    Cells,
    Record,
    TraceFormat,
    between,
    has_columns,
    table_records,
)

FILES = ("trace_seren", "trace_kalos")
NEEDED = ("job_id", "gpu_num", "state", "submit_time", "start_time", "end_time")
OPTIONAL = ("user",)
REMEDY = "read trace_seren.csv or trace_kalos.csv of AcmeTrace, or pass mapping="


def read(path: Path, where: str, notes: list[str]) -> Iterator[Record]:
    """Return a record per row."""
    return table_records(path, where, FILES, NEEDED, REMEDY, _record, OPTIONAL)


def _record(cells: Cells) -> Record:
    duration, unknown = between(cells.date("start_time"), cells.date("end_time"))
    return Record(
        cells.row,
        cells.required("job_id"),
        ((1, cells.count("gpu_num")),),
        cells.date("submit_time"),
        duration,
        unknown,
        cells.text("state"),
        start=cells.date("start_time"),
        user=cells.optional("user"),
    )


FORMAT = TraceFormat(
    title="Acme (NSDI'24), trace_seren.csv and trace_kalos.csv",
    files=FILES,
    names={"id": "job_id", "gpus": "gpu_num", "submit": "submit_time", "duration": "end_time"},
    states=("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "RUNNING", "PENDING"),
    cluster=None,
    recognises=lambda head: has_columns(head, *NEEDED, "type", "gpu_time"),
    read=read,
)
