"""The runner's side of a worker process: started, watched, killed and replaced as needed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from dlsched.bench import wire
from dlsched.bench.execution import Outcome, blank_row, now
from dlsched.bench.task import Task
from dlsched.errors import DlschedError

if TYPE_CHECKING:
    import psutil

POLL_SECONDS = 0.05
GRACE_SECONDS = 5
"""Time for a worker process that has closed its connection to end."""
MOST_STARTS = 10
"""Attempts to start a worker process for one run, each of which may be killed from outside."""
START_SECONDS = 300
"""Time for a worker process to be ready, to read a task, or to make its instance."""
GROWN_BYTES = 512 * 2**20
"""A worker process that has grown by more than this is replaced after the run."""
MOST_BYTES_PRINTED = 64 * 2**20
_GIB = 2**30
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LAST_BYTES = 300


class Stopped(Exception):
    """The sweep was stopped, and the current run was abandoned."""


class NoWorker(DlschedError):
    """No worker process can be started; the message has the last one's output."""


class WorkerProcess:
    """A worker process that executes one task at a time; used by one thread.

    Parameters
    ----------
    stop
        When it is set, the current run is abandoned and `Stopped` is raised.
    share
        Number of worker processes that share this machine's memory.
    fresh
        Whether every run gets a new process.

    Attributes
    ----------
    on_stage
        Called with this object and what it does, ``None`` at the end of a run.
    """

    on_stage: Callable[[object, str | None], None] | None = None

    def __init__(self, stop: threading.Event, share: int = 1, fresh: bool = False) -> None:
        import psutil

        self.stop, self.fresh = stop, fresh
        self.memory_bytes = int(0.9 * psutil.virtual_memory().total / share)
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, task: Task) -> Outcome:
        """Execute a task and return its outcome; if the process ended, a row that states so.

        Raises
        ------
        Stopped
            If `stop` is set.
        NoWorker
            If no worker process can be started.
        """
        self.started = now()
        self._tell(f"{task.instance.name} {task.method}")
        self._send(task)
        outcome = self._receive(task)
        self._tell(None)
        grown = outcome.resident_bytes > self.initial_bytes + GROWN_BYTES
        if self.fresh or grown or outcome.unclean:
            self.close()
        return outcome

    def close(self) -> None:
        """Kill the process and everything that it has started."""
        import psutil

        if self.process is None:
            return
        for child in self._tree()[1:]:  # also those that have left its process group
            with contextlib.suppress(psutil.Error):
                child.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.tasks)
        self.answers.close()
        self.stderr.close()
        self.process = None

    def _tell(self, text: str | None) -> None:
        if self.on_stage:
            self.on_stage(self, text)

    def _send(self, task: Task) -> None:
        """Send the task to a process that is alive; start one if there is none."""
        for _ in range(MOST_STARTS):
            if self.stop.is_set():
                self.close()
                raise Stopped
            with contextlib.suppress(EOFError, OSError, wire.Damaged):  # the process has ended
                if self.process is None or self.process.poll() is not None:
                    self._start()
                self.stderr.truncate(0)
                self.stderr.seek(0)
                self.mark = wire.new_mark()
                wire.send_task(self.tasks, self.mark, task, START_SECONDS, self.stop)
                return
            printed = self._last_output()
            self.close()
        raise NoWorker(f"no worker process can be started: {printed or 'it ends at once'}")

    def _start(self) -> None:
        """Start a process and wait until it is ready.

        Raises
        ------
        EOFError
            If it ends before, or is not ready after `START_SECONDS`.
        """
        self.close()
        mark = wire.new_mark()
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dlsched.bench.worker", mark.hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            start_new_session=True,  # Ctrl-C reaches the runner only; killing reaches the group
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
        self.initial_bytes = self._resident_bytes()

    def _receive(self, task: Task) -> Outcome:
        """Wait for the answer; enforce the limits meanwhile."""
        limit, last_check = task.limits.wall_limit, 0.0
        deadline = time.monotonic() + START_SECONDS + limit
        while True:
            ended = self.process is not None and self.process.poll() is not None
            try:
                found = self.answers.poll(self.mark, POLL_SECONDS)
            except (EOFError, OSError):
                return self._ended(task)
            except wire.Damaged:
                reason = "its answer is damaged: the method wrote to the connection"
                return self._abandon(task, "crashed", reason, self._resident_bytes())
            if found is not None and "began" in found[0]:  # making and compiling do not count
                deadline = time.monotonic() + limit
                continue
            if found is not None and "stage" in found[0]:
                self._tell(f"{task.instance.name} {task.method}: {found[0]['stage']}")
                continue
            if found is not None:
                return self._accept(task, *found)
            if ended:  # a child process may keep the connection open
                return self._ended(task)
            if self.stop.is_set():
                self.close()
                raise Stopped
            # Output of the method ends a poll early, and measuring memory takes milliseconds.
            if time.monotonic() >= min(last_check + POLL_SECONDS, deadline):
                last_check = time.monotonic()
                excess = self._check_limits(task, last_check > deadline)
                if excess:
                    return excess

    def _accept(self, task: Task, data: dict[str, Any], solution: bytes | None) -> Outcome:
        """Return the answer, if it belongs to this task."""
        if data["row"]["key"] != task.key:
            reason = "it answered another task"
            return self._abandon(task, "crashed", reason, self._resident_bytes())
        return Outcome(data["row"], solution, data["resident_bytes"], data["unclean"])

    def _check_limits(self, task: Task, timed_out: bool) -> Outcome | None:
        """Abandon the run if it takes too long or too much memory."""
        limits, resident = task.limits, self._resident_bytes()
        most = self.memory_bytes
        if limits.memory_limit_gib is not None:
            most = int(limits.memory_limit_gib * _GIB)
        if os.fstat(self.stderr.fileno()).st_size > MOST_BYTES_PRINTED:
            self.stderr.truncate(0)  # output must not fill the disk
        if timed_out:
            reason = f"killed after wall_limit = {limits.wall_limit:g} s"
            return self._abandon(task, "wall_timeout", reason, resident)
        if resident > most:
            reason = f"killed at {resident / _GIB:.2f} GiB, above {most / _GIB:.2f} GiB"
            return self._abandon(task, "memory", reason, resident)
        return None

    def _ended(self, task: Task) -> Outcome:
        """Return the row of a run whose process has ended or closed its connection."""
        assert self.process is not None
        try:
            code = self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            reason = "it closed the connection to the runner"
            return self._abandon(task, "crashed", reason, self._resident_bytes())
        printed = self._last_output()
        output = f"; its last output: {printed}" if printed else ""
        if code < 0:
            name = signal.Signals(-code).name
            outside = -code in _FROM_OUTSIDE
            status, reason = ("killed" if outside else "crashed"), f"by {name}{output}"
        else:
            status, reason = "crashed", f"the process ended with status {code}{output}"
        return self._abandon(task, status, reason, None)

    def _abandon(self, task: Task, status: str, reason: str, resident: int | None) -> Outcome:
        self.close()
        row = blank_row(task, status, reason, self.started) | {"peak_memory_bytes": resident}
        return Outcome(row)

    def _tree(self) -> list[psutil.Process]:
        """Return the process and all that it has started; nothing if it has ended."""
        import psutil

        if self.process is not None:
            with contextlib.suppress(psutil.Error):
                first = psutil.Process(self.process.pid)
                return [first, *first.children(recursive=True)]
        return []

    def _resident_bytes(self) -> int:
        """Return the resident memory of the process and of those that it has started."""
        import psutil

        total = 0
        for process in self._tree():
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
        return total

    def _last_output(self) -> str:
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - _LAST_BYTES))
        return " ".join(self.stderr.read().decode(errors="replace").split())
