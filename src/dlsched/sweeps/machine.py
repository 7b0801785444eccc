"""The machine and the software versions of a run."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("dlsched", "highspy", "pyomo", "numpy", "scipy", "rustworkx", "cvxpy")
"""Packages that results and times depend on."""


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    installed = {name: installed_version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **installed}


def installed_version(package: str) -> str:
    """Return the version of an installed package, or that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def machine() -> str:
    """Return the processor, its cores, and the operating system."""
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()}"


def processor() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
