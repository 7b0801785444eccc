"""The jobs that share a cluster, and the GPUs of each type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dlsched.errors import InstanceError
from dlsched.schema.flaws import Flaw
from dlsched.schema.quantities import Number, exact, shown, whole

if TYPE_CHECKING:
    import pandas

NumberT = TypeVar("NumberT", int, Number)


@dataclass(frozen=True)
class Job:
    """A training job.

    Attributes
    ----------
    id
        Unique among the jobs.
    model
        A name in the rates; jobs of the same model and scale have the same rates.
    scale
        GPUs that the job needs at once, all of one type.
    weight
        Its weight in max-min fairness, water filling and the sum of throughputs.
    steps
        Iterations that remain; needed for makespan and finish-time fairness.
    elapsed
        Seconds since the job was submitted, for finish-time fairness.
    """

    id: str
    model: str
    scale: int = 1
    weight: Number = 1
    steps: Number | None = None
    elapsed: Number = 0


Jobs: TypeAlias = "Iterable[Job | Mapping[str, Any]] | pandas.DataFrame"
FIELDS = tuple(field.name for field in fields(Job))
_REMEDY = f"give rows with {', '.join(FIELDS)}; all but id and model may be absent"


def read_jobs(jobs: Jobs) -> tuple[Job, ...]:
    """Return jobs from `Job` objects, mappings with a job's fields, or a table with such columns.

    Raises
    ------
    InstanceError
        If a field is unknown, missing or out of range, or an id stands twice.
    """
    rows: Any = jobs
    if not isinstance(jobs, Iterable):
        raise InstanceError("jobs", "", f"is {shown(jobs)}", _REMEDY)
    if hasattr(jobs, "notna"):  # a table, without importing pandas
        rows = rows.astype(object).where(rows.notna(), None).to_dict("records")
    listed: dict[str, Job] = {}
    for i, row in enumerate(rows):
        job = _job(row, f"[{i}]")
        if job.id in listed:
            raise InstanceError("jobs", f"[{i}].id", f"{job.id!r} stands twice", "use another id")
        listed[job.id] = job
    if not listed:
        raise InstanceError("jobs", "", "has no job", "give at least one")
    return tuple(listed.values())


def read_gpus(gpus: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of GPUs by type, checked; types without any are left out.

    Raises
    ------
    InstanceError
        If a number is not a whole one from 0, or all are 0.
    """
    if not isinstance(gpus, Mapping):
        raise InstanceError("gpus", "", f"is {shown(gpus)}", "give GPUs by type, as {'V100': 20}")
    counts = {str(k): _at_least("gpus", str(k), n, whole, 0) for k, n in gpus.items()}
    if not any(counts.values()):
        raise InstanceError("gpus", "", "has no GPU", "give GPUs by type, as {'V100': 20}")
    return {k: n for k, n in counts.items() if n}


def _job(row: Any, path: str) -> Job:
    if isinstance(row, Job):
        row = {name: getattr(row, name) for name in FIELDS}
    if not isinstance(row, Mapping):
        raise InstanceError("jobs", path, f"is {shown(row)}", _REMEDY)
    for name in row:
        if name not in FIELDS:
            raise InstanceError("jobs", f"{path}.{name}", "is unknown", _REMEDY)
    values: dict[str, Any] = {name: value for name, value in row.items() if value is not None}
    for name in ("id", "model"):
        if not isinstance(values.get(name), str) or not values[name]:
            problem = f"is {shown(values[name])}" if name in values else "is missing"
            raise InstanceError("jobs", f"{path}.{name}", problem, "write a non-empty text")
    checks: Sequence[tuple[str, Callable[[object], Number], int, bool]] = (
        ("scale", whole, 1, False),
        ("weight", exact, 0, True),
        ("steps", exact, 0, True),
        ("elapsed", exact, 0, False),
    )
    for name, convert, low, strict in checks:
        if name in values:
            values[name] = _at_least(f"jobs{path}", name, values[name], convert, low, strict)
    return Job(**values)


def _at_least(
    where: str,
    path: str,
    value: object,
    convert: Callable[[object], NumberT],
    low: int,
    strict: bool = False,
) -> NumberT:
    """Return a number, converted, that is at least (or above) a limit."""
    number = converted(value, convert, where, path)
    if number < low or (strict and number == low):
        remedy = f"write a number {'above' if strict else 'from'} {low}"
        raise InstanceError(where, path, f"{shown(value)} is too small", remedy)
    return number


def converted(
    value: object, convert: Callable[[object], NumberT], where: str, path: str
) -> NumberT:
    """Return a value as `convert` reads it.

    Raises
    ------
    InstanceError
        With what is wrong with it, at a path of what the caller gave.
    """
    try:
        return convert(value)
    except Flaw as flaw:
        raise InstanceError(where, path, flaw.problem, flaw.remedy) from None
