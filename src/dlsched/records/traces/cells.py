"""Numbers, dates and missing values as the cells of a trace file spell them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from dlsched.schema.flaws import brief
from dlsched.schema.quantities import LARGEST, Number, Unusable

MISSING = frozenset({"", "none", "null", "nan", "nat", "na", "n/a", "<na>", "unknown"})
"""How published traces, pandas and Slurm spell that nothing was recorded, in lower case."""

_NUMBER = re.compile(
    r"[+-]?(\d+(?P<point>\.\d*)?|(?P<bare>\.\d+))(?P<exponent>[eE][+-]?\d{1,3})?", re.ASCII
)
_MAX_LITERAL = 64
_EPOCH = datetime(1970, 1, 1)


def is_missing(cell: str) -> bool:
    """Return whether a cell says that nothing was recorded."""
    return cell.lower() in MISSING


def number(cell: str) -> Number | Unusable:
    """Return the exact value of a decimal."""
    match = _NUMBER.fullmatch(cell)
    if not match:
        return Unusable(brief(cell), "is not a number", "write a finite decimal")
    if len(cell) > _MAX_LITERAL:
        return Unusable(brief(cell), "has too many digits", "round it to 15 digits")
    if not (match["point"] or match["bare"] or match["exponent"]):
        return int(cell)
    value = Fraction(Decimal(cell))
    if abs(value) > LARGEST:
        return Unusable(brief(cell), "is too large", "use a unit that keeps it within 1e15")
    return value


def date(cell: str) -> Number | Unusable:
    """Return the seconds since 1970; a date without a time zone is taken as UTC."""
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return Unusable(f"{cell:.40}", "is not a date", "write it as 2020-06-09 18:41:01")
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    since = moment - _EPOCH
    seconds = since.days * 86400 + since.seconds
    return seconds + Fraction(since.microseconds, 10**6) if since.microseconds else seconds
