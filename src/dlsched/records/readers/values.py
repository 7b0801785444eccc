"""Times, durations and numbers as files spell them, many at once; a distinct text is read once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError, UnknownName, spelled
from dlsched.schema.flaws import brief
from dlsched.schema.quantities import LARGEST, Number

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Texts = NDArray[np.object_]

_MISSING = "- -1 unknown none null (null) n/a na <na> nan nat invalid"
MISSING: Final = frozenset(["", *_MISSING.split()])
"""How a time or a number is spelled that was not recorded, in lower case."""
NAMELESS: Final = MISSING - {"-1", "invalid"}
"""The same of a name."""
WITHOUT_LIMIT: Final = frozenset({"unlimited", "infinite"})
_NO_LIMIT_KNOWN: Final = frozenset({*MISSING, "partition_limit", "not_set"})
UNITS: Final = {"ms": Fraction(1, 1000), "s": Fraction(1), "min": Fraction(60), "h": Fraction(3600)}
"""Seconds in each unit of time of a column."""
LETTERS: Final = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
"""Seconds in each unit of a duration as 1d12h."""
_PART = r"\d{1,15}(?:\.\d{1,15})?"
_LETTERED = re.compile("".join(f"(?:({_PART}){unit})?" for unit in LETTERS), re.ASCII)
_PLAIN = re.compile(_PART, re.ASCII)
_CLOCK = re.compile(
    r"(?:(\d{1,6})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}(?:\.\d{1,9})?))?", re.ASCII
)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
ISO: Final = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
LATEST: Final = 1e11
"""Latest moment in seconds since 1970, the year 5138; in milliseconds it is 1973."""
_EXACT: Final = 9e9
"""Largest number of seconds that a double has to the microsecond."""


def factorize(texts: pd.Series[str]) -> tuple[Ints, list[str]]:
    """Return the number of each text's value, and the values without blanks around them."""
    import pandas as pd

    codes, values = pd.factorize(texts)
    return codes, [str(value).strip() for value in values]


def name_of(text: str) -> str | None:
    """Return a name; None if it is not recorded."""
    return None if text.lower() in NAMELESS else text


class Parsed(NamedTuple):
    """Numbers, or times in seconds.

    Attributes
    ----------
    values
        NaN where nothing is recorded, or what is cannot be read.
    bad
        Whether it cannot be read.
    rounded
        How many were rounded to microseconds.
    later
        Seconds by which a moment may be later, since the clock was put back; 0 elsewhere.
    skipped
        How many moments the clock never showed, since it was put forward.
    """

    values: Floats
    bad: Flags
    rounded: int = 0
    later: Floats | None = None
    skipped: int = 0


def _decimals(values: Sequence[str], missing: frozenset[str]) -> tuple[Floats, Flags]:
    """Return the numbers among some texts, and which are neither numbers nor missing."""
    import pandas as pd

    # pandas says which are numbers, Python what they are: pandas may be a digit off.
    numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").to_numpy(
        float, copy=True
    )
    plain = np.isfinite(numbers) & (np.abs(numbers) <= LARGEST)
    numbers[~plain] = np.nan
    places = np.flatnonzero(plain).tolist()
    numbers[places] = [float(values[i]) for i in places]
    bad = ~plain
    for i in np.flatnonzero(bad).tolist():
        bad[i] = values[i].lower() not in missing
    return numbers, bad


def parse_numbers(texts: pd.Series[str]) -> Parsed:
    """Return decimals."""
    codes, values = factorize(texts)
    numbers, bad = _decimals(values, MISSING)
    return Parsed(numbers[codes], bad[codes])


def number_flaw(text: str) -> tuple[str, str]:
    """Return what is wrong with a text that is no number of a file, and the remedy."""
    text = text.strip()
    if not _DECIMAL.fullmatch(text):
        return f"{brief(text)} is not a number", "write a finite decimal"
    if float(text) < 0:
        return f"{text} is too small", "write a number at least 0"
    return f"{brief(text)} is too large", "use a unit that keeps it within 1e15"


