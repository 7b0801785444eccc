"""A process with all those that it has started."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
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
    for pid in [process.pid, *_descendants(process.pid)]:
        with contextlib.suppress(psutil.Error):
            total += psutil.Process(pid).memory_info().rss
    return total


def _descendants(pid: int) -> Iterator[int]:
    """Yield what the process has started, to measure it: one that ends meanwhile may hide another.

    Linux lists the children of a thread in a file. Psutil reads the parent of every process of the
    machine instead, which takes a hundred times as long with 70 processes.
    """
    import psutil

    if not _kernel_lists_children():
        with contextlib.suppress(psutil.Error):
            yield from (child.pid for child in psutil.Process(pid).children(recursive=True))
        return
    with contextlib.suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                yield int(child)
                yield from _descendants(int(child))


@functools.cache
def _kernel_lists_children() -> bool:
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill the process, its group, and what it has started outside the group; wait for its end."""
    import psutil

    for child in tree(process)[1:]:
        with contextlib.suppress(psutil.Error):
            child.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
