"""A process with all those that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psutil


def tree(process: subprocess.Popen[Any]) -> list[psutil.Process]:
    """Return the process and all that it has started; nothing if it has ended."""
    import psutil

    with contextlib.suppress(psutil.Error):
        first = psutil.Process(process.pid)
        return [first, *first.children(recursive=True)]
    return []


def resident_bytes(process: subprocess.Popen[Any]) -> int:
    """Return the resident memory of the process and of those that it has started."""
    import psutil

    total = 0
    for member in tree(process):
        with contextlib.suppress(psutil.Error):
            total += member.memory_info().rss
    return total


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill the process, its group, and what it has started outside the group; wait for its end."""
    import psutil

    for child in tree(process)[1:]:
        with contextlib.suppress(psutil.Error):
            child.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
