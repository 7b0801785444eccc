"""SIGTERM, by which batch systems end a process: a sweep ends at the next safe point."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dlsched.errors import DlschedError


class Terminated(DlschedError):
    """A sweep that was ended by SIGTERM; finished runs are kept."""


@contextmanager
def set_at_sigterm(stop: threading.Event) -> Iterator[None]:
    """Set an event when this process gets SIGTERM, instead of ending at once.

    Slurm sends it at the time limit, before pre-emption, and for ``scancel`` and ``scontrol
    requeue``; Kubernetes before it removes a pod. Only the main thread can handle signals; in
    others, and where the caller handles SIGTERM, nothing is changed.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def handle(number: int, frame: Any) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
