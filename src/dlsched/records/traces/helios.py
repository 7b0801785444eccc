"""SenseTime Helios (SC'21): ``cluster_log.csv``, one file per cluster.

The columns are those of the README of S-Lab-System-Group/HeliosData, section "Schema and
Description": ``gpu_num`` GPUs required; ``submit_time``, ``start_time`` and ``end_time`` as dates
without a time zone; ``duration`` in seconds, the difference of the last two (note 3); ``state`` one
of five, and ``SUSPENDED`` once (note 2); ``vc`` the hashed virtual cluster. A job's duration is
``end_time`` minus ``start_time``; only a file without these two columns is read by ``duration``.
Dates are taken as UTC: only differences count.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dlsched.records.traces.lines import open_text
from dlsched.records.traces.record import Cells, Record, TraceFormat, between, has_columns
from dlsched.records.traces.table import Table

FILES = ("cluster_log",)
NEEDED = ("job_id", "gpu_num", "submit_time")
INTERVAL = ("start_time", "end_time")
OPTIONAL = ("user",)
REMEDY = "read the cluster_log.csv of HeliosData, or pass mapping="


def read(path: Path, where: str, notes: list[str]) -> Iterator[Record]:
    """Yield a record per row."""
    with open_text(path, where, FILES) as text:
        table = Table(text, where)
        spans = set(INTERVAL) <= set(table.header)
        needed = (*NEEDED, *(INTERVAL if spans else ("duration",)))
        if not spans:
            notes.append(
                "start_time and end_time are not there: the durations are those of duration"
            )
        recorded = [name for name in ("state", "vc") if name in table.header]
        cells = Cells(table, [*needed, *recorded], REMEDY, OPTIONAL)
        for row, values in table.rows():
            cells.at(row, values)
            if spans:
                duration, unknown = between(cells.date("start_time"), cells.date("end_time"))
            else:
                duration = cells.count("duration")
                unknown = None
            yield Record(
                row,
                cells.required("job_id"),
                ((1, cells.count("gpu_num")),),
                cells.date("submit_time"),
                duration,
                unknown,
                cells.text("state") if "state" in recorded else None,
                cells.text("vc") if "vc" in recorded else None,
                start=cells.date("start_time") if spans else None,
                user=cells.optional("user"),
                partition=cells.optional("vc"),
            )


FORMAT = TraceFormat(
    title="SenseTime Helios (SC'21), cluster_log.csv",
    files=FILES,
    names={"id": "job_id", "gpus": "gpu_num", "submit": "submit_time", "duration": "end_time"},
    states=("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "SUSPENDED"),
    cluster="the virtual cluster, vc",
    recognises=lambda head: has_columns(head, *NEEDED, "vc", "duration"),
    read=read,
)
