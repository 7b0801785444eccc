"""The worker's side: a process that makes one run after another until it is told no more.

``python -m dlsched.bench.worker`` takes tasks on stdin and returns outcomes on stdout, pickled.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing.connection import Connection

from dlsched.bench.execution import execute

_WATCH_SECONDS = 0.5


def _end_with_parent(parent: int) -> None:
    """End this process, and what it has started, as soon as its parent is gone."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Serve tasks until stdin ends."""
    tasks, answers = Connection(os.dup(0)), Connection(os.dup(1))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what methods print, from C too, must not mix with the answers
    watch = threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True)
    watch.start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides when to stop
    answers.send(None)  # ready
    while True:
        try:
            task = tasks.recv()
        except EOFError:
            return
        answers.send(execute(task))


if __name__ == "__main__":
    main()
