"""The Standard Workload Format, version 2.2, of the Parallel Workloads Archive.

18 fields a row, separated by blanks: job, submit, wait, run time, allocated processors, average CPU
time, memory, requested processors, requested time, requested memory, status, user, group,
executable, queue, partition, preceding job, think time; -1 where nothing is known. The header is of
comments, ``; Key: value``. In the wild there are files without a header, unsorted, with fractions
and ``-0.0``, with more fields, or with ``;`` or ``,`` between them. Models of workloads have no
recorded waits.

Source: Chapin and others, Benchmarks and Standards for the Evaluation of Parallel Job Schedulers,
JSSPP 1999; https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import InstanceError
from dlsched.records.history.raw import Raw, Record, empty, tuples
from dlsched.records.history.times import find_zone
from dlsched.records.traces.lines import lines, open_text
from dlsched.records.traces.record import counted
from dlsched.schema import brief

FIELDS: Final = 18
STATES: Final = {0: "FAILED", 1: "COMPLETED", 5: "CANCELLED"}
"""Status of a job; 2 to 4 are parts of a job that was checkpointed, whose sum is a row, too."""
PARTIAL: Final = (2, 3, 4)
_HEADER = re.compile(r"\s*;\s*([A-Za-z ]+?)\s*:\s*(.*?)\s*")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?")
_NAMES: Final = {
    "id": "field 1, job number",
    "submit": "field 2, submit time",
    "eligible": "field 2, submit time",
    "start": "field 3, wait time",
    "end": "field 4, run time",
    "gpus": "field 5, allocated processors",
}


def recognises(line: str) -> bool:
    """Return whether a file's first line is of this format."""
    cells = _cells(line)
    return bool(_HEADER.match(line)) or (
        len(cells) >= FIELDS and all(_NUMBER.fullmatch(cell) for cell in cells)
    )


def _cells(line: str) -> list[str]:
    return [cell for cell in re.split(r"[\s;,]+", line.strip()) if cell]


def read(path: Path, where: str, resource: str) -> Record:
    """Return the rows of a file.

    Parameters
    ----------
    resource
        ``"cpu"`` for processors, or ``"node"`` where the file counts nodes.

    Raises
    ------
    InstanceError
        If the file as a whole cannot be used.
    """
    header: dict[str, str] = {}
    table: list[list[str]] = []
    rows: list[int] = []
    with open_text(path, where) as text:
        for row, line in enumerate(lines(text, where), 1):
            comment = line.lstrip().startswith(";")
            match = _HEADER.fullmatch(line.rstrip("\r\n")) if comment else None
            if match:
                header.setdefault(match[1].lower(), match[2])
                continue
            if comment and not _cells(line):
                continue
            cells = _cells(line)
            if comment and not all(_NUMBER.fullmatch(cell) for cell in cells):
                continue
            if cells:
                table.append(cells)
                rows.append(row)
    if not table:
        raise InstanceError(where, "", "there is no job", "read a file of 18 fields a row")
    raw = _rows(table, rows)
    record = Record(raw, dict(_NAMES), local=False)
    _apply_header(record, header, resource)
    _apply_fields(record)
    return record


def _rows(table: list[list[str]], rows: list[int]) -> Raw:
    """Return rows that have numbers only; ``order`` holds nothing yet."""
    raw = empty(len(table))
    raw.columns["row"] = np.array(rows, np.int64)
    numbers = np.full((len(table), FIELDS), -1.0)
    for i, cells in enumerate(table):
        if len(cells) < FIELDS:
            raw.refuse_row(i, "", f"has {len(cells)} fields, not {FIELDS}")
            continue
        try:
            numbers[i] = [float(cell) for cell in cells[:FIELDS]]
        except ValueError:
            bad = next(cell for cell in cells if not _NUMBER.fullmatch(cell))
            raw.refuse_row(i, "", f"{brief(bad)!r} is no number")
    raw.columns["fields"] = numbers
    return raw


def _apply_header(record: Record, header: Mapping[str, str], resource: str) -> None:
    """Take over what the header says of time, zone and capacity."""
    begin = header.get("unixstarttime", "")
    record.dated = bool(re.fullmatch(r"[1-9]\d{0,11}", begin))
    if record.dated:
        moments = record.raw.columns["fields"][:, 1]
        moments[moments >= 0] += int(begin)
    else:
        record.notes.append(
            "the file has no UnixStartTime: moments count from its own origin, days are not known"
        )
    zone = header.get("timezonestring", "")
    if zone:
        find_zone(zone)
        record.zone = zone
    most = header.get("maxprocs" if resource == "cpu" else "maxnodes", "")
    match = re.match(r"[1-9]\d*", most)
    record.capacity = int(match[0]) if match else None


def _apply_fields(record: Record) -> None:
    """Take the fields of a job from the numbers of a row."""
    raw = record.raw
    numbers: NDArray[np.float64] = raw.columns.pop("fields")
    job, submit, wait, run, held = numbers[:, :5].T
    asked, limit, status, user, group = (numbers[:, i] for i in (7, 8, 10, 11, 12))
    queue, partition = numbers[:, 14], numbers[:, 15]
    partial = np.isin(status, PARTIAL)
    raw.refuse(partial, "field 11, status", "a part of a job that is there as a whole", fault=False)
    columns = raw.columns
    columns["id"] = np.array([f"{n:.15g}" if n >= 0 else None for n in job], object)
    columns["submit"] = np.where(submit >= 0, submit, np.nan)
    columns["eligible"] = columns["submit"].copy()
    if (wait[raw.usable] < 0).all():
        record.notes.append(
            "the file has no recorded waits, as a model of a workload: there is nothing to compare "
            "with, and every job counts as if it had started when it was submitted"
        )
        wait = np.zeros(len(wait))
        columns["model"] = np.ones(len(wait), np.bool_)
    started = (wait >= 0) & (run >= 0)
    columns["start"] = np.where(started, columns["submit"] + wait, np.nan)
    columns["end"] = np.where(started, columns["start"] + run, np.nan)
    taken = np.where(held > 0, held, asked)
    by_request = int((started & (held <= 0) & (asked > 0)).sum())
    if by_request:
        record.notes.append(
            f"{counted(by_request, 'job')} without allocated processors: the requested ones count"
        )
    columns["gpus"] = np.where(taken > 0, taken, 0.0)
    columns["limit"] = np.where(limit >= 0, limit, np.nan)
    columns["state"] = np.array([STATES.get(int(s)) for s in status], object)
    for name, values in (("user", user), ("account", group)):
        columns[name] = np.array([f"{n:.15g}" if n >= 0 else None for n in values], object)
    places = partition if (partition >= 0).any() else queue
    columns["partition"] = np.array([f"{n:.15g}" if n >= 0 else None for n in places], object)
    columns["nodes"] = tuples([()] * raw.size)
