"""CSV files without formulas: a spreadsheet shows every text as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

_FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""First characters of formulas in a spreadsheet (OWASP, "CSV injection")."""


def csv_bytes(frame: pandas.DataFrame) -> bytes:
    """Return a table as CSV. A text that a spreadsheet would take for a formula starts with ``'``.

    Numbers, and texts that are numbers as ``-1.5``, are unchanged.
    """
    safe = frame.astype(object).map(_safe).rename(columns=_safe)
    text: str = safe.to_csv(index=False)
    return text.encode(errors="backslashreplace")


def _safe(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")  # a single one would start a new row
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
