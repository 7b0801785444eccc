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

from dlsched.traces.lines import open_text
from dlsched.traces.record import Cells, Record, TraceFormat, between, has_columns
from dlsched.traces.table import Table

FILES = ("trace_seren", "trace_kalos")
NEEDED = ("job_id", "gpu_num", "state", "submit_time", "start_time", "end_time")
REMEDY = "read trace_seren.csv or trace_kalos.csv of AcmeTrace, or pass mapping="


def read(path: Path, where: str, notes: list[str]) -> Iterator[Record]:
    """Yield a record per row."""
    with open_text(path, where, FILES) as text:
        table = Table(text, where)
        cells = Cells(table, NEEDED, REMEDY)
        for row, values in table.rows():
            cells.at(row, values)
            duration, unknown = between(cells.date("start_time"), cells.date("end_time"))
            yield Record(
                row,
                cells.required("job_id"),
                ((1, cells.count("gpu_num")),),
                cells.date("submit_time"),
                duration,
                unknown,
                cells.text("state"),
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
