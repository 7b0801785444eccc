"""What the readers of published traces have in common: one record per job, one table of formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dlsched.errors import InstanceError
from dlsched.records.traces import cells
from dlsched.records.traces.lines import open_text
from dlsched.records.traces.table import Table
from dlsched.schema.quantities import Number, Unusable


@dataclass(slots=True)
class Record:
    """One job as a trace records it. All times are in seconds.

    Attributes
    ----------
    row
        Where it is in the file: the number of its row or job.
    workers
        ``(number of workers, GPUs of each)``, where the GPUs may be a fraction.
    duration
        Time for which it held its GPUs; negative if it ends before it starts, None if unknown.
    unknown
        Why the duration is unknown.
    state, cluster
        None if the file does not record it.
    start, user, partition, gpu_type, nodes
        The fields of a `TraceJob` of the same names, where the file has them.
    """

    row: int
    id: str
    workers: tuple[tuple[int, Number], ...]
    submit: Number | None
    duration: Number | None
    unknown: str | None = None
    state: str | None = None
    cluster: str | None = None
    start: Number | None = None
    user: str | None = None
    partition: str | None = None
    gpu_type: str | None = None
    nodes: tuple[tuple[str, int], ...] = ()


Read: TypeAlias = Callable[[Path, str, list[str]], Iterator[Record]]
"""Takes a path, its name in errors, and a list to which it adds notes; returns the records."""


@dataclass(frozen=True)
class TraceFormat:
    """How one published trace is read.

    Attributes
    ----------
    title
        The trace in words, with the paper.
    files
        How its files are called, without suffixes: what is looked for in archives and folders.
    names
        Columns (or JSON keys) that hold a job's fields, for errors.
    states
        The states of a job that its documentation lists.
    cluster
        What `clusters` selects by; None if the trace has nothing of the kind.
    recognises
        Whether the beginning of a file is of this format.
    unit
        What a record is called in errors: a row, or a job of a list.
    """

    title: str
    files: tuple[str, ...]
    names: Mapping[str, str]
    states: tuple[str, ...]
    cluster: str | None
    recognises: Callable[[str], bool]
    read: Read
    unit: str = "row"


class Cells:
    """The cells of one table by column, with errors that name the row and the column."""

    def __init__(
        self, table: Table, columns: Sequence[str], remedy: str, optional: Sequence[str] = ()
    ) -> None:
        self.where = table.where
        there = [name for name in optional if table.header.count(name) == 1]
        self._places = {name: table.place(name, remedy) for name in (*columns, *there)}
        self.row = 0
        self._cells: Sequence[str] = ()

    def at(self, row: int, values: Sequence[str]) -> None:
        """Go to a row."""
        self.row = row
        self._cells = values

    def text(self, name: str) -> str | None:
        """Return the text of a cell; None if nothing is recorded."""
        cell = self._cells[self._places[name]].strip()
        return None if cells.is_missing(cell) else cell

    def optional(self, name: str) -> str | None:
        """Return the text of a cell; None if nothing is recorded, or there is no such column."""
        return self.text(name) if name in self._places else None

    def required(self, name: str) -> str:
        """Return the text of a cell that must not be empty."""
        text = self.text(name)
        if text is None:
            raise self.empty(name)
        return text

    def amount(self, name: str) -> Number | None:
        """Return a number, which may be spelled with a decimal point; None if it is missing."""
        cell = self.text(name)
        if cell is None:
            return None
        plain = cell.removesuffix(".0")  # as pandas writes whole numbers
        if plain.isascii() and plain.isdecimal() and len(plain) < 16:
            return int(plain)
        return self._usable(name, cells.number(cell))

    def count(self, name: str) -> Number:
        """Return a number that must be there and at least 0."""
        amount = self.amount(name)
        if amount is None:
            raise self.empty(name)
        if amount < 0:
            raise self.error(name, f"{float(amount):g} is too small", "write a number at least 0")
        return amount

    def date(self, name: str) -> Number | None:
        """Return the seconds since 1970 of a date and time of day; None if it is missing."""
        cell = self.text(name)
        return None if cell is None else self._usable(name, cells.date(cell))

    def error(self, name: str, problem: str, remedy: str) -> InstanceError:
        """Return an error about a cell of this row."""
        return InstanceError(self.where, f"row {self.row}, {name}", problem, remedy)

    def empty(self, name: str) -> InstanceError:
        """Return the error about a cell of this row that must not be empty."""
        return self.error(name, "the cell is empty", "fill it in, or leave the row out")

    def _usable(self, name: str, value: Number | Unusable) -> Number:
        if isinstance(value, Unusable):
            raise self.error(name, f"{value.text} {value.problem}", value.remedy)
        return value


def table_records(
    path: Path,
    where: str,
    files: tuple[str, ...],
    columns: Sequence[str],
    remedy: str,
    record: Callable[[Cells], Record],
    optional: Sequence[str] = (),
) -> Iterator[Record]:
    """Yield the record that `record` makes of each row of a table, in which a row is a job."""
    with open_text(path, where, files) as text:
        table = Table(text, where)
        cells = Cells(table, columns, remedy, optional)
        for row, values in table.rows():
            cells.at(row, values)
            yield record(cells)


def between(
    start: Number | None, end: Number | None, unstarted: str = "without a start"
) -> tuple[Number | None, str | None]:
    """Return the time from start to end, or None and why it is unknown."""
    if start is None:
        return None, unstarted
    if end is None:
        return None, "without an end"
    return end - start, None


def has_columns(head: str, *names: str) -> bool:
    """Return whether the first line of a text is a header with these columns."""
    line = head.removeprefix("\ufeff").lstrip().partition("\n")[0]
    header = {cell.strip().strip('"') for cell in line.split(",")}
    return header.issuperset(names)


def counted(number: int, noun: str) -> str:
    """Return a number of things, as 1 job or 2 jobs."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
