"""Tables of a report's page: per cell its text and its sort key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dlsched.bench import statistics
from dlsched.bench.simulation_rows import SHOWN
from dlsched.display.figures import display, percent, seconds

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
            [
                {"text": cell.text, "key": "" if cell.key is None else cell.key}
                for cell in (_cell(*pair) for pair in zip(names, row, strict=True))
            ]
            for row in rows
        ],
    }


def _cell(name: str, value: Any) -> Cell:
    if isinstance(value, Cell):
        return value
    if name in _PERCENTS:
        return Cell(percent(value), value)
    return Cell(seconds(value) if name == "seconds" else display(value), value)
