"""Any table with named columns: a CSV file or a data frame, of PBS, LSF or whatever else."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.errors import InstanceError, OptionError
from dlsched.records.history.fields import MOMENTS
from dlsched.records.history.hostlist import expand_hosts
from dlsched.records.history.raw import (
    Known,
    Raw,
    Record,
    empty,
    fill_duration,
    fill_moments,
    name_of,
    tuples,
)
from dlsched.records.traces.columns import UNITS
from dlsched.records.traces.lines import open_text, whole

if TYPE_CHECKING:
    import pandas as pd

FIELDS: Final = (
    *("id", "user", "account", "partition", "gpus", "gpu_type"),
    *MOMENTS,
    *("wait", "duration", "limit", "state", "nodes"),
)
"""What a column may hold; ``wait`` may stand for ``start``, ``duration`` for ``end``."""
REQUIRED: Final = ("id", "gpus", "submit")
Columns = Mapping[str, str | tuple[str, str]]


def read(
    source: Path | pd.DataFrame,
    where: str,
    zone: ZoneInfo,
    columns: Columns | None,
    delimiter: str | None,
) -> Record:
    """Return the rows of a table.

    Parameters
    ----------
    columns
        Which column holds which field: ``{field: column}``, or ``{field: (column, unit)}`` for a
        time or a duration that is a number in ``"ms"``, ``"min"`` or ``"h"``. Columns that are
        called like a field need not be named.

    Raises
    ------
    InstanceError
        If a column is missing.
    OptionError
        If a field or a unit is unknown.
    """
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        frame = _texts(source)
        first = 1
        raw = empty(len(frame))
    else:
        frame, raw = _read(source, where, delimiter)
        first = 2
    raw.columns["row"] = np.arange(raw.size) + first
    places, units = _places(columns or {}, list(frame.columns), where)
    cells = {field: frame[column] for field, column in places.items()}
    _fill(raw, cells, places, units, zone)
    names = {field: places.get(field, field) for field in (*MOMENTS, "id", "gpus")}
    names["start"] = places.get("start", places.get("wait", "start"))
    names["end"] = places.get("end", places.get("duration", "end"))
    return Record(raw, names)


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of a data frame as texts; a moment in ISO 8601, a duration in seconds."""
    import pandas as pd

    columns: dict[str, pd.Series[Any]] = {}
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_timedelta64_dtype(values):
            values = values.dt.total_seconds()
        spelled = [_spelled(value) for value in values.tolist()]
        columns[str(name)] = pd.Series(spelled, dtype=object)
    return pd.DataFrame(columns)


def _spelled(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)) or str(value) == "NaT":
        return ""
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    if isinstance(value, list | tuple):
        return ",".join(str(part[0] if isinstance(part, tuple) else part) for part in value)
    return str(value)


def _read(path: Path, where: str, delimiter: str | None) -> tuple[pd.DataFrame, Raw]:
    """Return the cells of a file, and its rows, of which those of another width are refused."""
    import pandas as pd

    with open_text(path, where) as text:
        content = whole(text, where)
    head = content.partition("\n")[0]
    if not head.strip():
        raise InstanceError(where, "row 1", "has no column names", "begin with a header row")
    mark = delimiter or max((",", ";", "\t", "|"), key=head.count)
    table = [row for row in csv.reader(StringIO(content, newline=""), delimiter=mark) if row]
    header, *rows = [[cell.strip() for cell in row] for row in table]
    width = len(header)
    raw = empty(len(rows))
    for i, row in enumerate(rows):
        if len(row) != width:
            problem = f"has {len(row)} cells, the header has {width}"
            raw.refuse_row(i, "", problem)
            rows[i] = [""] * width
    for name in header:
        if header.count(name) > 1:
            raise InstanceError(where, f"row 1, {name}", "is there twice", "keep one of the two")
    return pd.DataFrame(rows, columns=header, dtype=object), raw


