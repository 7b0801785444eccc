"""What finds a heaviest matching of a round, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dlsched.problems.interleaving.matching import NO_EDGE, match
from dlsched.simulation.published.muri.stages import heaviest

Matcher = Callable[[Any], list[int]]
"""From n x n weights, 0 where there is no edge, to each node's mate, -1 if it has none."""


def library_matching(weights: Any) -> list[int]:
    """Return a heaviest matching as the problem interleaving finds it, by rustworkx."""
    symmetric = np.maximum(weights, weights.T)
    mates = np.full(len(weights), -1)
    pairs = match(np.where(symmetric > 0, symmetric, NO_EDGE)).pairs
    pairs = pairs[symmetric[pairs[:, 0], pairs[:, 1]] > 0]
    mates[pairs[:, 0]], mates[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    found: list[int] = mates.tolist()
    return found


MATCHERS: Mapping[str, Matcher] = {"template": heaviest, "muri": library_matching}
"""By the names of methods."""
