"""The program of a worker process, which executes one task after another until stdin ends.

Started by `dlsched.sweeps.recorder`, it reads tasks from stdin and writes answers to stdout in the
format of `dlsched.sweeps.wire`. The first answer, with the mark that the program was started with,
states that it is ready. The first one to a task has the identity of the code that this process has.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from functools import partial

from dlsched.errors import describe
from dlsched.execution import sources
from dlsched.schema.files import JsonObject
from dlsched.sweeps import wire
from dlsched.sweeps.execution import execute, set_up
from dlsched.sweeps.task import Task

_WATCH_SECONDS = 0.5
_TELL_SECONDS = 0.5
"""How often the runner is told what is done, by a thread, so that short runs are not disturbed."""


class _Teller(logging.Handler):
    """Sends messages to the runner: answers, and what the log says of a task's stages."""

    def __init__(self, answers: int) -> None:
        super().__init__(logging.INFO)
        self.answers, self.writing = answers, threading.Lock()
        self.mark, self.stage, self.told = b"", "", ""
        threading.Thread(target=self._tell, daemon=True).start()

    def begin(self, mark: bytes) -> None:
        """Begin a task, whose messages have this mark."""
        self.mark, self.stage, self.told = mark, "", ""

    def emit(self, record: logging.LogRecord) -> None:
        """Remember a stage, or how far the search is."""
        if hasattr(record, "stage"):
            self.stage = record.getMessage()

    def send(self, data: JsonObject, content: bytes | None = None, last: bool = False) -> None:
        """Send a message; none of the task follows the last one."""
        with self.writing:
            wire.write_all(self.answers, wire.answer(self.mark, data, content))
            if last:
                self.mark = b""

    def _tell(self) -> None:
        while True:
            time.sleep(_TELL_SECONDS)
            with self.writing, contextlib.suppress(OSError):
                stage = self.stage
                if self.mark and stage != self.told:
                    wire.write_all(self.answers, wire.answer(self.mark, {"stage": stage}))
                    self.told = stage


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


def _set_up(task: Task) -> JsonObject:
    """Return the code that this process has for a task, or why it cannot be prepared."""
    try:
        return {"code": dict(set_up(task))}
    except (Exception, SystemExit) as error:  # importing runs the user's code
        return {"failure": describe(error)}


def main(seen: dict[str, str], refused: list[str]) -> None:
    """Execute tasks until stdin ends; what modules came from is in the lists of `recorder`."""
    process = os.getpid()
    tasks, answers = os.dup(0), os.dup(1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # output of methods, from C too, goes to stderr
    watch = threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True)
    watch.start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner handles Ctrl-C
    sources.seen = seen
    wire.write_all(answers, wire.answer(bytes.fromhex(sys.argv[1]), {}))
    teller = _Teller(answers)
    logger = logging.getLogger("dlsched")
    logger.setLevel(logging.INFO)
    logger.addHandler(teller)
    threads = threading.active_count()
    while (message := wire.read_task(tasks)) is not None:
        mark, task = message
        teller.begin(mark)
        ready = _set_up(task)
        unplanned = ready.get("code") != dict(task.code)
        teller.send({"ready": ready}, last=unplanned)
        if unplanned:
            continue
        outcome = execute(task, partial(teller.send, {"began": True}))
        if os.getpid() != process:  # this is a child process that a method has forked
            os._exit(0)
        rest = {
            "resident_bytes": outcome.resident_bytes,
            "unclean": _leaves_something(threads),
            "refused": refused,
        }
        teller.send({"row": outcome.row, **rest}, outcome.solution, last=True)
