"""Jobs from the rows of a table whose columns a mapping names: a CSV file or a data frame."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from dlsched.errors import InstanceError
from dlsched.records.traces import cells, plausibility
from dlsched.records.traces.choice import Choice
from dlsched.records.traces.columns import MOMENTS, TEXTS, UNITS, Column
from dlsched.records.traces.job import TraceJob
from dlsched.schema.flaws import brief, flaw_of
from dlsched.schema.quantities import Number, Unusable

EMPTY = ("the cell is empty", "fill it in, or leave the row out")
"""What is wrong with a cell that must not be empty, and the remedy."""
Value = Callable[[Column, Any], Any]
"""From a cell to what it holds: a time in seconds, None if it is empty."""


def jobs(
    rows: Iterator[tuple[str, Sequence[Any]]],
    where: str,
    wanted: Sequence[Column],
    value: Value,
    choice: Choice,
) -> list[TraceJob]:
    """Return the jobs that are chosen.

    Parameters
    ----------
    rows
        What a row is called in errors, and its cells in the order of `wanted`.

    Raises
    ------
    InstanceError
        Naming the file, the row, the column, the flaw and the remedy.
    """
    names = {column.field: column.name for column in wanted}
    names.setdefault("duration", names.get("end", "duration"))
    chosen: list[TraceJob] = []
    seen: dict[str, str] = {}
    for row, row_cells in rows:
        values = list(map(value, wanted, row_cells))
        state = _text(wanted, values, "state")
        cluster = _text(wanted, values, "cluster")
        if not choice.takes(state, cluster):
            continue
        job = _job(values, where, row, wanted)
        if job.gpus < choice.min_gpus:
            continue
        if job.id in seen:
            raise InstanceError(
                where,
                f"{row}, {names['id']}",
                f'the id "{job.id}" is already used in {seen[job.id]}',
                "give every job its own id",
            )
        seen[job.id] = row
        if choice.plausibility:
            finding = plausibility.in_job(job.gpus, job.submit, job.duration)
            plausibility.refuse(finding, where, names, row)
        chosen.append(job)
    choice.validate(())
    if chosen and choice.plausibility:
        plausibility.refuse(plausibility.in_jobs(chosen), where, names)
    return chosen


def _text(wanted: Sequence[Column], values: Sequence[Any], field: str) -> str | None:
    for column, value in zip(wanted, values, strict=True):
        if column.field == field:
            return None if value is None else str(value)
    return None


def _job(values: Sequence[Any], where: str, row: str, wanted: Sequence[Column]) -> TraceJob:
    data: dict[str, Any] = {}
    stages: list[Any] = []
    for column, value in zip(wanted, values, strict=True):
        if column.field == "stages":
            stages.append(value)
        elif value is not None:
            data[column.field] = value
    if any(stage is not None for stage in stages):
        empty = Unusable("an empty cell", "is no time", "write all the stages, or none")
        data["stages"] = tuple(empty if stage is None else stage for stage in stages)
    data.pop("cluster", None)
    if any(column.field == "end" for column in wanted):
        names = {column.field: column.name for column in wanted}
        data["duration"] = _between(data, where, row, names)
    try:
        return TraceJob.model_validate(data)
    except ValidationError as error:
        raise _flaw(error, where, row, wanted) from None


def _between(data: dict[str, Any], where: str, row: str, names: Mapping[str, str]) -> Number:
    """Take the end out of a job's data and return the time from its start to it."""
    start, end = (_moment(data, field, where, row, names) for field in ("start", "end"))
    data["start"] = start
    if end < start:
        problem = f"the job ends {brief(str(float(start - end)))} s before it starts"
        remedy = f"see whether {names['start']} and {names['end']} are the right columns"
        raise InstanceError(where, f"{row}, {names['end']}", problem, remedy)
    return end - start


def _moment(
    data: dict[str, Any], field: str, where: str, row: str, names: Mapping[str, str]
) -> Number:
    value = data.pop(field, None)
    if value is None:
        problem, remedy = EMPTY
    elif isinstance(value, Unusable):
        problem = f"{value.text} {value.problem}"
        remedy = value.remedy
    elif isinstance(value, int | Fraction):
        return value
    else:
        problem = f"{brief(repr(value))} is not a number"
        remedy = "write a finite decimal"
    raise InstanceError(where, f"{row}, {names[field]}", problem, remedy)


def _flaw(error: ValidationError, where: str, row: str, wanted: Sequence[Column]) -> InstanceError:
    (field, *rest), cause = flaw_of(error)
    named = [column.name for column in wanted if column.field == field]
    path = f"{row}, {named[int(rest[0]) if rest else 0]}"
    if cause is None:
        return InstanceError(where, path, *EMPTY)
    return InstanceError(where, path, cause.problem, cause.remedy)


def cell_value(column: Column, cell: str) -> Any:
    """Return the value of a cell of a CSV file, a time in seconds; None for an empty one."""
    cell = cell.strip()
    if not cell:
        return None
    if column.field in TEXTS:
        return cell
    if column.field == "nodes":
        return _nodes(cell)
    return cells.date(cell) if column.unit == "date" else _number(column, cell)


def _nodes(cell: str) -> Any:
    """Return the nodes of a job as `dlsched.records.write_trace` spells them."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return Unusable(brief(cell), "is no list of nodes", 'write it as [["n1", 4]]')


def _number(column: Column, cell: str) -> Any:
    number = cells.number(cell)
    if isinstance(number, Unusable):
        is_date = column.field in MOMENTS and not isinstance(cells.date(cell), Unusable)
        return Unusable(brief(cell), "is a date", "say so: unit 'date'") if is_date else number
    if column.unit is None:
        return number
    if number < 0:  # checked here, so that the message has the file's unit
        return Unusable(cell, "is too small", "write a number at least 0")
    return number * UNITS[column.unit]
