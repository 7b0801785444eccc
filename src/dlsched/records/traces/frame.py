"""Jobs from a pandas data frame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from dlsched.errors import InstanceError, OptionError
from dlsched.records.traces import cells
from dlsched.records.traces.choice import Choice
from dlsched.records.traces.columns import MOMENTS, TEXTS, UNITS, Column, MappingLike, columns
from dlsched.records.traces.job import TraceJob
from dlsched.records.traces.rows import cell_value, jobs
from dlsched.records.traces.table import position
from dlsched.schema.flaws import brief
from dlsched.schema.quantities import Unusable, simplify

if TYPE_CHECKING:
    import pandas as pd

_NANOSECONDS = 10**9
_MISSING = ("nan", "np.float64(nan)", "NaT", "<NA>")


def frame_jobs(
    frame: pd.DataFrame, mapping: MappingLike | None, where: str, plausibility: bool
) -> list[TraceJob]:
    """Return the jobs of a data frame, one per row; see `dlsched.records.Trace.from_frame`."""
    if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
        raise OptionError(f"{type(frame).__name__} is no data frame; pass a pandas DataFrame")
    names = [str(name) for name in frame.columns]
    wanted = columns(_own_names(names) if mapping is None else mapping)
    remedy = "rename one, or pass mapping="
    places = [
        position(column.name, names, where, f"column {column.name:.40}", remedy)
        for column in wanted
    ]
    choice = Choice(plausibility=plausibility)
    listed = jobs(_rows(frame, places), where, wanted, _value, choice)
    if not listed:
        raise InstanceError(where, "", "there is no job", "give at least one row")
    return listed


def _own_names(names: Sequence[str]) -> Mapping[str, Any]:
    """Return the mapping of columns that are called as the fields are."""
    fields = [*TraceJob.model_fields, "end"]
    named: dict[str, Any] = {name: name for name in fields if name in names and name != "nodes"}
    if "stages" in named:
        raise OptionError(
            "a column 'stages' cannot hold several times; name a column for each: "
            "mapping={'stages': ['io', 'gpu', 'network'], ...}"
        )
    if "duration" in named:
        named.pop("start", None)
        named.pop("end", None)
    return named


def _rows(frame: pd.DataFrame, places: Sequence[int]) -> Iterator[tuple[str, Sequence[Any]]]:
    columns = [frame.iloc[:, place].tolist() for place in places]
    for label, *row in zip(frame.index.tolist(), *columns, strict=True):
        yield f"row {brief(str(label))}", row


def _value(column: Column, value: Any) -> Any:
    """Return what a cell of a frame holds, a time in seconds; None for a missing value."""
    if isinstance(value, str):
        return cell_value(column, value)
    if value is None or repr(value) in _MISSING:
        return None
    if column.field in TEXTS:
        return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
    if isinstance(value, date | timedelta):  # those of pandas are subclasses
        return _time(column, value)
    if not isinstance(value, Real) or isinstance(value, bool):
        return Unusable(brief(repr(value)), "is not a number", "write a number")
    return _number(column, value)


def _number(column: Column, value: Real) -> Any:
    if not math.isfinite(value):
        return Unusable(str(value), "is not a finite number", "write a finite decimal")
    if column.unit == "date":
        return Unusable(brief(str(value)), "is not a date", "convert it: pandas.to_datetime")
    exact = int(value) if isinstance(value, Integral) else Fraction(repr(float(value)))
    if column.unit is not None and exact < 0:
        return Unusable(str(value), "is too small", "write a number at least 0")
    # A column of whole numbers is one of floats in pandas as soon as a cell is missing.
    return simplify(exact if column.unit is None else exact * UNITS[column.unit])


def _time(column: Column, value: Any) -> Any:
    is_moment = isinstance(value, date)
    if column.unit is None or is_moment != (column.field in MOMENTS):
        expected = "moment" if column.field in MOMENTS else "duration"
        expected = "number" if column.unit is None else expected
        return Unusable(brief(str(value)), f"is no {expected}", f"name a column of {expected}s")
    if not is_moment and value < timedelta(0):
        return Unusable(brief(str(value)), "is too small", "write a duration at least 0")
    if hasattr(value, "as_unit"):  # of pandas: with nanoseconds
        return simplify(Fraction(value.as_unit("ns").value, _NANOSECONDS))
    if is_moment:
        return cells.date(value.isoformat())
    return simplify(Fraction(value // timedelta(microseconds=1), 10**6))
