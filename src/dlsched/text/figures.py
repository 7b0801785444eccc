"""Numbers and names as text for tables and pictures."""

from fractions import Fraction

_SIX_DIGITS = 1e5
"""From here on the six digits shown are all before the decimal point, and none are left out."""


def display(value: object) -> str:
    """Return a cell's text: numbers grouped by thousands, nothing for ``None``."""
    if type(value) is str:  # most cells of a long table
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (float, Fraction)):
        number = float(value)
        whole = number.is_integer() or abs(number) >= _SIX_DIGITS
        return f"{number:,.0f}" if whole else f"{number:,.6g}"
    return str(value)


def percent(gap: float | None) -> str:
    """Return a gap in per cent; one that is not 0 never looks like 0."""
    if gap is None:
        return ""
    if gap == 0:
        return "0 %"
    value = 100 * gap
    return f"{value:.2f} %" if abs(gap) >= 0.0001 else f"{value:.0e} %"


def seconds(value: float | None) -> str:
    """Return seconds, short times with more decimals."""
    if value is None:
        return ""
    return f"{value:,.2f}" if value >= 10 else f"{value:.4f}"


def span(seconds: float) -> str:
    """Return a duration as people say it: 45 s, 12 min, 2.1 h, 3.4 days."""
    size = abs(seconds)
    for most, unit, name, digits in ((120, 1, "s", 0), (600, 60, "min", 1), (3600, 60, "min", 0)):
        if size < most:
            return f"{seconds / unit:,.{digits}f} {name}"
    if size < 3 * 86400:
        return f"{seconds / 3600:,.1f} h"
    return f"{seconds / 86400:,.1f} days"


def amount(number: float) -> str:
    """Return a number with as many digits as say something."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def shorten(name: str, length: int) -> str:
    """Return a name, shortened to a number of characters, with an ellipsis at the end."""
    if len(name) <= length:
        return name
    return f"{name[: length - 1]}…"


def printable(text: str) -> str:
    """Return a text with control characters escaped."""
    if text.isprintable():
        return text
    spelled = [c if c.isprintable() else c.encode("unicode_escape").decode() for c in text]
    return "".join(spelled)
