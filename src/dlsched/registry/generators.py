"""The versions of the generators: the same seed draws the same instance only by the same one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        "dispatch": 1,
        "elastic": 1,
        "interleaving": 1,
        "placement": 1,
        "reclaiming": 1,
        "sensitivity": 1,
        "shares": 1,
        "utility": 1,
        "workers": 1,
        "simulation": 1,
    }
)
"""By problem, and of the workloads of simulations; each change of what is drawn raises one."""
