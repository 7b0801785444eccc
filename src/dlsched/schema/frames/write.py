"""A document as data frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from dlsched.schema.frames.layout import (
    Level,
    Table,
    below,
    nested_fields,
    shapes,
    table,
    tables,
    value_fields,
)

if TYPE_CHECKING:
    import pandas

_EXACT = 2**53
"""Up to here every integer is a double."""
Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]
"""Rows by the name of their frame."""


def to_frames(document: BaseModel, single: str) -> dict[str, pandas.DataFrame]:
    """Return the frames of a document by its `layout`; `single` names that of its single values."""
    model = type(document)
    layout = list(tables(model))
    rows: Rows = {table.name: [] for table in layout}
    for name in nested_fields(model):
        _collect(rows, table(name, name, shapes(model)[name]), (), getattr(document, name))
    fields = value_fields(model)
    values = tuple(getattr(document, name) for name in fields)
    frames = {single: _frame(fields, [values])}
    return frames | {table.name: _frame(table.columns, rows[table.name]) for table in layout}


def _collect(rows: Rows, where: Table, parents: tuple[Any, ...], value: Any) -> None:
    """Add the rows of one list, mapping or document, and those of the frames below."""
    if value is None:
        return
    for index, entry in _entries(value, where.levels):
        if where.model is None:
            rows[where.name].append((*parents, *index, entry))
            continue
        values = [getattr(entry, name) for name in where.values]
        rows[where.name].append((*parents, *index, *values))
        inner = parents
        if where.own is not None:
            inner += index if where.own in where.index else (*index, getattr(entry, where.own))
        for name in nested_fields(where.model):
            _collect(rows, below(where, name), inner, getattr(entry, name))


def _entries(value: Any, levels: Sequence[Level]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield each document or value in nested lists and mappings with its keys and positions."""
    if not levels:
        yield (), value
        return
    pairs = value.items() if levels[0].kind == "mapping" else enumerate(value)
    for key, inner in pairs:
        prefix = (key,) if levels[0].column else ()
        for index, entry in _entries(inner, levels[1:]):
            yield (*prefix, *index), entry


def _frame(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pandas.DataFrame:
    """Return a frame whose columns have the narrowest type that holds their values."""
    import pandas as pd

    cells = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in columns]
    series = [_column(column) for column in cells]
    return pd.DataFrame(dict(zip(columns, series, strict=True)))


def _column(values: list[Any]) -> pandas.Series[Any]:
    import pandas as pd

    known = [value for value in values if value is not None]
    complete = len(known) == len(values)
    dtype = "object"
    if known and all(map(_is_double, known)):
        dtype = "int64" if complete else "Int64"
        if any(isinstance(value, Fraction) for value in known):
            dtype = "float64"
    elif known and complete and all(type(value) is bool for value in known):
        dtype = "bool"
    if dtype == "float64":
        return pd.Series([None if v is None else float(v) for v in values], dtype=dtype)
    return pd.Series(values, dtype=dtype)


def _is_double(value: object) -> bool:
    """Whether a number is a fraction or a small integer, which a double holds."""
    return isinstance(value, Fraction) or (type(value) is int and abs(value) <= _EXACT)
