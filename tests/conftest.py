"""What every test may rely on."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Iterator

import pytest

from dlsched.cli import progress

# Started in the background, a shell's child ignores Ctrl-C, and tests of it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as in a pipe, whatever terminal the tests run in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process do not say what they do, however slow the machine is."""
    monkeypatch.setattr(progress, "LINE_AFTER", math.inf)


@pytest.fixture(autouse=True)
def _no_open_figures() -> Iterator[None]:
    """A test's figures are closed after it: matplotlib warns of the twenty-first."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With ``-n auto``, one worker more than cores, as some tests wait for other processes."""
    return (os.cpu_count() or 1) + 1
