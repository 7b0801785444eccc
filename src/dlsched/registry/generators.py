"""What generators share: their versions, their calls as text, distributions by percentiles.

The same seed draws the same instance only by the same version.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Points: TypeAlias = tuple[tuple[float, float], ...]
"""Shares, ascending from 0, and the values that as many do not exceed."""

VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        "dispatch": 2,
        "elastic": 2,
        "interleaving": 2,
        "placement": 2,
        "reclaiming": 2,
        "sensitivity": 2,
        "shares": 1,
        "utility": 2,
        "workers": 2,
        "simulation": 2,
    }
)
"""By problem, and of the workloads of simulations; each change of what is drawn raises one."""


def call(
    function: str,
    what: str,
    seed: int,
    parameters: Mapping[str, Any],
    generator: str | None = None,
) -> str:
    """Return a generator's call as text, with its version, as instances and results state it."""
    said = "".join(f", {name}={value!r}" for name, value in parameters.items())
    version = VERSIONS.get(generator or what)
    ended = "" if version is None else f", generator version {version}"
    return f"{function}({what!r}, seed={seed}{said}){ended}"


def quantiles(points: Points, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles whose logarithm is linear between points, and goes on so after the last."""
    shares = [share for share, _ in points]
    logs = [math.log(value) for _, value in points]
    slope = (logs[-1] - logs[-2]) / (shares[-1] - shares[-2])
    beyond = np.maximum(0.0, u - shares[-1]) * slope
    values: NDArray[np.float64] = np.exp(np.interp(u, shares, logs) + beyond)
    return values