def _places(
    columns: Columns, header: Sequence[str], where: str
) -> tuple[dict[str, str], dict[str, float]]:
    """Return the column of each field, and the seconds of its unit."""
    if not isinstance(columns, Mapping):
        raise OptionError("columns of a table are {field: column}, as {'submit': 'qtime'}")
    places = {name: name for name in FIELDS if name in header}
    units: dict[str, float] = {}
    for field, entry in columns.items():
        if field not in FIELDS:
            raise OptionError(f"columns has no field {field!r}; it has: {', '.join(FIELDS)}")
        name, unit = entry if isinstance(entry, tuple) else (entry, None)
        if name not in header:
            some = ", ".join(header)
            problem = "there is no such column"
            raise InstanceError(where, f"row 1, {name}", problem, f"it has: {some:.200}")
        if unit not in (None, "date"):
            if unit not in UNITS:
                raise OptionError(f"columns[{field!r}]: no unit {unit!r}; {', '.join(UNITS)}")
            units[field] = float(UNITS[unit])
        places[field] = name
    missing = [field for field in REQUIRED if field not in places]
    missing += [] if {"start", "wait"} & set(places) else ["start"]
    missing += [] if {"end", "duration"} & set(places) else ["end"]
    if missing:
        some = ", ".join(header)
        problem = f"no column is called {missing[0]}"
        remedy = f"name it: columns={{{missing[0]!r}: ...}} (--column {missing[0]}=...)"
        raise InstanceError(where, "row 1", problem, f"{remedy}; it has: {some:.200}")
    return places, units


def _fill(
    raw: Raw,
    cells: Mapping[str, pd.Series[str]],
    places: Mapping[str, str],
    units: Mapping[str, float],
    zone: ZoneInfo,
) -> None:
    """Read the fields."""
    usable = raw.usable
    columns = raw.columns
    columns["id"] = cells["id"].to_numpy(object, copy=True)
    for name in ("user", "account", "partition", "gpu_type"):
        if name in cells:
            columns[name] = np.array(Known(name_of).of(cells[name]), object)
    if "state" in cells:
        first = Known(lambda text: text.strip().partition(" ")[0].upper() or None)
        columns["state"] = np.array(first.of(cells["state"]), object)
    for moment in (name for name in MOMENTS if name in cells):
        texts = cells[moment].where(usable, "")
        if moment in units:
            fill_duration(raw, moment, texts, places[moment], units[moment])
        else:
            fill_moments(raw, {moment: texts}, places, zone)
    for name, target in (("wait", "wait"), ("duration", "elapsed"), ("limit", "limit")):
        if name in cells:
            columns.setdefault(target, np.full(raw.size, np.nan))
            texts = cells[name].where(usable, "")
            fill_duration(raw, target, texts, places[name], units.get(name, 1.0))
    if "wait" in columns:
        wait = columns.pop("wait")
        if "start" not in cells:
            columns["start"] = columns["submit"] + wait
    if "end" not in cells:
        columns["end"] = columns["start"] + columns["elapsed"]
    amounts = Known(_amount).of(cells["gpus"].where(usable, ""))
    bad = np.array([amount is None for amount in amounts], np.bool_)
    shown = [f"{text!r:.40} is no whole number" for text in cells["gpus"][bad]]
    raw.refuse(bad, places["gpus"], shown)
    columns["gpus"] = np.array([amount or 0 for amount in amounts], float)
    if "nodes" in cells:
        hosts = Known(_hosts).of(cells["nodes"].where(usable, ""))
        bad = np.array([names is None for names in hosts], np.bool_)
        shown = [f"{text!r:.40} is no list of hosts" for text in cells["nodes"][bad]]
        raw.refuse(bad, places["nodes"], shown)
        columns["nodes"] = tuples([names or () for names in hosts])


def _amount(text: str) -> int | None:
    plain = text.strip().removesuffix(".0")
    if not plain:
        return 0
    return int(plain) if plain.isdecimal() and plain.isascii() and len(plain) < 10 else None


def _hosts(text: str) -> tuple[str, ...] | None:
    stripped = text.strip()
    if stripped.lower() in ("", "none", "none assigned"):
        return ()
    try:
        return expand_hosts(stripped.replace("+", ",").replace(" ", ","))
    except OptionError:
        return None