def to_seconds(numbers: Floats, unit: str | None) -> tuple[Floats, Flags]:
    """Return times of a unit in seconds, and which were rounded to microseconds."""
    factor = UNITS[unit or "s"]
    seconds = numbers * factor.numerator / factor.denominator
    return to_micro(seconds)


def to_micro(seconds: Floats) -> tuple[Floats, Flags]:
    """Return times rounded to microseconds, and which were."""
    with np.errstate(invalid="ignore"):
        near = np.abs(seconds) < _EXACT
        rounded = np.where(near, np.round(seconds, 6), seconds)
        return rounded, near & (rounded != seconds)


def parse_moments(texts: pd.Series[str], zone: ZoneInfo, unit: str | None = None) -> Parsed:
    """Return moments in seconds since 1970; a date without an offset is of the zone's clock.

    The unit is that of plain numbers, or ``"date"`` if there may only be dates (ISO 8601).
    """
    import pandas as pd

    codes, values = factorize(texts)
    seconds = np.full(len(values), np.nan)
    left = pd.Series(values, dtype=object)
    for form in ISO:
        if len(left):
            naive = epoch(pd.to_datetime(left, format=form, errors="coerce"))
            seconds[left.index.to_numpy()] = naive
            left = left[np.isnan(naive)]
    local = ~np.isnan(seconds)
    bad = np.zeros(len(values), np.bool_)
    places = left.index.to_numpy()
    numbers, no_number = _decimals(left.tolist(), MISSING)
    # Before 1970 there is no record; -1 stands for none.
    negative = (numbers < 0) & (numbers != -1)
    numbers[numbers < 0] = np.nan
    is_number = ~np.isnan(numbers)
    scaled, rounded = to_seconds(numbers, None if unit == "date" else unit)
    seconds[places] = scaled
    bad[places] = negative | (is_number if unit == "date" else False)
    for i in places[no_number]:
        seconds[i], local[i] = date_of(values[i])
    bad[places[no_number]] = np.isnan(seconds[places[no_number]])
    seconds[bad] = np.nan
    later = None
    skipped = np.zeros(len(values), np.bool_)
    clock = np.flatnonzero(local)
    if len(clock) and zone.key != "UTC":
        shift = np.zeros(len(values))
        seconds[clock], shift[clock], skipped[clock] = to_utc(seconds[clock], zone)
        later = shift[codes]
    times = int(rounded[is_number].sum())
    return Parsed(seconds[codes], bad[codes], times, later, int(skipped[codes].sum()))


def epoch(moments: pd.Series[pd.Timestamp]) -> Floats:
    """Return the seconds since 1970 of moments without a zone; NaN for none."""
    micro = moments.to_numpy("datetime64[us]")
    seconds: Floats = micro.astype(np.int64) / 1e6
    seconds[np.isnat(micro)] = np.nan
    return seconds


