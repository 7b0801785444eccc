"""Shares of time that are fair in finish times (Themis): least largest ratio to a fair share's."""

from __future__ import annotations

from typing import Any

import numpy as np

HALVINGS = 60
"""Steps of the search for the least ratio: the interval's ends are then the same float."""


def least_ratio_shares(waited: Any, remaining: Any, fair: Any, gpus: Any, capacity: int) -> Any:
    """Return the shares of time that minimise (waited + remaining / x) / fair, lexicographically.

    Parameters
    ----------
    waited, remaining, fair, gpus
        Arrays of n: seconds since submission, seconds to go when running, time with a fair share,
        GPUs.
    capacity
        The most GPUs in use, on average: the sum of ``gpus * x``.

    Returns
    -------
    array
        Of n, from 0 to 1.
    """
    if gpus.sum() <= capacity:
        return np.ones(len(gpus))

    def shares(ratio: float) -> Any:
        time = np.maximum(ratio * fair - waited, 0.0)
        return np.minimum(1.0, np.divide(remaining, time, out=np.ones(len(gpus)), where=time > 0))

    low, high = 0.0, 1.0
    while gpus @ shares(high) > capacity:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if gpus @ shares(middle) <= capacity else (middle, high)
    return shares(high)
