"""Which column of a trace file holds which field, and in which unit; the named formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from dlsched.errors import OptionError, UnknownName, spelled
from dlsched.records.traces.job import TraceJob

UNITS = {"ms": Fraction(1, 1000), "s": Fraction(1), "min": Fraction(60), "h": Fraction(3600)}
"""Seconds in each unit of time. A moment may be a ``"date"`` instead (ISO 8601)."""
MOMENTS = ("submit", "eligible", "start", "end")
TIMES = (*MOMENTS, "duration", "limit", "interval", "iteration_time", "stages")
TEXTS = ("id", "model", "user", "account", "partition", "gpu_type", "state", "cluster")
REQUIRED = ("id", "gpus", "submit")
MORE = ("start", "end", "state", "cluster")
"""What a mapping may name beside the fields of a job: start and end instead of a duration, and
what `read_trace` selects by."""

Entry: TypeAlias = str | tuple[str, str]
MappingLike: TypeAlias = str | Mapping[str, Entry | Sequence[Entry]]

MAPPINGS: dict[str, dict[str, Any]] = {
    "muri": {
        "id": "job_id",
        "gpus": "num_gpu",
        "submit": ("submit_time", "ms"),
        "iterations": "iterations",
        "model": "model_name",
        "batch_size": "batch_size",
        "duration": ("duration", "ms"),
        "interval": ("interval", "ms"),
        "iteration_time": ("iteration_time", "ms"),
        "stages": [(f"resource_time_{i}", "ms") for i in range(3)],
        "priority": "priority",
    },
    "tiresias": {
        "id": "job_id",
        "gpus": "num_gpu",
        "submit": ("submit_time", "s"),
        "iterations": "iterations",
        "model": "model_name",
        "duration": ("duration", "s"),
        "interval": ("interval", "s"),
    },
    "helios": {
        "id": "job_id",
        "gpus": "gpu_num",
        "submit": ("submit_time", "date"),
        "duration": ("duration", "s"),
    },
}
"""The formats of published traces: Muri (SIGCOMM'22), Tiresias (NSDI'19; ``60_job.csv``), Helios
(SC'21; ``cluster_log.csv``). `dlsched.records.write_trace` writes the first."""


@dataclass(frozen=True)
class Column:
    """One column of a file: the field that it holds, its name, and the unit if it is a time."""

    field: str
    name: str
    unit: str | None = None


def columns(mapping: MappingLike) -> tuple[Column, ...]:
    """Return the columns that a mapping names; of ``stages``, one for each stage.

    Parameters
    ----------
    mapping
        A name in `MAPPINGS`, or ``{field of TraceJob: column}``. A column is a name, or
        ``(name, unit)`` for a time; times without a unit are in seconds. ``stages`` takes a list
        of columns. ``id``, ``gpus``, ``submit`` are required, and either ``duration`` or both
        ``start`` and ``end``, of which the duration is the difference. ``state`` and ``cluster``
        are there to select jobs by.

    Raises
    ------
    UnknownName
        If there is no mapping of that name.
    OptionError
        If a field is unknown or missing, or a unit is unknown or given for a field that is no time.
    """
    if isinstance(mapping, str):
        if mapping not in MAPPINGS:
            raise UnknownName("trace format", mapping, MAPPINGS)
        mapping = MAPPINGS[mapping]
    if not isinstance(mapping, Mapping):
        raise OptionError(
            f"mapping={spelled(mapping)} is no mapping; write {{'id': ...}}, or a format's name"
        )
    # A job's nodes are several values: read_history reads them.
    known = [name for name in TraceJob.model_fields if name not in (*MORE, "nodes")] + [*MORE]
    for field in mapping:
        if field not in known:
            raise OptionError(f"mapping has no field {field!r}; it has: {', '.join(known)}")
    for field in REQUIRED:
        if field not in mapping:
            raise OptionError(f"mapping[{field!r}] is missing; name the column that holds it")
    ends = [field for field in ("start", "end") if field in mapping]
    if "duration" in mapping and ends:
        raise OptionError(
            f"mapping has both 'duration' and {ends[0]!r}; keep duration, or start and end"
        )
    if "duration" not in mapping and len(ends) < 2:
        raise OptionError(
            "mapping['duration'] is missing; name the column that holds it, or those of both "
            "start and end"
        )
    return tuple(_columns(mapping))


def record_fields(names: Iterable[str]) -> tuple[Column, ...]:
    """Return the columns of fields of a job's record, which are called alike."""
    return tuple(Column(name, name, "s" if name in TIMES else None) for name in names)


def _columns(mapping: Mapping[str, Any]) -> Sequence[Column]:
    result = []
    for field, entries in mapping.items():
        if field == "stages" and not isinstance(entries, list):
            raise OptionError("mapping['stages'] must be a list of columns, one per resource")
        for entry in entries if field == "stages" else [entries]:
            name, unit = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, None)
            if not isinstance(name, str) or not name:
                raise OptionError(
                    f"mapping[{field!r}] is {spelled(entry)}; write 'column' or ('column', 'ms')"
                )
            result.append(Column(field, name, _unit(field, unit)))
    return result


def _unit(field: str, unit: object) -> str | None:
    if field not in TIMES:
        if unit is not None:
            raise OptionError(f"mapping[{field!r}] is no time and takes no unit; drop {unit!r}")
        return None
    known = [*UNITS, *(["date"] if field in MOMENTS else [])]
    if unit is not None and unit not in known:
        raise OptionError(f"mapping[{field!r}] has unit {unit!r}; use one of {', '.join(known)}")
    return "s" if unit is None else str(unit)
