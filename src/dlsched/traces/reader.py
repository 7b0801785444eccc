"""Reading a trace from CSV, row by row, with errors that name the row and the column."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, cast

from pydantic import ValidationError

from dlsched import library
from dlsched.errors import InstanceError
from dlsched.files import MAX_BYTES
from dlsched.schema import LARGEST, Flaw, Unusable, brief
from dlsched.traces.columns import UNITS, Column, MappingLike, columns
from dlsched.traces.trace import Trace, TraceJob

MAX_LINE = 2**16
_NUMBER = re.compile(
    r"[+-]?(\d+(?P<point>\.\d*)?|(?P<bare>\.\d+))(?P<exponent>[eE][+-]?\d{1,3})?", re.ASCII
)
_MAX_LITERAL = 64


def read_trace(
    source: str | Path, mapping: MappingLike = "muri", *, name: str | None = None
) -> Trace:
    """Read a job trace from a ``.csv`` or ``.csv.gz`` file.

    Parameters
    ----------
    source
        A path, or the name of a trace that comes with dlsched (``"synthetic-1"``).
    mapping
        Which column holds which field: a name in `dlsched.traces.MAPPINGS`, or
        ``{field: column or (column, unit)}``; see `dlsched.traces.columns.columns`. Columns that
        the mapping does not name are not read.
    name
        Name of the trace; by default that of the file without its suffixes.

    Raises
    ------
    InstanceError
        Naming the file, the row (the header is row 1), the column, the flaw and the remedy.
    OptionError, UnknownName
        If the mapping cannot be used.
    """
    wanted = columns(mapping)
    path = Path(source)
    shipped = library.root() / "traces" / f"{path.name}.csv.gz"
    if path.parent == Path() and not path.suffix and not path.exists() and shipped.exists():
        path = shipped
    where = str(source)
    jobs = list(_jobs(path, where, wanted))
    if not jobs:
        raise InstanceError(where, "row 2", "there is no job", "write one row per job")
    stem = path.name.removesuffix(".gz").removesuffix(".csv")
    shown = stem if path is shipped else path.name
    options = "" if mapping == "muri" else f", {mapping!r}"
    return Trace(
        name=name or stem or "trace", jobs=tuple(jobs), source=f"read_trace({shown!r}{options})"
    )


def _jobs(path: Path, where: str, wanted: Sequence[Column]) -> Iterator[TraceJob]:
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            yield from _rows(_lines(text, where), where, wanted)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InstanceError(
            where, "", f"the gzip data is damaged ({error})", "copy or make the file anew"
        ) from None
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.object[error.start]:#x})"
        raise InstanceError(where, "", problem, "save it as UTF-8") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InstanceError(where, "", f"cannot be read: {reason}", "check the path") from None


def _lines(text: io.TextIOWrapper, where: str) -> Iterator[str]:
    """Yield the lines; raise on a line or a file that is too long before it is in memory."""
    total = 0
    for row, line in enumerate(iter(lambda: text.readline(MAX_LINE), ""), start=1):
        total += len(line)
        if len(line) == MAX_LINE:
            raise InstanceError(where, f"row {row}", "is too long", "write one row per job")
        if total > MAX_BYTES:
            limit = f"larger than {MAX_BYTES >> 20} MiB"
            raise InstanceError(where, "", limit, "split it, or drop what is not needed")
        yield line


def _rows(lines: Iterator[str], where: str, wanted: Sequence[Column]) -> Iterator[TraceJob]:
    reader = csv.reader(lines, strict=True)
    seen: dict[str, int] = {}
    try:
        header = next(reader, [])
        places = _places(header, where, wanted)
        for cells in reader:
            row = f"row {reader.line_num}"
            if not "".join(cells).strip():
                continue
            if len(cells) != len(header):
                problem = f"has {len(cells)} cells, the header has {len(header)}"
                raise InstanceError(where, row, problem, "write one cell per column")
            job = _job([cells[i].strip() for i in places], where, row, wanted)
            if job.id in seen:
                column = next(c.name for c in wanted if c.field == "id")
                raise InstanceError(
                    where,
                    f"{row}, {column}",
                    f'the id "{job.id}" is already used in row {seen[job.id]}',
                    "give every job its own id",
                )
            seen[job.id] = reader.line_num
            yield job
    except csv.Error as error:
        row = f"row {max(1, reader.line_num)}"
        raise InstanceError(where, row, f"is not CSV ({error})", "correct it there") from None


def _places(header: Sequence[str], where: str, wanted: Sequence[Column]) -> list[int]:
    names = [cell.strip() for cell in header]
    if not any(names):
        raise InstanceError(where, "row 1", "has no column names", "begin with a header row")
    for column in wanted:
        count = names.count(column.name)
        if count != 1:
            some = ", ".join(names[:16]) + (", ..." if len(names) > 16 else "")
            raise InstanceError(
                where,
                f"row 1, {column.name:.40}",
                "there are two columns of this name" if count else "there is no such column",
                "keep one of the two" if count else f"rename one, or pass mapping=; it has: {some}",
            )
    return [names.index(column.name) for column in wanted]


def _job(cells: Sequence[str], where: str, row: str, wanted: Sequence[Column]) -> TraceJob:
    data: dict[str, Any] = {}
    stages: list[Any] = []
    for column, cell in zip(wanted, cells, strict=True):
        value = _value(column, cell)
        if column.field == "stages":
            stages.append(value)
        elif value is not None:
            data[column.field] = value
    if any(stage is not None for stage in stages):
        empty = Unusable("an empty cell", "is no time", "write all the stages, or none")
        data["stages"] = tuple(empty if stage is None else stage for stage in stages)
    try:
        return TraceJob.model_validate(data)
    except ValidationError as error:
        raise _flaw(error, where, row, wanted, cells) from None


def _flaw(
    error: ValidationError, where: str, row: str, wanted: Sequence[Column], cells: Sequence[str]
) -> InstanceError:
    first = error.errors(include_url=False)[0]
    field, *rest = first["loc"]
    nth = int(rest[0]) if rest else 0
    i = [i for i, column in enumerate(wanted) if column.field == field][nth]
    cause = first.get("ctx", {}).get("error")
    problem, remedy = "the cell is empty", "fill it in, or leave the row out"
    if isinstance(cause, Flaw):
        problem, remedy = cause.problem, cause.remedy
    return InstanceError(where, f"{row}, {wanted[i].name}", problem, remedy)


def _value(column: Column, cell: str) -> Any:
    """Return the value of a cell, a time in seconds; None for an empty one."""
    if not cell:
        return None
    if column.field in ("id", "model"):
        return cell
    if column.unit == "date":
        return _date(cell)
    number = _number(cell)
    if column.unit is None or isinstance(number, Unusable):
        return number
    if number < 0:  # checked here, so that the message has the file's unit
        return Unusable(cell, "is too small", "write a number at least 0")
    return number * UNITS[column.unit]


def _number(cell: str) -> int | Fraction | Unusable:
    match = _NUMBER.fullmatch(cell)
    if not match:
        return Unusable(brief(cell), "is not a number", "write a finite decimal")
    if len(cell) > _MAX_LITERAL:
        return Unusable(brief(cell), "has too many digits", "round it to 15 digits")
    if not (match["point"] or match["bare"] or match["exponent"]):
        return int(cell)
    number = Fraction(Decimal(cell))
    if abs(number) > LARGEST:
        return Unusable(brief(cell), "is too large", "use a unit that keeps it within 1e15")
    return number


def _date(cell: str) -> int | Fraction | Unusable:
    """Return the seconds since 1970; a date without a time zone is taken as UTC."""
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return Unusable(f"{cell:.40}", "is not a date", "write it as 2020-06-09 18:41:01")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return Fraction(since.days * 86400 + since.seconds) + Fraction(since.microseconds, 10**6)
