"""Tables of a report's page: per cell its text and its sort key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dlsched.sweeps import statistics
from dlsched.sweeps.simulation_rows import SHOWN
from dlsched.text.figures import display, percent, seconds

if TYPE_CHECKING:
    import pandas

_SPREAD = ("sd", "least", "most", "better")
"""Numbers in the tables of the spread over seeds."""
_NUMBERS = ("bound", "seconds", "size", "seed", "peak MiB")
_PERCENTS = (
    *("mean", *statistics.PERCENTILES, "worst", "gap", "gap_to_best", "utilization"),
    *("saved", "saved_sd"),
)
_COUNTS = (
    "runs",
    "proven",
    "feasible",
    "bound only",
    "no solution",
    "failed",
    "at a limit",
    "optimum unknown",
    "gaps",
)
_WIDE = ("reason",)
Table = dict[str, Any]


class Cell(NamedTuple):
    """A cell's text, and what its column is sorted by."""

    text: str
    key: Any


def frame_table(frame: pandas.DataFrame) -> Table:
    """Return a data frame for the page."""
    records = frame.astype(object).where(frame.notna(), None)
    return page_table(list(frame.columns), records.to_numpy().tolist())


def page_table(
    names: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Collection[str] = ()
) -> Table:
    """Return a table for the page: per cell its text and its sort key.

    Parameters
    ----------
    rows
        A cell may be given as a `Cell`, with its text.
    numbers
        Columns of numbers, besides those that always are.
    """
    numeric = {*_PERCENTS, *_COUNTS, *SHOWN, *_SPREAD, *_NUMBERS, *numbers}
    return {
        "columns": [
            {"name": name, "numeric": name in numeric, "wide": name in _WIDE} for name in names
        ],
        "rows": [
            [{"text": cell.text, "key": cell.key} for cell in row]
            for row in page_cells(names, rows)
        ],
    }


def page_cells(names: Sequence[str], rows: Iterable[Sequence[Any | Cell]]) -> Iterator[list[Cell]]:
    """Yield the cells of each row of a table, whose key is never ``None``."""
    columns = [_text_of(name) for name in names]
    for row in rows:
        yield [_cell(text_of, value) for text_of, value in zip(columns, row, strict=True)]


def _text_of(name: str) -> Callable[[Any], str]:
    """Return what makes the text of a column's cells."""
    if name in _PERCENTS:
        return percent
    return seconds if name == "seconds" else display


def _cell(text_of: Callable[[Any], str], value: Any) -> Cell:
    text, key = value if isinstance(value, Cell) else (text_of(value), value)
    return Cell(text, "" if key is None else key)
