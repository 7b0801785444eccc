"""What one call of a solver came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.result import Start, Status

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What one call of a solver came to, in dlsched's words.

    Attributes
    ----------
    status, reason, message
        How far it got, why it stopped, and the solver's raw words.
    values
        Variable values in the order of the form's columns; ``None`` if there is no solution.
    objective, bound
        The solver's own figures, in the level's sense; ``None`` if it has none.
    duals
        Row duals, for a linear relaxation solved to its end.
    start
        Whether the start was used.
    """

    status: Status
    reason: str
    message: str
    values: Vector | None = None
    objective: float | None = None
    bound: float | None = None
    duals: Vector | None = None
    start: Start | None = None
    extra: Any = None
