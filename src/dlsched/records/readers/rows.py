"""The rows of a file as columns, with what is wrong with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.records.readers.values import (
    Flags,
    Floats,
    Parsed,
    Texts,
    number_flaw,
    parse_durations,
    parse_moments,
    parse_numbers,
)
from dlsched.schema import brief

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import pandas as pd

POOL: Final = "pool"
"""Name of the one node of a cluster whose record has no nodes; ``pool h100`` of a part of it."""
MOMENTS: Final = ("submit", "eligible", "start", "end")
NAMES: Final = ("user", "account", "partition", "cluster", "qos", "gpu_type", "model")
"""Columns of names."""
TEXTS: Final = ("id", "state", "features", *NAMES)
NUMBERS: Final = ("cpus", "memory", "priority", "iterations", "batch_size")
DURATIONS: Final = ("wait", "elapsed", "limit", "suspended", "interval", "iteration_time")
TUPLES: Final = ("nodes", "amounts", "stages")
FLAWS: Final = ("reason", "column", "remedy")


@dataclass
class Rows:
    """The rows of a record, of one part of the file or of all of it.

    Attributes
    ----------
    columns
        Vectors of one entry per row, of what is recorded. Always there: ``row``, ``id``, ``gpus``
        (NaN if not recorded), ``nodes`` (names), ``amounts`` (what it held on each; empty if not
        recorded), and the moments; ``reason`` (why a row cannot be used, or None), ``column`` (in
        which column), ``remedy``, ``fault`` (whether that is a fault of the record, and not only a
        job that is not looked for), ``usable`` (whether nothing is wrong with it so far). Others:
        `TEXTS`, `NUMBERS`, `DURATIONS` in seconds, ``stages``, ``share`` (GPUs of a job that holds
        parts of them; ``gpus`` then rounds each part up), ``slices`` (what these parts are called),
        ``order`` (grows with the submission), ``submit_later`` and so on (`values.Parsed.later`),
        ``unassigned`` (whether it never got nodes), ``unknown`` (why a job has no duration).
    skipped, rounded
        Times that the zone's clock never showed, and times that were rounded to microseconds.
    """

    columns: dict[str, NDArray[Any]]
    skipped: int = 0
    rounded: int = 0

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.usable)

    @property
    def usable(self) -> Flags:
        """Whether nothing is wrong with a row so far."""
        return self.columns["usable"]

    @property
    def fault(self) -> Flags:
        """Whether a row cannot be used by a fault of the record."""
        return self.columns["fault"]

    def get(self, name: str) -> NDArray[Any]:
        """Return a column; one of nothing recorded if it is not there."""
        if name not in self.columns:
            self.columns[name] = nothing(name, self.size)
        return self.columns[name]

    def refuse(
        self,
        where: Flags,
        column: str,
        reasons: str | Sequence[str],
        remedy: str = "",
        *,
        fault: bool = True,
    ) -> None:
        """State why some rows cannot be used, by one reason or one for each flagged row.

        The first reason that is stated for a row holds.
        """
        for i, place in enumerate(np.flatnonzero(where).tolist()):
            text = reasons if isinstance(reasons, str) else reasons[i]
            self.refuse_row(place, column, text, remedy, fault=fault)

    def refuse_row(
        self, place: int, column: str, reason: str, remedy: str = "", *, fault: bool = True
    ) -> None:
        """State why one row cannot be used, unless a reason is stated already."""
        if self.usable[place]:
            self.usable[place] = False
            self.fault[place] = fault
            for name, text in zip(FLAWS, (reason, column, remedy), strict=True):
                self.columns[name][place] = text

    def flaw(self, place: int) -> tuple[str, str, str]:
        """Return why a row cannot be used, in which column, and the remedy."""
        reason, column, remedy = (self.columns[name][place] for name in FLAWS)
        return reason, column, remedy

    def head(self, size: int | None) -> Rows:
        """Return the first rows; all of them for None."""
        columns = {name: column[:size] for name, column in self.columns.items()}
        return Rows(columns, self.skipped, self.rounded)

    def _take(
        self, name: str, texts: pd.Series[str], column: str, parsed: Parsed, noun: str, remedy: str
    ) -> None:
        """Keep what was read where nothing is known yet; refuse the rows in which it is none."""
        self.rounded += parsed.rounded
        known: Floats | None = None if name in MOMENTS else self.columns.get(name)
        values = parsed.values
        self.columns[name] = values if known is None else np.where(np.isnan(known), values, known)
        bad = parsed.bad | (values < 0) if noun == "number" else parsed.bad
        if bad.any():
            self.refuse(bad, column, [_flaw(str(text), noun) for text in texts[bad]], remedy)

    def read_moment(
        self, name: str, texts: pd.Series[str], column: str, zone: ZoneInfo, unit: str | None = None
    ) -> None:
        """Read a column of moments."""
        parsed = parse_moments(texts.where(self.usable, ""), zone, unit)
        if parsed.later is not None:
            self.columns[f"{name}_later"] = parsed.later
        self.skipped += parsed.skipped
        seconds = "it as" if unit == "date" else "seconds, or a date as"
        self._take(name, texts, column, parsed, "time", f"write {seconds} 2020-06-09 18:41:01")

    def read_duration(
        self, name: str, texts: pd.Series[str], column: str, unit: str | None = None
    ) -> None:
        """Read a column of durations."""
        parsed = parse_durations(texts.where(self.usable, ""), unit)
        remedy = "write a number at least 0, or as 1-12:00:00"
        self._take(name, texts, column, parsed, "duration", remedy)

    def read_number(self, name: str, texts: pd.Series[str], column: str) -> None:
        """Read a column of numbers at least 0."""
        parsed = parse_numbers(texts.where(self.usable, ""))
        self._take(name, texts, column, parsed, "number", "write a number at least 0")


def _flaw(text: str, noun: str) -> str:
    problem, _ = number_flaw(text)
    none = problem.endswith("a number") and noun != "number"
    return f"{brief(text.strip())!r} is no {noun}" if none else problem


def nothing(name: str, size: int) -> NDArray[Any]:
    """Return a column of nothing recorded."""
    if name in TUPLES:
        return objects([()] * size)
    if name in (*TEXTS, *FLAWS, "slices", "unknown"):
        return np.full(size, None, object)
    if name in ("unassigned", "fault"):
        return np.zeros(size, np.bool_)
    return np.full(size, 0.0 if name.endswith("_later") else np.nan)


def empty(size: int) -> Rows:
    """Return rows of which nothing is recorded."""
    names = ("id", "gpus", "nodes", "amounts", *MOMENTS, *FLAWS, "fault")
    columns = {name: nothing(name, size) for name in names}
    return Rows(columns | {"row": np.arange(1, size + 1), "usable": np.ones(size, np.bool_)})


def is_known(vector: NDArray[Any]) -> Flags:
    """Return which entries are not None."""
    return np.array(vector != None, np.bool_)  # noqa: E711 - of each entry


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return a vector of whatever these are, tuples among them."""
    vector: Texts = np.empty(len(values), object)
    vector[:] = values
    return vector


def join(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several parts, in order."""
    if len(parts) < 2:
        return parts[0] if parts else empty(0)
    columns: dict[str, NDArray[Any]] = {}
    for name in dict.fromkeys(name for part in parts for name in part.columns):
        columns[name] = np.concatenate([part.get(name) for part in parts])
        for part in parts:  # texts of a million rows are not there twice
            if name != "usable":
                del part.columns[name]
    rounded = sum(part.rounded for part in parts)
    return Rows(columns, sum(part.skipped for part in parts), rounded)
