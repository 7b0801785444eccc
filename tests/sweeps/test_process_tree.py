"""Memory of a process with all that it has started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from dlsched.sweeps import process_tree

MEGABYTES = 40
HOLDER = f"import os; held = bytearray({MEGABYTES} << 20); os.write(1, b'ready\\n'); input()"
FAMILY = f"""
import subprocess, sys, threading
start = lambda: subprocess.Popen([sys.executable, "-c", {HOLDER!r}]).wait()
threads = [threading.Thread(target=start) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.fixture
def family() -> Iterator[subprocess.Popen[str]]:
    """A process whose children, of two threads, hold memory."""
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        yield process
        process_tree.kill(process)


@pytest.mark.parametrize("listed", [True, False])
def test_memory_of_children_counts(
    family: subprocess.Popen[str], listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What children of any thread hold is counted, whether or not the kernel lists children."""
    if not listed:
        monkeypatch.setattr(process_tree, "_kernel_lists_children", lambda: False)
    alone = psutil.Process(family.pid).memory_info().rss
    assert process_tree.resident_bytes(family) - alone > 2 * MEGABYTES << 20


def test_a_process_that_has_ended_holds_nothing() -> None:
    """The memory of a process that has ended is 0."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert process_tree.resident_bytes(process) == 0
