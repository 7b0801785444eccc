"""Slurm's accounting: what ``sacct -X -P`` prints, with any delimiter, with or without a header.

The columns are those of the man page of ``sacct``, section "Job Accounting Fields". A task of an
array, a component of a heterogeneous job and an earlier run of a requeued job (``-D``) are jobs of
their own; steps (``123.batch``) are skipped. `assembly` makes a history's jobs of these rows,
`workload` a simulation's of those.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.records.history import sacct_resources
from dlsched.records.history.fields import MOMENTS
from dlsched.records.history.job_id import parse_job_id
from dlsched.records.history.raw import (
    Known,
    Raw,
    Record,
    empty,
    fill_duration,
    fill_moments,
    join,
    name_of,
)
from dlsched.records.traces.lines import lines, open_text

if TYPE_CHECKING:
    import pandas as pd

CHUNK: Final = 50_000
"""Rows that are read at a time, so that their texts are not in memory together."""
LONGEST: Final = 2**20
"""Characters of a row: lists of nodes and command lines are long."""
DELIMITERS: Final = ("|", "\t", ";", ",", "^", "~")
COMMAND: Final = (
    "TZ=UTC sacct -a -X -P -D -S now-30days -E now "
    "-o JobID,User,Account,Partition,State,Submit,Eligible,Start,End,Elapsed,Timelimit,NNodes,"
    "NCPUS,NodeList,ReqTRES,AllocTRES,JobName"
)
"""What to run: times in UTC, one row per run, without truncation, the job's name last."""
WANTED: Final = (
    *("jobid", "jobidraw", "user", "account", "partition", "state"),
    *MOMENTS,
    *("elapsed", "elapsedraw", "timelimit", "timelimitraw", "nodelist"),
    *sacct_resources.WANTED,
)
"""The columns that are read, where they are there."""
DURATIONS: Final = (
    ("elapsedraw", "elapsed", 1),
    ("elapsed", "elapsed", 1),
    ("timelimitraw", "limit", 60),
    ("timelimit", "limit", 60),
)
"""Columns of durations, the field that they hold, and seconds of the unit of a plain number."""
_REMEDY = f"export again: {COMMAND}"


class Layout(NamedTuple):
    """How the rows are divided.

    Attributes
    ----------
    names
        The columns, in lower case.
    delimiter
        What is between them.
    has_header
        Whether the first row has the names.
    trailing
        Whether a delimiter ends every row, as with ``-p``.
    """

    names: tuple[str, ...]
    delimiter: str
    has_header: bool
    trailing: bool

    @property
    def open_ended(self) -> bool:
        """Whether further delimiters can only be part of the last column, the job's name."""
        return self.names[-1] == "jobname" and not self.trailing


def recognises(line: str) -> bool:
    """Return whether a file's first line is a header of ``sacct``."""
    names = {name.lower() for name in re.findall(r"\w+", line)}
    return bool({"jobid", "jobidraw"} & names) and len(names & set(WANTED)) > 3


def read(
    path: Path,
    where: str,
    zone: ZoneInfo,
    resource: str,
    columns: Sequence[str] | None,
    delimiter: str | None,
) -> Record:
    """Return the rows of a file.

    Raises
    ------
    InstanceError
        If the file as a whole cannot be used.
    """
    with open_text(path, where) as text:
        rows = lines(text, where, LONGEST)
        first = next(rows, "")
        if not first.strip():
            raise InstanceError(where, "row 1", "the file is empty", _REMEDY)
        layout = find_layout(first.rstrip("\r\n"), where, columns, delimiter)
        reader = Reader(layout, where, zone, resource)
        row = 2 if layout.has_header else 1
        chunk = [] if layout.has_header else [first]
        parts: list[Raw] = []
        while chunk := chunk + list(islice(rows, CHUNK - len(chunk))):
            parts.append(reader.part(chunk, row))
            row += len(chunk)
            chunk = []
    if not parts:
        raise InstanceError(where, "row 2", "no job is left: there is no row", _REMEDY)
    named = {name: name.capitalize() for name in MOMENTS} | {"id": "JobID", "gpus": resource}
    return Record(join(parts), named, slurm=True)


def find_layout(
    line: str, where: str, columns: Sequence[str] | None, delimiter: str | None
) -> Layout:
    """Return how the rows of a file are divided, from its first line.

    Raises
    ------
    InstanceError
        If a column is missing, or there is no header and `columns` is None.
    """
    if delimiter is None and re.fullmatch(r"\s*JobID\s{2,}.*", line):
        raise InstanceError(where, "row 1", "its columns are padded with blanks", _REMEDY)
    if not recognises(line):
        if columns is None:
            problem = f"is no header of sacct: {line[:60]!r}"
            remedy = "name the columns in order: columns=['jobid', ...] (--columns jobid,...)"
            raise InstanceError(where, "row 1", problem, f"{remedy}; or {_REMEDY}")
        if isinstance(columns, str):
            columns = columns.split(",")
        names = tuple(name.strip().lower() for name in columns)
        count = len(names) - 1
        found = [d for d in DELIMITERS if line.count(d) >= count]
        mark = delimiter or next((d for d in found if line.count(d) == count), (found or "|")[0])
        has_header = False
    else:
        mark = delimiter or max(DELIMITERS, key=line.count)
        names = tuple(name.strip().lower() for name in line.split(mark))
        has_header = True
    trailing = line.endswith(mark) and (not has_header or names[-1] == "")
    names = names[:-1] if has_header and trailing else names
    trailing = trailing and line.count(mark) == len(names)
    _require(names, where)
    return Layout(names, mark, has_header, trailing)


