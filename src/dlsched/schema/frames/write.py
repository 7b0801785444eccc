"""A document as data frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dlsched.schema.frames.layout import (
    Level,
    Table,
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


def to_frames(document: BaseModel, single: str) -> dict[str, pandas.DataFrame]:
    """Return the frames of a document; see `dlsched.schema.frames.layout`.

    Parameters
    ----------
    document
        An instance or a solution.
    single
        Name of the frame with its single values.
    """
    fields = value_fields(type(document))
    rows: dict[str, list[tuple[Any, ...]]] = {found.name: [] for found in tables(type(document))}
    for name in nested_fields(type(document)):
        where = table(name, name, shapes(type(document))[name])
        _collect(rows, where, (), getattr(document, name))
    columns = {found.name: found.columns for found in tables(type(document))}
    frames = {single: _frame(fields, [tuple(getattr(document, name) for name in fields)])}
    return frames | {name: _frame(columns[name], found) for name, found in rows.items()}


def _collect(
    rows: dict[str, list[tuple[Any, ...]]], where: Table, parents: tuple[Any, ...], value: Any
) -> None:
    """Add the rows of one list, mapping or document, and those of the frames below."""
    if value is None:
        return
    nested = nested_fields(where.model)
    for index, entry in _entries(value, where.levels):
        if where.model is None:
            rows[where.name].append((*parents, *index, entry))
            continue
        rows[where.name].append((*parents, *index, *(getattr(entry, n) for n in where.values)))
        if nested:
            inner = (*parents, *_references(where, index, entry))
            for name in nested:
                _collect(rows, where.below(name), inner, getattr(entry, name))


def _references(where: Table, index: tuple[Any, ...], entry: Any) -> tuple[Any, ...]:
    """Return what identifies a document among those of its parent."""
    if where.own is None:
        return ()
    return index if where.own in where.index else (*index, getattr(entry, where.own))


def _entries(value: Any, levels: Sequence[Level]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield each document or value in nested lists and mappings with its keys and positions."""
    if not levels:
        yield (), value
        return
    pairs = value.items() if levels[0].kind == "mapping" else enumerate(value)
    for key, inner in pairs:
        own = (key,) if levels[0].column else ()
        for index, entry in _entries(inner, levels[1:]):
            yield (*own, *index), entry


def _frame(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pandas.DataFrame:
    """Return a frame whose columns have the narrowest type that holds their values."""
    import pandas as pd

    found = [*zip(*rows, strict=True)] if rows else [()] * len(columns)
    return pd.DataFrame({name: _column(list(v)) for name, v in zip(columns, found, strict=True)})


def _column(values: list[Any]) -> pandas.Series[Any]:
    import pandas as pd

    known = [value for value in values if value is not None]
    whole = all(type(value) is int and abs(value) <= _EXACT for value in known)
    if known and whole:
        return pd.Series(values, dtype="int64" if len(known) == len(values) else "Int64")
    small = all(isinstance(v, Fraction) or (type(v) is int and abs(v) <= _EXACT) for v in known)
    if known and small:
        return pd.Series([None if v is None else float(v) for v in values], dtype="float64")
    if known and len(known) == len(values) and all(type(value) is bool for value in known):
        return pd.Series(values, dtype="bool")
    return pd.Series(values, dtype="object")
