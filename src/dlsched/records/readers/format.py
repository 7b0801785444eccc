"""What a reader of a format is given and finds out, and what is known of each format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from zoneinfo import ZoneInfo

from dlsched.records.readers.columns import Column
from dlsched.records.readers.rows import Rows
from dlsched.records.readers.table import CHUNK
from dlsched.records.readers.values import find_zone

if TYPE_CHECKING:
    import pandas as pd

RESOURCES: Final = ("gpu", "cpu", "node")
"""What a job may be counted in."""


@dataclass
class Source:
    """A file or a data frame, how it is to be read, and what its reader finds out.

    Attributes
    ----------
    where
        Its name in errors.
    format, layout
        Name of its format, and how that is read.
    is_shipped
        Whether it comes with dlsched.
    frame
        The data frame that is read in place of the file at `path`.
    zone, zone_given
        The zone of dates without an offset, and whether it was stated.
    resource
        What jobs are counted in, one of `RESOURCES`.
    first
        Rows of the first part: few if few are wanted.
    history, needs_durations
        Whether starts, and whether durations are needed.
    notes, fields
        Sentences on what was assumed; what the file calls a field, for errors.
    dated
        Whether moments are seconds since 1970; otherwise they count from the record's own origin.
    zone_named, local
        The zone that the file itself names; whether it may have local times.
    capacity
        Amount of the resource of the whole cluster, if the file says so.
    is_model
        Whether it is a model of a workload, without recorded waits.
    """

    path: Path
    where: str
    format: str
    layout: TraceFormat
    is_shipped: bool = False
    frame: pd.DataFrame | None = None
    zone: ZoneInfo = field(default_factory=find_zone)
    zone_given: bool = False
    resource: str = "gpu"
    columns: tuple[Column, ...] = ()
    names: tuple[str, ...] | None = None
    delimiter: str | None = None
    first: int = CHUNK
    history: bool = False
    needs_durations: bool = True
    notes: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    dated: bool = True
    zone_named: str | None = None
    local: bool = False
    capacity: int | None = None
    is_model: bool = False


Read: TypeAlias = Callable[[Source], Iterator[Rows]]
"""Yields the rows of a file in parts."""


@dataclass(frozen=True)
class TraceFormat:
    """How one format is read.

    Attributes
    ----------
    title
        The format in words, with the paper.
    recognises
        Whether the beginning of a file is of this format.
    files
        How its files are called, without suffixes: what is looked for in archives and folders.
    columns
        Those by which it is recognised: of two formats that a file may be, that with more counts.
    states, cluster
        The states that its documentation lists; what `clusters` selects by, None if nothing.
    unit, time
        What a row is called in errors; the unit of its times, where a note has to say it.
    strict
        Whether a row that is no complete job is an error; otherwise such rows are counted.
    slurm
        Whether states are those of Slurm: a job that runs has the moment of the export as its end.
    has_durations, record
        Whether it records durations; whether it is what a scheduler recorded.
    """

    title: str
    read: Read
    recognises: Callable[[str], bool]
    files: tuple[str, ...] = ()
    columns: frozenset[str] = frozenset()
    states: tuple[str, ...] = ()
    cluster: str | None = None
    unit: str = "row"
    time: str | None = None
    strict: bool = False
    slurm: bool = False
    has_durations: bool = True
    record: bool = False


def first_line(head: str) -> str:
    """Return the first line of the beginning of a file."""
    return head.removeprefix("\ufeff").lstrip().partition("\n")[0].rstrip("\r")


def has_columns(names: Sequence[str]) -> Callable[[str], bool]:
    """Return whether the beginning of a file is a header with some columns."""

    def recognises(head: str) -> bool:
        header = {cell.strip().strip('"') for cell in first_line(head).split(",")}
        return header.issuperset(names)

    return recognises
