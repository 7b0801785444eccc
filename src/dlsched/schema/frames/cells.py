"""Cells of data frames as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

_PLAIN = frozenset((str, int, bool))

MISSING: Any = None
"""What a cell without a value becomes: None, NaN, NaT, NA."""


def plain(value: Any) -> Any:
    """Return a value as plain data: no NumPy types, whole floats as integers, no value as None.

    A column of integers with gaps is a column of floats in pandas, so 2.0 stands for 2. What comes
    from a database may be a ``Decimal``.
    """
    if type(value) in _PLAIN:
        return value
    import pandas as pd

    if isinstance(value, np.generic):
        value = value.item()
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return MISSING
    if isinstance(value, (float, Decimal, Fraction)):
        return _whole(value)
    if isinstance(value, (Mapping, pd.Series)):
        return {plain(key): plain(entry) for key, entry in dict(value).items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    return value


def _whole(value: float | Decimal | Fraction) -> Any:
    """Return a whole number as an integer, other numbers as they are."""
    if isinstance(value, Fraction) or math.isfinite(value):
        whole = int(value)
        return whole if whole == value else value
    return value


def column(series: pandas.Series[Any]) -> list[Any]:
    """Return a column's cells as plain data."""
    values: list[Any] = series.tolist()
    for i in np.flatnonzero(series.isna()):
        values[i] = MISSING
    return list(map(plain, values))
