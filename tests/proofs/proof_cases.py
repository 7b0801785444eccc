"""What the tests of proofs share: settings of drawn cases, and small forms with exact values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from dlsched import InstanceError
from dlsched.proofs.document import proof_from_data
from dlsched.proofs.forms.form import Row
from drawing import draws

checked = settings(derandomize=True, deadline=None, max_examples=draws(60))
"""For cases that are drawn from forms."""
drawn = settings(
    derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
"""For cases that are drawn from instances, which a test solves."""


def value(row: Row, x: Sequence[Any]) -> Any:
    """Return what a row is at a point, exactly."""
    return sum(a * x[j] for j, a in row.coefficients.items())


def satisfies(row: Row, x: Sequence[Any]) -> bool:
    """Whether a point satisfies a row."""
    at = value(row, x)
    return (row.low is None or row.low <= at) and (row.high is None or at <= row.high)


def set_item(*path: Any, to: Any) -> Callable[[Any], None]:
    """Return what sets an item of nested lists and dicts, by the path to it."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = to

    return change


def assert_no_proof(data: dict[str, Any], path: str) -> None:
    """Assert that the error of reading a proof names the field that cannot be read."""
    with pytest.raises(InstanceError) as error:
        proof_from_data(data, "file.json")
    assert path in str(error.value)
