"""Durations as text: ``3d``, ``1d12h``, ``90m``, ``3600``."""

from __future__ import annotations

import re
from fractions import Fraction

from dlsched.errors import OptionError
from dlsched.schema.flaws import brief
from dlsched.schema.quantities import LARGEST, Number

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
"""Seconds in each unit."""
_PART = r"\d{1,15}(?:\.\d{1,15})?"
_SHAPE = re.compile(f"({_PART})|" + "".join(f"(?:({_PART}){unit})?" for unit in UNITS), re.ASCII)


def parse_duration(text: str) -> float:
    """Return a duration in seconds.

    Parameters
    ----------
    text
        Numbers with units, the largest unit first and each at most once: weeks ``w``, days ``d``,
        hours ``h``, minutes ``m``, seconds ``s``. A number without a unit is in seconds.

    Raises
    ------
    OptionError
        If it is not a duration.
    """
    compact = "".join(text.split()).lower()
    match = _SHAPE.fullmatch(compact)
    if not compact or not match:
        raise OptionError(
            f"{brief(text)!r} is not a duration; write one as 3d, 12h, 1d12h, 90m, 45s or 3600"
        )
    plain, *parts = match.groups()
    total = Fraction(plain or 0)
    for part, seconds in zip(parts, UNITS.values(), strict=True):
        total += Fraction(part or 0) * seconds
    if total > LARGEST:
        raise OptionError(f"{text!r} is longer than 1e15 seconds; write a shorter duration")
    return float(total)


def format_duration(seconds: Number) -> str:
    """Return a duration as text that `parse_duration` reads: ``1d12h``, ``0s``; in milliseconds."""
    rest = round(Fraction(seconds), 3)
    text = ""
    for unit in ("d", "h", "m"):
        count, rest = divmod(rest, UNITS[unit])
        text += f"{count}{unit}" if count else ""
    return text + (f"{float(rest):.12g}s" if rest or not text else "")
