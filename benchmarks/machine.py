"""What the figures were made on."""

from __future__ import annotations

from dlsched.bench import machine as recorded


def machine() -> str:
    """Return the processor, its cores, and the versions that made the figures."""
    python, *packages = recorded.versions().items()
    said = ", ".join(f"{name} {version}" for name, version in packages)
    return f"{recorded.machine()}; Python {python[1]}; {said}."
