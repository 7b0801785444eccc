"""The authors' public simulators, repeated to the digit, by policy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

MURI = ("srtf", "srsf", "tiresias", "antman", "themis", "muri_s", "muri_l")
"""Policies of the simulator of Muri's authors."""

PUBLISHED: Mapping[str, Callable[[], Callable[..., None]]] = {
    **dict.fromkeys(MURI, lambda: importlib.import_module("dlsched.simulation.published.muri").run),
    "synergy": lambda: importlib.import_module("dlsched.simulation.published.synergy").run,
}
"""A function that imports the simulator of each policy and returns it."""
