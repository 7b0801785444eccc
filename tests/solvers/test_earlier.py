"""What the solution of a model says of the same model with more rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dlsched.doctor import StandardForm
from dlsched.results.objective import Bound
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.outcome import Basis

FIRST, SECOND = Bound(44, "certified", "first"), Bound(112, "certified", "second")


def form(rows: int, sense: str = "min") -> StandardForm:
    """Return a form of three columns."""
    return StandardForm.of(
        sparse.csc_array((rows, 3)),
        np.zeros(rows),
        np.ones(rows),
        np.ones(3),
        np.ones(3),
        sense=sense,
        granularity=Fraction(1),
    )


@pytest.mark.parametrize(
    ("sense", "held", "known"),
    [
        ("min", [44.0], [SECOND]),
        ("min", [43.0], [SECOND]),
        ("min", [45.0], []),
        ("max", [45.0], [SECOND]),
        ("max", [43.0], []),
        ("min", [], [FIRST]),
        ("min", [44.0, 112.0], []),
    ],
)
def test_a_bound_holds_where_earlier_levels_are_no_worse(
    sense: str, held: list[float], known: list[Bound]
) -> None:
    """Where one is worse, later levels may be better than in the model with fewer rows."""
    earlier = Earlier((2, 3), {}, [44.0], [[FIRST], [SECOND]])
    assert earlier.bounds_of(form(3, sense), held) == known


def test_rows_that_were_added_are_basic() -> None:
    """They stand between the model's own and those that hold levels."""
    earlier = Earlier((2, 3), {1: Basis([0, 1, 2], [1, 0, 2])})
    basis = earlier.basis_of(form(5), 1)
    assert basis is not None
    assert list(basis.rows) == [1, 0, 1, 1, 2]
    assert earlier.basis_of(form(2), 1) is None
    assert earlier.basis_of(form(5), 0) is None
