"""The program of a worker process, which executes one task after another until stdin ends.

``python -m dlsched.bench.worker MARK`` reads tasks from stdin and writes answers to stdout in the
format of `dlsched.bench.wire`. The first answer, with that mark, states that it is ready.
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
    """Kill this process and those that it has started as soon as the parent process has ended."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _leaves_something(threads: int) -> bool:
    """Whether a run has left child processes or threads, which could disturb the next one."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # a child that has ended
    except ChildProcessError:
        return threading.active_count() > threads
    return True


def main() -> None:
    """Execute tasks until stdin ends."""
    own = os.getpid()
    tasks, answers = os.dup(0), os.dup(1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # output of methods, from C too, goes to stderr
    watch = threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True)
    watch.start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner handles Ctrl-C
    wire.write_all(answers, wire.answer(bytes.fromhex(sys.argv[1]), {}))
    threads = threading.active_count()
    while (message := wire.read_task(tasks)) is not None:
        mark, task = message
        began = wire.answer(mark, {"began": True})
        outcome = execute(task, partial(wire.write_all, answers, began))
        if os.getpid() != own:  # this is a child process that a method has forked
            os._exit(0)
        rest = {"resident_bytes": outcome.resident_bytes, "unclean": _leaves_something(threads)}
        data = {"row": outcome.row, **rest}
        wire.write_all(answers, wire.answer(mark, data, outcome.solution))


if __name__ == "__main__":
    main()
