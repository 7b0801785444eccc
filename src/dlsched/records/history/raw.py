"""What the readers of all formats return: the rows of a file, with what is wrong with each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from dlsched.records.history.fields import MOMENTS
from dlsched.records.history.times import Flags, Floats, parse_durations, parse_moments
from dlsched.schema import brief

if TYPE_CHECKING:
    import pandas as pd

TEXTS: Final = ("user", "account", "partition", "state")
NOTHING: Final = frozenset({"", "none", "null", "nan", "n/a", "(null)", "unknown"})
"""How a name is spelled that is not recorded, in lower case."""


@dataclass
class Raw:
    """The rows of a record, of one part of the file or of all of it.

    Attributes
    ----------
    columns
        Vectors of one entry per row: ``row``, ``id``, ``order`` (a number that grows with the
        submission; NaN if there is none), ``user``, ``account``, ``partition``, ``gpus`` (NaN if
        not recorded), ``gpu_type``, the moments, and ``submit_later`` and so on (see
        `times.Moments.later`), ``elapsed`` and ``limit`` (seconds; NaN if not recorded), ``state``,
        ``nodes`` (tuple of names), ``amounts`` (tuple of what it held on each; empty if that is not
        recorded), ``unassigned`` (whether the record says that it never got nodes).
    reason, column
        Why a row cannot be used and in which column, or None.
    fault
        Whether that is a fault of the record, and not only a job that is not looked for.
    skipped
        Rows that are no jobs, by what they are.
    moved
        Times that the zone's clock never showed.
    """

    columns: dict[str, NDArray[Any]]
    reason: NDArray[np.object_]
    column: NDArray[np.object_]
    fault: Flags
    skipped: dict[str, int] = field(default_factory=dict)
    moved: int = 0

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.reason)

    @property
    def usable(self) -> Flags:
        """Flags of the rows that nothing is wrong with so far."""
        return np.array([reason is None for reason in self.reason], np.bool_)

    def refuse(
        self, where: Flags, column: str, reasons: str | Sequence[str], *, fault: bool = True
    ) -> None:
        """State why some rows cannot be used; the first reason that is stated for a row holds.

        Parameters
        ----------
        where
            Flags of all rows.
        reasons
            One for all, or one for each of the flagged rows.
        """
        for i, place in enumerate(np.flatnonzero(where)):
            text = reasons if isinstance(reasons, str) else reasons[i]
            self.refuse_row(int(place), column, text, fault=fault)

    def refuse_row(self, place: int, column: str, reason: str, *, fault: bool = True) -> None:
        """State why one row cannot be used, unless a reason is stated already."""
        if self.reason[place] is None:
            self.reason[place] = reason
            self.column[place] = column
            self.fault[place] = fault


def empty(size: int) -> Raw:
    """Return rows of which nothing is recorded."""
    columns: dict[str, NDArray[Any]] = {}
    for name in ("order", "gpus", "elapsed", "limit", *MOMENTS):
        columns[name] = np.full(size, np.nan)
    for name in MOMENTS:
        columns[f"{name}_later"] = np.zeros(size)
    for name in ("id", "gpu_type", *TEXTS):
        columns[name] = np.full(size, None, object)
    for name in ("nodes", "amounts"):
        columns[name] = tuples([()] * size)
    columns["unassigned"] = np.zeros(size, np.bool_)
    nothing = np.full(size, None, object)
    return Raw(columns, nothing, nothing.copy(), np.zeros(size, np.bool_))


def tuples(values: Sequence[tuple[Any, ...]]) -> NDArray[np.object_]:
    """Return a vector of tuples."""
    vector = np.empty(len(values), object)
    vector[:] = values
    return vector


def join(parts: Sequence[Raw]) -> Raw:
    """Return the rows of several parts, in order."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([p.columns[name] for p in parts]) for name in parts[0].columns}
    skipped: dict[str, int] = {}
    for part in parts:
        for kind, count in part.skipped.items():
            skipped[kind] = skipped.get(kind, 0) + count
    return Raw(
        columns,
        np.concatenate([part.reason for part in parts]),
        np.concatenate([part.column for part in parts]),
        np.concatenate([part.fault for part in parts]),
        skipped,
        sum(part.moved for part in parts),
    )


class Known:
    """What was made of the distinct texts so far, so that each is read once per file."""

    def __init__(self, make: Any) -> None:
        self._make = make
        self._made: dict[str, Any] = {}

    def of(self, texts: pd.Series[str]) -> list[Any]:
        """Return what is made of each text."""
        import pandas as pd

        codes, values = pd.factorize(texts)
        made = []
        for value in values:
            if value not in self._made:
                self._made[value] = self._make(value)
            made.append(self._made[value])
        return [made[code] for code in codes.tolist()]


def name_of(text: str) -> str | None:
    """Return a name without blanks around it; None if it is not recorded."""
    stripped = text.strip()
    return None if stripped.lower() in NOTHING else stripped


def fill_moments(
    raw: Raw, texts: Mapping[str, pd.Series[str]], names: Mapping[str, str], zone: ZoneInfo
) -> None:
    """Read the moments, by field, and refuse the rows in which one is unreadable.

    Parameters
    ----------
    names
        The columns' names by field, for errors.
    """
    for moment, column in texts.items():
        parsed = parse_moments(column, zone)
        raw.columns[moment] = parsed.seconds
        raw.columns[f"{moment}_later"] = parsed.later
        raw.moved += int(parsed.skipped.sum())
        shown = [brief(str(text)) for text in column[parsed.bad]]
        raw.refuse(parsed.bad, names[moment], [f"{text!r} is no time" for text in shown])


def fill_duration(
    raw: Raw, target: str, texts: pd.Series[str], name: str, unit: float = 1.0
) -> None:
    """Read durations, where none is known yet, and refuse the rows in which one is unreadable."""
    seconds, bad = parse_durations(texts, unit)
    known: Floats = raw.columns[target]
    raw.columns[target] = np.where(np.isnan(known), seconds, known)
    shown = [brief(str(text)) for text in texts[bad]]
    raw.refuse(bad, name, [f"{text!r} is no duration" for text in shown])


@dataclass
class Record:
    """What a reader returns.

    Attributes
    ----------
    raw
        The rows.
    names
        What the file calls a field, for errors: the moments, ``id`` and ``gpus``.
    notes
        Sentences on what was assumed.
    dated
        Whether moments are seconds since 1970; otherwise they count from the record's own origin.
    zone
        The zone that the file itself names; None if it names none, or has no local times.
    local
        Whether it may have local times.
    capacity
        Amount of the resource of the whole cluster, if the file says so.
    slurm
        Whether states are those of Slurm.
    """

    raw: Raw
    names: dict[str, str]
    notes: list[str] = field(default_factory=list)
    dated: bool = True
    zone: str | None = None
    local: bool = True
    capacity: int | None = None
    slurm: bool = False
