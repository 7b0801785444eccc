"""The authors' public simulators, repeated to the digit, by policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

PUBLISHED: Mapping[str, Callable[[], Callable[..., None]]] = {}
"""A function that imports the simulator of each policy and returns it."""
