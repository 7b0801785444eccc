"""The runner's side of a worker process: started, watched, killed and replaced as needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from dlsched.errors import DlschedError, describe
from dlsched.schema.files import JsonObject
from dlsched.sweeps import process_tree, recorder, wire
from dlsched.sweeps.code_identity import differences, has_own_modules
from dlsched.sweeps.execution import Outcome, blank_row, now
from dlsched.sweeps.task import Task

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
_PROGRAM = Path(recorder.__file__)
_FROM_OUTSIDE = [
    getattr(signal, name)
    for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
    if hasattr(signal, name)  # Windows has two of them
]
_LAST_BYTES = 300


class Stopped(Exception):
    """The sweep was stopped, and the current run was abandoned."""


class Unfit(DlschedError):
    """A worker that cannot make a run as it was planned; the message says why."""


class WorkerProcess:
    """A worker process that executes one task at a time; used by one thread.

    Parameters
    ----------
    stop
        When it is set, the current run is abandoned and `Stopped` is raised.
    memory_bytes
        Most resident memory of a run, if its task states no limit.
    fresh
        Whether every run gets a new process.
    name
        For messages.

    Attributes
    ----------
    on_stage
        Called with this object and what it does, ``None`` at the end of a run.
    """

    on_stage: Callable[[object, str | None], None] | None = None

    def __init__(
        self,
        stop: threading.Event,
        memory_bytes: int,
        fresh: bool = False,
        name: str = "a worker process",
    ) -> None:
        self.stop, self.memory_bytes, self.fresh, self.name = stop, memory_bytes, fresh, name
        self.process: subprocess.Popen[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self.folder = ""

    def run(self, task: Task) -> Outcome:
        """Execute a task and return its outcome; if the process ended, a row that states so.

        Raises
        ------
        Stopped
            If `stop` is set.
        Unfit
            If no process can be started, or none that has the planned code.
        """
        self.started = now()
        self._tell(f"{task.instance.name} {task.method}")
        if self.folder != task.folder and has_own_modules(task.code):
            self.close()  # modules of the same name may come from another folder
        reused = self.process is not None
        try:
            outcome = self._attempt(task)
        except Unfit:
            if not reused:
                raise
            outcome = self._attempt(task)  # a new process has imported nothing else
        self._tell(None)
        grown = outcome.resident_bytes > self.initial_bytes + GROWN_BYTES
        if self.fresh or grown or outcome.unclean:
            self.close()
        return outcome

    def _attempt(self, task: Task) -> Outcome:
        """Execute a task in a process that has the planned code; close one that has not."""
        try:
            self._prepare(task)
            return self._receive(task)
        except Unfit:
            self.close()
            raise

    def _prepare(self, task: Task) -> None:
        """Send the task to a process that is alive, and compare the code that it has."""
        printed = ""
        for _ in range(MOST_STARTS):
            if self.stop.is_set():
                self.close()
                raise Stopped
            try:
                if self.process is None or self.process.poll() is not None:
                    self._start()
                    self.folder = task.folder
                ready = self._send(task)
            except (EOFError, OSError, wire.Damaged) as error:  # the process has ended
                printed = self._last_output() or describe(error)
                self.close()
                continue
            if "failure" in ready:
                raise Unfit(f"it cannot be prepared: {ready['failure']}")
            self.code = ready["code"]
            if self.code != task.code:
                raise Unfit(f"it has other code: {differences(task.code, self.code)}")
            return
        raise Unfit(f"no worker process can be started: {printed}")

    def _send(self, task: Task) -> JsonObject:
        """Send a task, and return what the process says of its code."""
        assert self.process is not None and self.stderr is not None
        self.stderr.truncate(0)
        self.stderr.seek(0)
        self.mark = wire.new_mark()
        wire.send_task(self.tasks, self.mark, task, START_SECONDS, self.stop)
        ready: JsonObject = self._await(self.mark)["ready"]
        return ready

    def _await(self, mark: bytes) -> JsonObject:
        """Wait for the first answer with this mark that is no stage.

        Raises
        ------
        EOFError
            If the process ends before.
        Unfit
            If it does not answer within `START_SECONDS`.
        """
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended = self.process.poll() is not None
            answer = self.answers.poll(mark, POLL_SECONDS)
            if answer is not None and "stage" not in answer[0]:
                return answer[0]
            if ended or self.stop.is_set():
                raise EOFError("it ends at once")
            if time.monotonic() > deadline:
                raise Unfit(f"it is not ready after {START_SECONDS} s: {self._last_output()}")

    def close(self) -> None:
        """Kill the process and everything that it has started."""
        if self.stderr is not None:
            self.stderr.close()
            self.stderr = None
        if self.process is None:
            return
        process_tree.kill(self.process)
        os.close(self.tasks)
        self.answers.close()
        self.process = None

    def _tell(self, text: str | None) -> None:
        if self.on_stage:
            self.on_stage(self, text)

    def _start(self) -> None:
        """Start a process and wait until it is ready."""
        if (problem := wire.missing()) is not None:
            raise Unfit(problem)
        self.close()
        mark = wire.new_mark()
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM), mark.hex()],
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
        self._await(mark)
        self.initial_bytes = self._resident_bytes()

    def _receive(self, task: Task) -> Outcome:
        """Wait for the answer; enforce the limits meanwhile."""
        limit, last_check = task.limits.wall_limit, 0.0
        deadline = time.monotonic() + START_SECONDS + limit
        while True:
            ended = self.process is not None and self.process.poll() is not None
            try:
                answer = self.answers.poll(self.mark, POLL_SECONDS)
            except (EOFError, OSError):
                return self._ended(task)
            except wire.Damaged:
                reason = "its answer is damaged: the method wrote to the connection"
                return self._abandon(task, "crashed", reason, self._resident_bytes())
            if answer is not None and "began" in answer[0]:  # making and compiling do not count
                deadline = time.monotonic() + limit
                continue
            if answer is not None and "stage" in answer[0]:
                self._tell(f"{task.instance.name} {task.method}: {answer[0]['stage']}")
                continue
            if answer is not None:
                return self._accept(task, *answer)
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

    def _accept(self, task: Task, data: JsonObject, solution: bytes | None) -> Outcome:
        """Return the answer, if it belongs to this task."""
        if data["row"]["key"] != task.key:
            reason = "it answered another task"
            return self._abandon(task, "crashed", reason, self._resident_bytes())
        if data["refused"]:
            names = ", ".join(data["refused"])
            raise Unfit(f"it has other code: {names} changed before it was imported")
        return Outcome(
            data["row"], solution, data["resident_bytes"], data["unclean"], code=self.code
        )

    def _check_limits(self, task: Task, timed_out: bool) -> Outcome | None:
        """Abandon the run if it takes too long or too much memory."""
        limits, resident = task.limits, self._resident_bytes()
        stated = limits.memory_limit_gib
        most = self.memory_bytes if stated is None else int(stated * _GIB)
        assert self.stderr is not None
        if os.fstat(self.stderr.fileno()).st_size > MOST_BYTES_PRINTED:
            self.stderr.truncate(0)  # output must not fill the disk
        if timed_out:
            reason = f"killed after wall_limit = {limits.wall_limit:g} s"
            return self._abandon(task, "wall_timeout", reason, resident)
        if resident > most:
            reason = f"killed at {resident / _GIB:.2f} GiB, above {most / _GIB:.2f} GiB"
            if stated is not None:
                return self._abandon(task, "memory", reason, resident)
            where = "this machine's share for a run; its suite states no memory_limit_gib"
            return self._abandon(task, "killed", f"{reason}, {where}", resident)
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
        return Outcome(row, code=self.code)

    def _resident_bytes(self) -> int:
        return process_tree.resident_bytes(self.process) if self.process else 0

    def _last_output(self) -> str:
        if self.stderr is None:
            return ""
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - _LAST_BYTES))
        return " ".join(self.stderr.read().decode(errors="replace").split())
