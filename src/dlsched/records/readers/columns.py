"""Which column of a table holds which field, and in which unit: one syntax for all readers.

``columns={"submit": ("qtime", "ms"), "gpus": "n"}`` in Python is ``--column submit=qtime:ms
--column gpus=n`` on the command line.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dlsched.errors import InstanceError, OptionError, spelled
from dlsched.records.readers.rows import MOMENTS, NAMES
from dlsched.records.readers.values import UNITS

TIMES: Final = (
    *(*MOMENTS, "wait", "duration", "limit", "suspended"),
    *("interval", "iteration_time", "stages"),
)
FIELDS: Final = (
    *("id", "gpus", "submit", "start", "end", "duration", "eligible", "wait", "limit"),
    *("state", "nodes", *NAMES, "features", "cpus", "memory", "priority", "iterations"),
    *("batch_size", "interval", "iteration_time", "stages", "suspended"),
)
"""What a column may hold. ``wait`` may stand for ``start``; ``duration`` for ``end``, and ``start``
and ``end`` for ``duration``. ``stages`` are several columns."""
INSTEAD: Final = (("end", "duration"), ("duration", "end"), ("start", "wait"), ("wait", "start"))
"""What is not read, unless it is named, where another field is named."""

Entry: TypeAlias = str | tuple[str, str]
ColumnsLike: TypeAlias = Mapping[str, Entry | Sequence[Entry]]


def _tiresias(unit: str) -> dict[str, Any]:
    times = {name: (name, unit) for name in ("duration", "interval")}
    named = {"id": "job_id", "gpus": "num_gpu", "iterations": "iterations", "model": "model_name"}
    return {**named, "submit": ("submit_time", unit), **times}


MAPPINGS: Final[dict[str, dict[str, Any]]] = {
    "muri": {
        **{"id": "job_id", "gpus": "num_gpu", "submit": ("submit_time", "ms")},
        **{"iterations": "iterations", "model": "model_name", "batch_size": "batch_size"},
        **{name: (name, "ms") for name in ("duration", "interval", "iteration_time")},
        "stages": [(f"resource_time_{i}", "ms") for i in range(3)],
        "priority": "priority",
    },
    "tiresias": _tiresias("s"),
    "chronus": {**_tiresias("min"), "user": "user"},
    "pollux": {
        **{"id": "name", "gpus": "num_replicas", "submit": ("time", "s")},
        **{"model": "application", "batch_size": "batch_size"},
    },
}
"""The columns of published tables in which a row is a job: Muri (SIGCOMM'22), Tiresias (NSDI'19),
Chronus (SoCC'21), and Pollux (OSDI'21) with Sia (SOSP'23), which record no durations."""


class Column(NamedTuple):
    """One column of a file: the field that it holds, its name, and the unit if it is a time."""

    field: str
    name: str
    unit: str | None = None


def names_of(mapping: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a mapping names."""
    return tuple(column.name for column in make_columns(mapping))


def make_columns(columns: ColumnsLike) -> tuple[Column, ...]:
    """Return the columns that are named; of ``stages``, one for each stage.

    Parameters
    ----------
    columns
        ``{field: column}``, a field being one of `FIELDS`. A column is a name, or ``(name, unit)``
        for a time, with one of the units ms, s, min, h, date. A moment without a unit is in
        seconds, or a date; a duration is in seconds, or as 1-12:00:00.
    """
    if not isinstance(columns, Mapping):
        raise OptionError(
            f"columns={spelled(columns)} is no mapping; write {{'submit': 'qtime', ...}}"
        )
    result = []
    for field, entries in columns.items():
        if field not in FIELDS:
            raise OptionError(f"columns has no field {field!r}; it has: {', '.join(FIELDS)}")
        if field == "stages" and not isinstance(entries, list):
            raise OptionError("columns['stages'] must be a list of columns, one per resource")
        for entry in entries if field == "stages" else [entries]:
            name, unit = (
                entry if isinstance(entry, tuple | list) and len(entry) == 2 else (entry, None)
            )
            if not isinstance(name, str) or not name:
                raise OptionError(
                    f"columns[{field!r}] is {spelled(entry)}; write 'column' or ('column', 'ms')"
                )
            result.append(Column(field, name, _unit(field, unit)))
    return tuple(result)


def _unit(field: str, unit: object) -> str | None:
    if unit is None:
        return None
    if field not in TIMES:
        raise OptionError(f"columns[{field!r}] is no time and takes no unit; drop {unit!r}")
    known = [*UNITS, *(["date"] if field in MOMENTS else [])]
    if unit not in known:
        raise OptionError(f"columns[{field!r}] has unit {unit!r}; use one of {', '.join(known)}")
    return str(unit)


def parse_columns(pairs: Iterable[str]) -> dict[str, Any]:
    """Return which column holds which field, of ``FIELD=NAME`` or ``FIELD=NAME:UNIT``."""
    columns: dict[str, Any] = {}
    for pair in pairs:
        field, equals, name = pair.partition("=")
        if not equals or not name:
            raise OptionError(
                f"--column {pair!r} names no column; write FIELD=NAME or FIELD=NAME:UNIT"
            )
        stem, colon, unit = name.rpartition(":")
        entry: Any = (stem, unit) if colon else name
        if field == "stages":
            columns.setdefault(field, []).append(entry)
        else:
            columns[field] = entry
    return columns


def parse_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of a file without a header, in order."""
    listed = names.split(",") if isinstance(names, str) else names
    if isinstance(listed, Mapping) or not all(isinstance(name, str) for name in listed):
        raise OptionError(f"names={spelled(names)} must be names in order, as ['jobid', 'submit']")
    return tuple(name.strip() for name in listed)


def resolve(
    named: Sequence[Column],
    header: Sequence[str],
    where: str,
    remedy: str,
    needed: Sequence[Sequence[str]],
    own: bool,
) -> tuple[Column, ...]:
    """Return the columns to be read: those that are named, and those that are called like a field.

    Of each alternatives of `needed` one must have a column; errors name the first.
    """
    for column in named:
        require_column(column.name, header, where, remedy)
    fields = {column.field for column in named}
    closed = {other for one, other in INSTEAD if one in fields}
    closed |= {"stages", *fields}
    found = [*named]
    for field in FIELDS if own else ():
        if field in header and field not in closed:
            require_column(field, header, where, remedy)
            found.append(Column(field, field))
    have = {column.field for column in found}
    for alternatives in needed:
        if not have & set(alternatives):
            field = alternatives[0]
            raise InstanceError(
                where,
                "row 1",
                f"no column is called {field}",
                f"name it: columns={{{field!r}: ...}} (--column {field}=...); it has: "
                f"{', '.join(header):.200}",
            )
    return tuple(found)


def require_column(name: str, header: Sequence[str], where: str, remedy: str) -> None:
    """Raise unless a column is there once."""
    count = list(header).count(name)
    path = f"row 1, {name:.40}"
    if count > 1:
        problem = "there are two columns of this name"
        raise InstanceError(where, path, problem, "keep one of the two")
    if not count:
        some = ", ".join(header if len(header) <= 16 else [*header[:16], "..."])
        problem = "there is no such column"
        raise InstanceError(where, path, problem, f"{remedy}; it has: {some}")
