"""The authors' public simulators, repeated to the digit, by policy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

PUBLISHED: Mapping[str, Callable[[], Callable[..., None]]] = {
    "synergy": lambda: importlib.import_module("dlsched.simulation.published.synergy").run,
}
"""A function that imports the simulator of each policy and returns it."""