def _require(names: Sequence[str], where: str) -> None:
    some = ", ".join(names)
    for alternatives in (("jobid", "jobidraw"), ("submit",), ("start",), ("end",)):
        if not set(alternatives) & set(names):
            problem = f"there is no column {alternatives[0]}"
            raise InstanceError(where, "row 1", problem, f"it has: {some:.200}; {_REMEDY}")
    for name in WANTED:
        if names.count(name) > 1:
            raise InstanceError(where, f"row 1, {name}", "is there twice", "keep one of the two")


class Reader:
    """Reads one part of a file after another; distinct texts are read once for all of them."""

    def __init__(self, layout: Layout, where: str, zone: ZoneInfo, resource: str) -> None:
        self.layout = layout
        self.where = where
        self.zone = zone
        self.resource = sacct_resources.Reader(resource, layout.names)
        self.names = Known(name_of)
        self.states = Known(lambda text: text.partition(" ")[0].rstrip("+").upper() or None)

    def part(self, lines: Sequence[str], row: int) -> Raw:
        """Return the rows of some lines, of which the first is that of a number."""
        cells, rows, broken = self._split(lines, row)
        raw = empty(len(rows))
        raw.columns["row"] = np.array(rows, np.int64)
        for place, problem in broken.items():
            raw.refuse_row(place, "", problem)
        self._fill_ids(raw, cells)
        for name in ("user", "account", "partition"):
            if name in cells:
                raw.columns[name] = np.array(self.names.of(cells[name]), object)
        if "state" in cells:
            raw.columns["state"] = np.array(self.states.of(cells["state"]), object)
        usable = raw.usable
        times = {str(m): cells[m].where(usable, "") for m in MOMENTS if m in cells}
        fill_moments(raw, times, {m: m.capitalize() for m in times}, self.zone)
        for name, target, unit in DURATIONS:
            if name in cells:
                fill_duration(raw, target, cells[name].where(usable, ""), name.capitalize(), unit)
        self.resource.fill(raw, cells)
        return raw

    def _split(
        self, lines: Sequence[str], row: int
    ) -> tuple[dict[str, pd.Series[str]], list[int], dict[int, str]]:
        """Return the cells by column, the rows' numbers, and what is wrong with some of them."""
        import pandas as pd

        mark = self.layout.delimiter
        width = len(self.layout.names)
        expected = width - 1 + self.layout.trailing
        kept: list[str] = []
        rows: list[int] = []
        broken: dict[int, str] = {}
        blank = "\x1f" * (width - 1)
        for number, ended in enumerate(lines, row):
            line = ended.rstrip("\r\n")
            count = line.count(mark)
            if count == expected:
                kept.append(line.replace(mark, "\x1f") if len(mark) > 1 or "\x1f" in line else line)
            elif not line.strip():
                continue
            elif count > expected and self.layout.open_ended:
                *before, name = line.split(mark, width - 1)
                kept.append(mark.join([*before, name.replace(mark, " ")]))
            else:
                remedy = "put JobName last" if count > expected else "is a line break in a name?"
                broken[len(kept)] = f"has {count + 1} fields, not {expected + 1}; {remedy}"
                kept.append(blank.replace("\x1f", mark))
            rows.append(number)
        one = mark if len(mark) == 1 else "\x1f"
        frame = pd.read_csv(
            StringIO("\n".join(kept)),
            sep=one,
            header=None,
            names=range(width + self.layout.trailing),
            usecols=[i for i, name in enumerate(self.layout.names) if name in WANTED],
            dtype=object,
            quoting=3,
            na_filter=False,
            engine="c",
            skip_blank_lines=False,
        )
        cells = {self.layout.names[int(i)]: frame[i] for i in frame.columns}
        return cells, rows, broken

    def _fill_ids(self, raw: Raw, cells: dict[str, pd.Series[str]]) -> None:
        """Read the ids, and leave out the steps."""
        texts = cells["jobid" if "jobid" in cells else "jobidraw"].str.strip()
        ids = texts.to_numpy(object, copy=True)
        raw.columns["id"] = ids
        numbers = cells.get("jobidraw", texts)
        plain = numbers.str.isdecimal().to_numpy(bool) & (numbers.str.len() < 16).to_numpy(bool)
        raw.columns["order"] = np.where(plain, numbers.where(plain, "0").astype(float), np.nan)
        steps = texts.str.contains(".", regex=False).to_numpy(bool)
        raw.refuse(steps, "JobID", "step", fault=False)
        for place in np.flatnonzero(~plain & ~steps):
            if raw.reason[place] is not None:
                continue
            try:
                parsed = parse_job_id(ids[place])
            except OptionError as error:
                raw.refuse_row(int(place), "JobID", str(error))
                continue
            if np.isnan(raw.columns["order"][place]):
                raw.columns["order"][place] = parsed.number
