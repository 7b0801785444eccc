"""Alibaba 2023 (ATC'23): ``openb_pod_list_*.csv`` of cluster-trace-gpu-v2023.

The columns are those of the README of alibaba/clusterdata, folder cluster-trace-gpu-v2023:
``num_gpu`` GPUs requested, 0 to 8; ``gpu_milli`` thousandths of a GPU, for pods that share one
(``num_gpu`` 1); ``creation_time``, ``scheduled_time`` and ``deletion_time`` in seconds from an
origin of its own; ``pod_phase`` one of Succeeded, Running, Pending, Failed. A pod is a job; its
duration is ``deletion_time`` minus ``scheduled_time``. A pod that was never scheduled has an empty
cell there. A pod that outlived the trace is deleted at the trace's end.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from dlsched.records.traces.record import (
    Cells,
    Record,
    TraceFormat,
    between,
    has_columns,
    table_records,
)
from dlsched.schema.quantities import simplify

FILES = ("openb_pod_list",)
NEEDED = (
    "name",
    "num_gpu",
    "gpu_milli",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
)
OPTIONAL = ("gpu_spec",)
REMEDY = "read an openb_pod_list_*.csv of cluster-trace-gpu-v2023, or pass mapping="


def read(path: Path, where: str, notes: list[str]) -> Iterator[Record]:
    """Return a record per row."""
    return table_records(path, where, FILES, NEEDED, REMEDY, _record, OPTIONAL)


def _record(cells: Cells) -> Record:
    count = cells.count("num_gpu")
    milli = cells.amount("gpu_milli")
    shares = count == 1 and milli is not None and 0 < milli < 1000
    gpus_of_worker = simplify(Fraction(milli or 0) / 1000) if shares else 1
    duration, unknown = between(
        cells.amount("scheduled_time"), cells.amount("deletion_time"), "never scheduled"
    )
    if count != int(count):
        raise cells.error("num_gpu", f"{float(count):g} is not a whole number", REMEDY)
    return Record(
        cells.row,
        cells.required("name"),
        ((int(count), gpus_of_worker),),
        cells.amount("creation_time"),
        duration,
        unknown,
        cells.text("pod_phase"),
        start=cells.amount("scheduled_time"),
        gpu_type=cells.optional("gpu_spec"),
    )


FORMAT = TraceFormat(
    title="Alibaba 2023 (ATC'23), openb_pod_list_*.csv",
    files=FILES,
    names={
        "id": "name",
        "gpus": "num_gpu",
        "submit": "creation_time",
        "duration": "deletion_time",
    },
    states=("Succeeded", "Running", "Pending", "Failed"),
    cluster=None,
    recognises=lambda head: has_columns(head, "name", "num_gpu", "gpu_milli", "pod_phase"),
    read=read,
)
