"""The worker's side: a process that makes one run after another until it is told no more.

``python -m dlsched.bench.worker MARK`` takes tasks on stdin and returns answers on stdout, in the
form of `dlsched.bench.wire`; the first answer, with that mark, says that it is ready.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from functools import partial

from dlsched.bench import wire
from dlsched.bench.execution import execute

_WATCH_SECONDS = 0.5


def _end_with_parent(parent: int) -> None:
    """End this process, and what it has started, as soon as its parent is gone."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _leaves_something(threads: int) -> bool:
    """Whether child processes or threads of a run are still there, to disturb the next one."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # it had ended
    except ChildProcessError:
        return threading.active_count() > threads
    return True


def main() -> None:
    """Serve tasks until stdin ends."""
    own = os.getpid()
    tasks, answers = os.dup(0), os.dup(1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what methods print, from C too, must not mix with the answers
    watch = threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True)
    watch.start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides when to stop
    wire.write_all(answers, wire.answer(bytes.fromhex(sys.argv[1]), {}))
    threads = threading.active_count()
    while (message := wire.read_task(tasks)) is not None:
        mark, task = message
        began = wire.answer(mark, {"began": True})
        outcome = execute(task, partial(wire.write_all, answers, began))
        if os.getpid() != own:  # a method has forked, and this is its child
            os._exit(0)
        rest = {"resident_bytes": outcome.resident_bytes, "unclean": _leaves_something(threads)}
        data = {"row": outcome.row, **rest}
        wire.write_all(answers, wire.answer(mark, data, outcome.solution))


if __name__ == "__main__":
    main()
