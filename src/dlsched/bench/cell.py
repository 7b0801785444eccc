"""The runner's side of a worker: one process that is watched, killed and replaced as needed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, Any

import psutil

from dlsched.bench import wire
from dlsched.bench.execution import Outcome, blank_row, now
from dlsched.bench.task import Task
from dlsched.errors import DlschedError

POLL_SECONDS = 0.05
GRACE_SECONDS = 5
"""How long a worker that has closed its connection may take to end."""
MOST_STARTS = 10
"""Attempts at starting a worker for one run; each may be killed from outside."""
START_SECONDS = 300
"""How long a worker may take to be ready, to take a task, or to make its instance."""
GROWN_BYTES = 512 * 2**20
"""A worker that holds so much more than when it was new is replaced after the run."""
MOST_BYTES_PRINTED = 64 * 2**20
_GIB = 2**30
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LAST_WORDS = 300


class Stopped(Exception):
    """The sweep was told to stop; the run at hand was given up."""


class NoWorker(DlschedError):
    """Worker processes that cannot be started; the message has what the last one said."""


class Cell:
    """A worker process for one run at a time; used by one thread.

    Parameters
    ----------
    stop
        When it is set, the run at hand is given up with `Stopped`.
    share
        How many cells share this machine's memory.
    fresh
        Whether every run gets a new process.
    """

    def __init__(self, stop: threading.Event, share: int = 1, fresh: bool = False) -> None:
        self.stop, self.fresh = stop, fresh
        self.memory_bytes = int(0.9 * psutil.virtual_memory().total / share)
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, task: Task) -> Outcome:
        """Return the outcome of a run; a row that says so if its process did not survive it.

        Raises
        ------
        Stopped
            If `stop` was set meanwhile.
        NoWorker
            If no worker can be started.
        """
        self.started = now()
        self._send(task)
        outcome = self._await(task)
        grown = outcome.resident_bytes > self.newborn_bytes + GROWN_BYTES
        if self.fresh or grown or outcome.unclean:
            self.close()
        return outcome

    def close(self) -> None:
        """End the process, with all that it has started."""
        if self.process is None:
            return
        with contextlib.suppress(psutil.Error):  # those that have left its process group, too
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    child.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.tasks)
        self.answers.close()
        self.stderr.close()
        self.process = None

    def _send(self, task: Task) -> None:
        """Hand the task to a worker that lives; one that was killed while idle is replaced."""
        for _ in range(MOST_STARTS):
            if self.stop.is_set():
                self.close()
                raise Stopped
            with contextlib.suppress(EOFError, OSError, wire.Damaged):  # it died meanwhile
                if self.process is None or self.process.poll() is not None:
                    self._start()
                self.stderr.truncate(0)
                self.stderr.seek(0)
                self.mark = wire.new_mark()
                wire.send_task(self.tasks, self.mark, task, START_SECONDS, self.stop)
                return
            words = self._last_words()
            self.close()
        raise NoWorker(f"no worker process can be started: {words or 'they die at once'}")

    def _start(self) -> None:
        """Start a worker and wait until it is ready.

        Raises
        ------
        EOFError
            If it dies before, or takes too long.
        """
        self.close()
        mark = wire.new_mark()
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dlsched.bench.worker", mark.hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            start_new_session=True,  # Ctrl-C is for the runner; killing takes the whole group
        )
        assert self.process.stdin and self.process.stdout
        self.tasks = os.dup(self.process.stdin.fileno())
        self.answers = wire.Inbox(os.dup(self.process.stdout.fileno()))
        self.process.stdin.close()
        self.process.stdout.close()
        deadline = time.monotonic() + START_SECONDS
        while self.answers.poll(mark, POLL_SECONDS) is None:
            if self.stop.is_set() or self.process.poll() is not None or time.monotonic() > deadline:
                raise EOFError
        self.watched = psutil.Process(self.process.pid)
        self.newborn_bytes = self._resident()

    def _await(self, task: Task) -> Outcome:
        limit, looked = task.limits.wall_limit, 0.0
        deadline = time.monotonic() + START_SECONDS + limit
        while True:
            ended = self.process is not None and self.process.poll() is not None
            try:
                found = self.answers.poll(self.mark, POLL_SECONDS)
            except (EOFError, OSError):
                return self._bury(task)
            except wire.Damaged:
                reason = "its answer arrived damaged: something else wrote to the connection"
                return self._give_up(task, "crashed", reason, self._resident())
            if found is not None and "began" in found[0]:  # what it compiled does not count
                deadline = time.monotonic() + limit
                continue
            if found is not None:
                return self._accept(task, *found)
            if ended:  # though what it has forked may keep the connection open
                return self._bury(task)
            if self.stop.is_set():
                self.close()
                raise Stopped
            # A method that writes without an end must not have its memory looked at as often.
            if time.monotonic() >= min(looked + POLL_SECONDS, deadline):
                looked = time.monotonic()
                excess = self._excess(task, looked > deadline)
                if excess:
                    return excess

    def _accept(self, task: Task, data: dict[str, Any], solution: bytes | None) -> Outcome:
        """Return the answer; one to another task is not put down to this one."""
        if data["row"]["key"] != task.key:
            return self._give_up(task, "crashed", "it answered another task", self._resident())
        return Outcome(data["row"], solution, data["resident_bytes"], data["unclean"])

    def _excess(self, task: Task, overdue: bool) -> Outcome | None:
        """Give the run up if it takes too long or too much memory."""
        limits, resident = task.limits, self._resident()
        most = self.memory_bytes
        if limits.memory_limit_gib is not None:
            most = int(limits.memory_limit_gib * _GIB)
        if os.fstat(self.stderr.fileno()).st_size > MOST_BYTES_PRINTED:
            self.stderr.truncate(0)  # a method that prints for hours must not fill the disk
        if overdue:
            reason = f"killed after wall_limit = {limits.wall_limit:g} s"
            return self._give_up(task, "overrun", reason, resident)
        if resident > most:
            reason = f"killed at {resident / _GIB:.2f} GiB, above {most / _GIB:.2f} GiB"
            return self._give_up(task, "memory", reason, resident)
        return None

    def _bury(self, task: Task) -> Outcome:
        """Return the row of a run whose process died by itself or was killed by somebody."""
        assert self.process is not None
        try:
            code = self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # it lives, and nothing will ever come from it
            reason = "it closed the connection to the runner"
            return self._give_up(task, "crashed", reason, self._resident())
        words = self._last_words()
        said = f"; its last words: {words}" if words else ""
        if code < 0:
            name = signal.Signals(-code).name
            outside = -code in _FROM_OUTSIDE
            status, reason = ("killed" if outside else "crashed"), f"by {name}{said}"
        else:
            status, reason = "crashed", f"the process ended itself with status {code}{said}"
        return self._give_up(task, status, reason, None)

    def _give_up(self, task: Task, status: str, reason: str, resident: int | None) -> Outcome:
        self.close()
        row = blank_row(task, status, reason, self.started) | {"peak_memory_bytes": resident}
        return Outcome(row)

    def _resident(self) -> int:
        """Return the resident bytes of the process and of what it has started."""
        total = 0
        with contextlib.suppress(psutil.Error):
            total = self.watched.memory_info().rss
            for child in self.watched.children(recursive=True):
                total += child.memory_info().rss
        return total

    def _last_words(self) -> str:
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - _LAST_WORDS))
        return " ".join(self.stderr.read().decode(errors="replace").split())
