"""The Standard Workload Format, version 2.2, of the Parallel Workloads Archive.

18 fields a row, separated by blanks: job, submit, wait, run time, allocated processors, average CPU
time, memory, requested processors, requested time, requested memory, status, user, group,
executable, queue, partition, preceding job, think time; -1 where nothing is known. The header is of
comments, ``; Key: value``. In the wild there are files without a header, unsorted, with fractions
and ``-0.0``, with more fields, with texts in fields that nobody reads, with ``UNKNOWN`` for a date,
or with ``;`` or ``,`` between fields. Models of workloads have no recorded waits.

Source: Chapin and others, Benchmarks and Standards for the Evaluation of Parallel Job Schedulers,
JSSPP 1999; https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, TextIO

import numpy as np

from dlsched.errors import InstanceError, UnknownName
from dlsched.records.readers.files import lines, open_text
from dlsched.records.readers.format import Source, TraceFormat
from dlsched.records.readers.rows import Rows, empty, join
from dlsched.records.readers.table import CHUNK
from dlsched.records.readers.values import Floats, counted, find_zone, to_micro
from dlsched.schema import brief

FIELDS: Final = 18
USED: Final = {
    0: "job number",
    1: "submit time",
    2: "wait time",
    3: "run time",
    4: "allocated processors",
    7: "requested processors",
    8: "requested time",
    10: "status",
    11: "user",
    12: "group",
    14: "queue",
    15: "partition",
}
"""The fields that are read, by their places."""
STATES: Final = {0: "FAILED", 1: "COMPLETED", 5: "CANCELLED"}
"""Status of a job; 2 to 4 are parts of a job that was checkpointed, whose sum is a row, too."""
PARTIAL: Final = (2, 3, 4)
_HEADER = re.compile(r"\s*;\s*([A-Za-z ]+?)\s*:\s*(.*?)\s*")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?")
_PLACES: Final = {"id": 0, "submit": 1, "eligible": 1, "start": 2, "end": 3, "gpus": 4}


def _name(place: int) -> str:
    return f"field {place + 1}, {USED[place]}"


def recognises(head: str) -> bool:
    """Return whether the beginning of a file is of this format."""
    first, second, *_ = [*head.removeprefix("\ufeff").splitlines(), "", ""]
    cells = _cells(first)
    if not any(_NUMBER.fullmatch(cell) for cell in cells):  # it may name the fields
        cells = _cells(second) if len(cells) >= FIELDS else []
    return bool(_HEADER.match(first)) or (
        len(cells) >= FIELDS and all(_NUMBER.fullmatch(cell) for cell in cells[:5])
    )


def _cells(line: str) -> list[str]:
    return [cell for cell in re.split(r"[\s;,]+", line.strip()) if cell]


def read(source: Source) -> Iterator[Rows]:
    """Yield the rows of a file."""
    source.fields |= {field: _name(place) for field, place in _PLACES.items()}
    header: dict[str, str] = {}
    parts: list[Rows] = []
    with open_text(source.path, source.where) as text:
        listed = _rows_of(text, source.where, header)
        size = source.first
        while chunk := list(islice(listed, size)):
            parts.append(_part(chunk))
            # Whether there are waits and partitions is known of all rows together.
            if source.first < CHUNK:
                yield _rows([parts.pop()], source, header)
                header = {"unixstarttime": header.get("unixstarttime", "")}
    if parts:
        yield _rows(parts, source, header)


def _rows_of(text: TextIO, where: str, header: dict[str, str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row; comments go into the header."""
    for row, line in enumerate(lines(text, where), 1):
        comment = line.lstrip().startswith(";")
        match = _HEADER.fullmatch(line.rstrip("\r\n")) if comment else None
        if match:
            header.setdefault(match[1].lower(), match[2])
            continue
        cells = _cells(line)
        numbers = [bool(_NUMBER.fullmatch(cell)) for cell in cells]
        # A comment is no row, nor is a first line that names the fields.
        if cells and not (comment and not all(numbers)) and (row > 1 or any(numbers)):
            yield row, cells


