"""Settings of drawn cases, and the exact values of rows of forms."""

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, settings

from dlsched.proofs.forms.form import Row
from drawing import draws

checked = settings(derandomize=True, deadline=None, max_examples=draws(60))
"""For cases that are drawn from forms."""
drawn = settings(
    derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
"""For cases that are drawn from instances, which a test solves."""


def satisfies(row: Row, x: Sequence[Any]) -> bool:
    """Whether a point satisfies a row, exactly."""
    at = sum(a * x[j] for j, a in row.coefficients.items())
    return (row.low is None or row.low <= at) and (row.high is None or at <= row.high)
