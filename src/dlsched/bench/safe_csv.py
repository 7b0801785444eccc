"""Tables as CSV that a spreadsheet shows as text, and never runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

_FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""What begins a formula in a spreadsheet (OWASP, "CSV injection")."""


def csv_bytes(frame: pandas.DataFrame) -> bytes:
    """Return a table as CSV; texts that a spreadsheet would run have a ``'`` put before them.

    Numbers, also those that stand in a text like ``-1.5``, are as they were.
    """
    safe = frame.astype(object).map(_safe).rename(columns=_safe)
    text: str = safe.to_csv(index=False)
    return text.encode(errors="backslashreplace")


def rows_as_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """Return some columns of rows as `csv_bytes` does."""
    import pandas as pd

    return csv_bytes(pd.DataFrame(list(rows), columns=list(columns)))


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")  # a lone one would begin a new row
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
