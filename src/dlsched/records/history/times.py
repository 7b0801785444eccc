"""Moments and durations as schedulers print them, many at once.

Values are parsed once per distinct text: a record of a million jobs has few limits, and its moments
go through pandas' own reader.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError, UnknownName, spelled

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MISSING: Final = frozenset(
    {"", "unknown", "none", "n/a", "na", "null", "nan", "nat", "-1", "invalid", "-"}
)
"""How a moment is spelled that there was not, in lower case."""
WITHOUT_LIMIT: Final = frozenset({"unlimited", "infinite"})
_UNKNOWN_LIMIT: Final = frozenset({*MISSING, "partition_limit", "not_set"})
_CLOCK = re.compile(
    r"(?:(\d{1,6})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}(?:\.\d{1,9})?))?", re.ASCII
)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?", re.ASCII)
ISO: Final = "%Y-%m-%dT%H:%M:%S"
LATEST: Final = 1e11
"""Latest moment in seconds since 1970; in milliseconds it is 1973."""


class Moments(NamedTuple):
    """Moments in seconds since 1970.

    Attributes
    ----------
    seconds
        NaN where there is none, or where it cannot be read.
    later
        Seconds by which the moment may be later, since the clock was put back; 0 elsewhere.
    skipped
        Whether the clock never showed it, since it was put forward.
    bad
        Whether it cannot be read.
    """

    seconds: Floats
    later: Floats
    skipped: Flags
    bad: Flags


def find_zone(name: str | None) -> ZoneInfo:
    """Return a time zone; UTC for None.

    Raises
    ------
    UnknownName
        If there is none of this name.
    """
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        raise UnknownName("time zone", str(name), available_timezones()) from None


def factorize(texts: pd.Series[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of each text's value, and the values without blanks around them."""
    import pandas as pd

    codes, values = pd.factorize(texts)
    return codes, [str(value).strip() for value in values]


def parse_moments(texts: pd.Series[str], zone: ZoneInfo) -> Moments:
    """Return the moments of some texts: ISO 8601, or seconds since 1970.

    A text without an offset is a time of the zone's clock.
    """
    import pandas as pd

    codes, values = factorize(texts)
    naive = pd.to_datetime(pd.Series(values, dtype=object), format=ISO, errors="coerce")
    seconds = _epoch(naive)
    local = ~np.isnan(seconds)
    bad = np.zeros(len(values), np.bool_)
    for i in np.flatnonzero(~local):
        text = values[i]
        if text.lower() in MISSING:
            continue
        moment = _moment(text)
        if moment is None:
            bad[i] = True
        else:
            seconds[i], local[i] = moment
    later = np.zeros(len(values))
    skipped = np.zeros(len(values), np.bool_)
    places = np.flatnonzero(local)
    if len(places) and zone.key != "UTC":
        seconds[places], later[places], skipped[places] = to_utc(seconds[places], zone)
    return Moments(seconds[codes], later[codes], skipped[codes], bad[codes])


def _epoch(moments: pd.Series[pd.Timestamp]) -> Floats:
    """Return the seconds since 1970 of moments without a zone; NaN for none."""
    micro = moments.to_numpy("datetime64[us]")
    seconds: Floats = micro.astype(np.int64) / 1e6
    seconds[np.isnat(micro)] = np.nan
    return seconds


def _moment(text: str) -> tuple[float, bool] | None:
    """Return the seconds since 1970, and whether they are of a local clock; None if unreadable."""
    if _NUMBER.fullmatch(text):
        number = float(Fraction(text))
        return (number, False) if 0 <= number < LATEST else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC).timestamp(), True
    return moment.timestamp(), False


def to_utc(local: Floats, zone: ZoneInfo) -> tuple[Floats, Floats, Flags]:
    """Return the earlier moment of each time of a zone's clock, by how much the later one is later.

    The last is whether the clock never showed it; then the moment is as if it had not been put
    forward.
    """
    import pandas as pd

    stamps = pd.DatetimeIndex((local * 1e6).round().astype("datetime64[us]"))
    shown = [
        stamps.tz_localize(zone, ambiguous=np.full(len(stamps), first), nonexistent="NaT")
        for first in (True, False)
    ]
    earlier, later = (
        _epoch(pd.Series(moments.tz_convert("UTC").tz_localize(None))) for moments in shown
    )
    skipped = np.isnan(earlier)
    if skipped.any():
        before = pd.DatetimeIndex(stamps[skipped] - pd.Timedelta(hours=3)).tz_localize(
            zone, ambiguous=True, nonexistent="shift_forward"
        )
        moved = _epoch(pd.Series(before.tz_convert("UTC").tz_localize(None)))
        earlier[skipped] = later[skipped] = moved + 3 * 3600
    return earlier, later - earlier, skipped


def parse_durations(texts: pd.Series[str], unit: float = 1.0) -> tuple[Floats, Flags]:
    """Return durations in seconds, and which cannot be read.

    ``[D-]HH:MM:SS``, ``MM:SS``, a number in the unit, or ``UNLIMITED``, which is infinite; NaN
    where there is none, as for ``Partition_Limit``.

    Parameters
    ----------
    unit
        Seconds of a plain number's unit: 60 for TimelimitRaw.
    """
    codes, values = factorize(texts)
    seconds = np.full(len(values), np.nan)
    bad = np.zeros(len(values), np.bool_)
    for i, value in enumerate(values):
        if value.lower() in WITHOUT_LIMIT:
            seconds[i] = np.inf
        elif value.lower() not in _UNKNOWN_LIMIT:
            duration = duration_of(value, unit)
            seconds[i], bad[i] = (np.nan, True) if duration is None else (duration, False)
    return seconds[codes], bad[codes]


def duration_of(text: str, unit: float = 1.0) -> float | None:
    """Return a duration in seconds; None if it is none."""
    if _NUMBER.fullmatch(text):
        number = float(text) * unit
        return number if number >= 0 else None
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    days, *clock = match.groups()
    parts = [float(part) for part in clock if part is not None]
    # Without days the last part is seconds, with days the first is hours.
    missing = [0.0] * (3 - len(parts))
    parts = missing + parts if days is None else parts + missing
    hours, minutes, seconds = parts
    return 86400 * float(days or 0) + 3600 * hours + 60 * minutes + seconds


def parse_moment(value: str | float | datetime, zone: ZoneInfo, option: str) -> float:
    """Return a moment that a user gives, in seconds since 1970.

    Raises
    ------
    OptionError
        If it is none, or the clock showed it twice or never.
    """
    if isinstance(value, datetime):
        value = value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        if np.isfinite(value):
            return float(value)
        raise OptionError(f"{option}={value} is no moment; give seconds since 1970, or a date")
    found = _moment(str(value).strip())
    if found is None:
        raise OptionError(
            f"{option}={spelled(value)} is no date; write it as 2026-01-08 or 2026-01-08T12:00"
        )
    seconds, local = found
    if not local:
        return seconds
    earlier, later, skipped = to_utc(np.array([seconds]), zone)
    if later[0] or skipped[0]:
        often = "never" if skipped[0] else "twice"
        raise OptionError(
            f"{option}={spelled(value)}: the clock of {zone.key} showed this {often}; write it "
            "with an offset, as 2026-01-08T12:00+00:00"
        )
    return float(earlier[0])