def _apply_header(source: Source, header: Mapping[str, str]) -> int:
    """Take over zone and capacity from the header; return the first moment since 1970."""
    begin = header.get("unixstarttime", "")
    source.dated = bool(re.fullmatch(r"[1-9]\d{0,11}", begin))
    if not source.dated:
        source.notes.append(
            "the file has no UnixStartTime: moments count from its own origin, days are not known"
        )
    zone = header.get("timezonestring", "")
    if zone:
        try:
            find_zone(zone)
            source.zone_named = zone
        except UnknownName:
            source.notes.append(
                f"the header's TimeZoneString {brief(zone)!r} is no time zone: "
                f"{source.zone.key} is taken; name one: timezone=... (--timezone)"
            )
    key = "MaxProcs" if source.resource == "cpu" else "MaxNodes"
    most = header.get(key.lower(), "")
    plain = re.sub(r"(?<=\d)[,_ '](?=\d{3}(\D|$))", "", most.partition("(")[0].strip())
    match = re.match(r"\d+(?![\d.,])", plain)
    if match is not None:
        source.capacity = int(match[0]) or None
    elif most and most.strip().lower() not in ("-1", "unknown", "n/a"):
        problem = f"{brief(most)!r} is no number"
        raise InstanceError(source.where, key, problem, f"write it as {key}: 163840")
    return int(begin) if source.dated else 0


def _part(chunk: list[tuple[int, list[str]]]) -> Rows:
    """Return some rows, of which the numbers are in the column ``fields``."""
    import pandas as pd

    rows = empty(len(chunk))
    rows.columns["row"] = np.array([row for row, _ in chunk], np.int64)
    numbers = np.full((len(chunk), FIELDS), -1.0)
    for i, (_, cells) in enumerate(chunk):
        if len(cells) < FIELDS:
            rows.refuse_row(i, "", f"has {len(cells)} fields, not {FIELDS}")
    whole = rows.usable.copy()
    for place in USED:
        texts = pd.Series(
            [c[place] if ok else "-1" for (_, c), ok in zip(chunk, whole, strict=True)]
        )
        values = pd.to_numeric(texts, errors="coerce").to_numpy(float, copy=True)
        bad = np.isnan(values)
        rows.refuse(bad, _name(place), [f"{brief(text)!r} is no number" for text in texts[bad]])
        numbers[:, place] = np.where(bad, -1, values)
    rows.columns["fields"] = numbers
    return rows


def _rows(parts: list[Rows], source: Source, header: Mapping[str, str]) -> Rows:
    """Return some parts together, with the fields of a job taken from the numbers of a row."""
    begin = _apply_header(source, header)
    rows = join(parts)
    columns = rows.columns
    numbers: Floats = columns.pop("fields")
    numbers[numbers[:, 1] >= 0, 1] += begin
    job, submit, wait, run, held = numbers[:, :5].T
    asked, limit, status, user, group = (numbers[:, i] for i in (7, 8, 10, 11, 12))
    queue, partition = numbers[:, 14], numbers[:, 15]
    partial = np.isin(status, PARTIAL)
    rows.refuse(partial, _name(10), "a part of a job that is there as a whole", fault=False)
    columns["submit"], rounded = to_micro(np.where(submit >= 0, submit, np.nan))
    rows.rounded += int(rounded.sum())
    source.is_model = bool((wait[rows.usable] < 0).all())
    done = rows.usable & (run >= 0) & (wait < 0) & (status == 1) & (not source.is_model)
    wait = np.where(done | source.is_model, 0, wait)
    started = (wait >= 0) & (run >= 0)
    columns["start"], _ = to_micro(np.where(started, columns["submit"] + wait, np.nan))
    columns["end"], _ = to_micro(np.where(started, columns["start"] + run, np.nan))
    by_request = started & (held <= 0) & (asked > 0)
    for flags, said in (
        (
            done,
            "completed, with a wait below 0 in the file: they count as started when they were "
            "submitted",
        ),
        (by_request, "without allocated processors: the requested ones count"),
    ):
        if flags.any():
            source.notes.append(f"{counted(int(flags.sum()), 'job')} {said}")
    columns["gpus"] = np.maximum(np.where(held > 0, held, asked), 0.0)
    columns["limit"] = np.where(limit >= 0, limit, np.nan)
    columns["state"] = np.array([STATES.get(int(s)) for s in status], object)
    texts = {"id": job, "user": user, "account": group}
    texts["partition"] = partition if (partition >= 0).any() else queue
    for name, values in texts.items():
        columns[name] = np.array([f"{n:.15g}" if n >= 0 else None for n in values], object)
    return rows


FORMAT = TraceFormat(
    title="Standard Workload Format 2.2", recognises=recognises, read=read, record=True
)
