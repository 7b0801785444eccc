"""What a process has here: cores, memory, terminal."""

from __future__ import annotations

import locale
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from dlsched.bench.machine import processor

GIB = 2**30
_QUOTA, _LIMIT = Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/memory.max")
"""What a container may use, on Linux."""


@dataclass(frozen=True)
class Machine:
    """The machine and the terminal.

    Attributes
    ----------
    system, processor
        Names.
    cores, usable_cores
        Of the machine; those that this process may use, with its container's quota.
    memory_gib, available_gib
        GiB of the machine or its container; without other processes'. ``None`` if unknown.
    columns, on_terminal
        Width of the terminal, and whether stdout is one.
    encoding, locale
        Of stdout; the character set and language that the environment asks for.
    """

    system: str
    processor: str
    cores: int
    usable_cores: float
    memory_gib: float | None
    available_gib: float | None
    columns: int
    on_terminal: bool
    encoding: str
    locale: str


def this_machine() -> Machine:
    """Return what is known of the machine that this process runs on."""
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=processor(),
        cores=os.cpu_count() or 1,
        usable_cores=_usable_cores(),
        memory_gib=_memory(),
        available_gib=_available(),
        columns=shutil.get_terminal_size().columns,
        on_terminal=bool(sys.stdout and sys.stdout.isatty()),
        encoding=getattr(sys.stdout, "encoding", None) or "unknown",
        locale=".".join(filter(None, locale.getlocale())) or "C",
    )


def _usable_cores() -> float:
    """Return the cores that this process may run on, at most its container's quota."""
    allowed = getattr(os, "sched_getaffinity", None)
    cores: float = len(allowed(0)) if allowed else os.cpu_count() or 1
    quota, _, period = _text(_QUOTA).partition(" ")
    if quota.isdigit() and period.isdigit():
        cores = min(cores, int(quota) / int(period))
    return cores


def _memory() -> float | None:
    """Return the machine's memory in GiB, or its container's limit."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    limit = _text(_LIMIT)
    return (min(total, int(limit)) if limit.isdigit() else total) / GIB


def _available() -> float | None:
    """Return the memory in GiB that Linux estimates to be free for new processes."""
    for line in _text(Path("/proc/meminfo")).splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024 / GIB
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
