"""Variants that once had a wrong answer, one digest with another, or an error without a remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import Variant

FIRST = "s1"


def adds(make: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    """Return a function that adds what `make` makes."""

    def constrain(m: Any, instance: Any) -> None:
        m.added = make(m)

    return constrain


@pytest.mark.parametrize(
    "make",
    [
        lambda m: pyo.Constraint(expr=sum(0.1 * m.x[FIRST] for _ in range(3)) == 0.3),
        lambda m: pyo.Constraint(expr=0.1 * m.x[FIRST] + 0.2 == 0.3),
        lambda m: pyo.Constraint(expr=0.3 * m.x[FIRST] - 0.2 * m.x[FIRST] >= 0.1),
    ],
)
def test_coefficients_are_summed_exactly(make: Callable[[Any], Any]) -> None:
    """In floating point each row is violated by 1e-17, and the variant infeasible."""
    same = dlsched.solve("reclaiming-small-04", variant=Variant("reclaiming", "sums", adds(make)))
    fixed = Variant("reclaiming", "one", fix={f"x[{FIRST}]": 1})
    assert same.status == "optimal"
    assert same.objective == dlsched.solve("reclaiming-small-04", variant=fixed).objective
