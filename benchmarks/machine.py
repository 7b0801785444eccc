"""What the figures were made on."""

from __future__ import annotations

import os

from dlsched.sweeps import task as recorded


def machine() -> str:
    """Return the processor, its cores, and the versions that made the figures."""
    python, *packages = recorded.versions().items()
    said = ", ".join(f"{name} {version}" for name, version in packages)
    return f"{recorded.machine()}; Python {python[1]}; {said}."


def load() -> str:
    """Return how many processes the machine serves now, which take of a limit on the wall."""
    processes = os.getloadavg()[0]
    return f"load of the machine at the beginning {processes:.0f} on {os.cpu_count()} cores"
