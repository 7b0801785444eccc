"""Which rows of a form a solver cannot decide in double precision."""

from __future__ import annotations

import numpy as np

from dlsched.solvers.standard_form import StandardForm

LARGEST_TERM = 2.0**30
"""Sums of terms up to this have rounding errors below 1e-6, a solver's tolerance of rows."""


def undecided_row(form: StandardForm) -> str | None:
    """Return the name of a row whose rounding errors may exceed a solver's tolerance, if any.

    A solver may then cut off feasible points, and call a point optimal that is not. A side that no
    point within the columns' bounds exceeds does not count, nor does a row without other sides.
    """
    rows, number = form.A.tocsr(), form.shape[0]
    row_of = np.repeat(np.arange(number), np.diff(rows.indptr))
    lower, upper = form.lower[rows.indices], form.upper[rows.indices]
    ends = np.sort([rows.data * lower, rows.data * upper], axis=0)
    least, most = (np.bincount(row_of, weights=end, minlength=number) for end in ends)
    low_matters, high_matters = least < form.row_lower, most > form.row_upper
    farthest = np.maximum(np.abs(lower), np.abs(upper))
    terms = np.abs(rows.data) * np.where(np.isinf(farthest), 1.0, farthest)
    largest = np.zeros(number)
    np.maximum.at(largest, row_of, terms)
    for side, matters in ((form.row_lower, low_matters), (form.row_upper, high_matters)):
        largest = np.maximum(largest, np.where(matters & np.isfinite(side), np.abs(side), 0.0))
    beyond = np.flatnonzero((largest > LARGEST_TERM) & (low_matters | high_matters))
    if not beyond.size:
        return None
    row = int(beyond[0])
    return form.row_names[row] if len(form.constraints) else f"row {row}"
