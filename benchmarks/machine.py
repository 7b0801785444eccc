"""What the figures were made on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("dlsched", "highspy", "pyomo", "numpy", "scipy", "numba", "rustworkx", "cvxpy")


def machine() -> str:
    """Return the processor, its cores, and the versions that made the figures."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{processor}, {os.cpu_count()} cores; {platform.system()}; "
        f"Python {platform.python_version()}; {packages}."
    )
