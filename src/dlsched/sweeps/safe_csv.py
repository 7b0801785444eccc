"""CSV files without formulas: a spreadsheet shows every text as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

_FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""First characters of formulas in a spreadsheet (OWASP, "CSV injection")."""
_ROWS = 5000
"""Rows that are converted at a time."""


def csv_bytes(frame: pandas.DataFrame) -> bytes:
    """Return a table as CSV. A text that a spreadsheet would take for a formula starts with ``'``.

    Numbers, and texts that are numbers as ``-1.5``, are unchanged.
    """
    return b"".join(csv_parts(frame))


def csv_parts(frame: pandas.DataFrame) -> Iterator[bytes]:
    """Yield what `csv_bytes` returns in parts, so that a large table is never in memory as text."""
    texts = [i for i, kind in enumerate(frame.dtypes) if kind.kind not in "biuf"]
    for begin in range(0, max(1, len(frame)), _ROWS):
        safe = frame.iloc[begin : begin + _ROWS].astype(object)
        safe.iloc[:, texts] = safe.iloc[:, texts].map(_safe)
        text: str = safe.rename(columns=_safe).to_csv(index=False, header=begin == 0)
        yield text.encode(errors="backslashreplace")


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    if "\r" in cell:  # a single one would start a new row
        cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