def date_of(text: str) -> tuple[float, bool]:
    """Return the seconds since 1970 of a date, and whether it is of a local clock; NaN if none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.nan, False
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
        epoch(pd.Series(moments.tz_convert("UTC").tz_localize(None))) for moments in shown
    )
    skipped = np.isnan(earlier)
    if skipped.any():
        before = pd.DatetimeIndex(stamps[skipped] - pd.Timedelta(hours=3)).tz_localize(
            zone, ambiguous=True, nonexistent="shift_forward"
        )
        moved = epoch(pd.Series(before.tz_convert("UTC").tz_localize(None)))
        earlier[skipped] = later[skipped] = moved + 3 * 3600
    return earlier, later - earlier, skipped


def parse_durations(texts: pd.Series[str], unit: str | None = None) -> Parsed:
    """Return durations in seconds, infinite for ``UNLIMITED``; the unit is of plain numbers."""
    codes, values = factorize(texts)
    numbers, no_number = _decimals(values, _NO_LIMIT_KNOWN)
    missing = numbers == -1
    numbers[missing] = np.nan
    bad = numbers < 0
    seconds, rounded = to_seconds(numbers, unit)
    for i in np.flatnonzero(no_number):
        if values[i].lower() in WITHOUT_LIMIT:
            seconds[i] = np.inf
        else:
            duration = duration_of(values[i])
            seconds[i], bad[i] = (np.nan, True) if duration is None else (duration, False)
    seconds[bad] = np.nan
    return Parsed(seconds[codes], bad[codes], int(rounded.sum()))


def duration_of(text: str) -> float | None:
    """Return the seconds of ``[D-]HH:MM:SS``, ``MM:SS``, ``1d12h``, ``90``; None if it is none."""
    compact = "".join(text.split()).lower()
    if _PLAIN.fullmatch(compact):
        return float(compact)
    match = _LETTERED.fullmatch(compact) if compact else None
    if match is not None:
        parts = zip(match.groups(), LETTERS.values(), strict=True)
        return float(sum(Fraction(part or 0) * seconds for part, seconds in parts))
    match = _CLOCK.fullmatch(compact)
    if match is None:
        return None
    days, *clock = match.groups()
    given = [float(part) for part in clock if part is not None]
    # Without days the last part is seconds, with days the first is hours.
    rest = [0.0] * (3 - len(given))
    hours, minutes, seconds = rest + given if days is None else given + rest
    return 86400 * float(days or 0) + 3600 * hours + 60 * minutes + seconds


def parse_duration(text: str) -> float:
    """Return a duration in seconds.

    Parameters
    ----------
    text
        Numbers with units, the largest unit first and each at most once: weeks ``w``, days ``d``,
        hours ``h``, minutes ``m``, seconds ``s``; or ``[D-]HH:MM:SS``. A number without a unit is
        in seconds.
    """
    seconds = duration_of(text)
    if seconds is None:
        raise OptionError(
            f"{brief(text)!r} is not a duration; write one as 3d, 12h, 1d12h, 90m, 45s or 3600"
        )
    if seconds > LARGEST:
        raise OptionError(f"{text!r} is longer than 1e15 seconds; write a shorter duration")
    return seconds


def format_duration(seconds: Number) -> str:
    """Return a duration as text that `parse_duration` reads: ``1d12h``, ``0s``; in milliseconds."""
    rest = round(Fraction(seconds), 3)
    text = ""
    for unit in ("d", "h", "m"):
        count, rest = divmod(rest, LETTERS[unit])
        text += f"{count}{unit}" if count else ""
    return text + (f"{float(rest):.12g}s" if rest or not text else "")


def find_zone(name: str | None = None) -> ZoneInfo:
    """Return a time zone; UTC for None."""
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        raise UnknownName("time zone", str(name), available_timezones()) from None


def parse_moment(value: str | float | datetime, zone: ZoneInfo, option: str) -> float:
    """Return a moment that a user gives, in seconds since 1970."""
    import pandas as pd

    if isinstance(value, datetime):
        value = value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        if np.isfinite(value):
            return float(value)
        raise OptionError(f"{option}={value} is no moment; give seconds since 1970, or a date")
    found = parse_moments(pd.Series([str(value)], dtype=object), zone)
    if np.isnan(found.values[0]) or found.values[0] > LATEST:
        raise OptionError(
            f"{option}={spelled(value)} is no date; write it as 2026-01-08 or 2026-01-08T12:00"
        )
    if found.skipped or (found.later is not None and found.later[0]):
        often = "never" if found.skipped else "twice"
        raise OptionError(
            f"{option}={spelled(value)}: the clock of {zone.key} showed this {often}; write it "
            "with an offset, as 2026-01-08T12:00+00:00"
        )
    return float(found.values[0])


def counted(number: int, noun: str) -> str:
    """Return a number of things, as 1 job or 2 jobs."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
