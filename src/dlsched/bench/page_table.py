"""Tables of a report's page: per cell its text and its sort key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dlsched.bench import statistics
from dlsched.bench.simulation_rows import SHOWN
from dlsched.display.figures import display, percent, seconds

if TYPE_CHECKING:
    import pandas

_SPREAD = ("sd", "least", "most", "better")
"""Numbers in the tables of the spread over seeds."""
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
    "gaps",
)
_WIDE = ("reason",)
Table = dict[str, Any]


def frame_table(frame: pandas.DataFrame) -> Table:
    """Return a data frame for the page."""
    records = frame.astype(object).where(frame.notna(), None)
    return page_table(list(frame.columns), records.to_numpy().tolist())


def page_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a table for the page: per cell its text and its sort key."""
    numeric = {
        *_PERCENTS,
        *_COUNTS,
        *SHOWN,
        *_SPREAD,
        "bound",
        "seconds",
        "size",
        "seed",
        "peak MiB",
    }
    return {
        "columns": [
            {"name": name, "numeric": name in numeric, "wide": name in _WIDE} for name in names
        ],
        "rows": [
            [
                {"text": _cell(name, value), "key": "" if value is None else value}
                for name, value in zip(names, row, strict=True)
            ]
            for row in rows
        ],
    }


def _cell(name: str, value: Any) -> str:
    if name in _PERCENTS:
        return percent(value)
    return seconds(value) if name == "seconds" else display(value)
