"""The versions of the generators: the same seed draws the same instance only by the same one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        "dispatch": 1,
        "elastic": 2,
        "interleaving": 1,
        "placement": 1,
        "reclaiming": 2,
        "sensitivity": 1,
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
