"""Independent calls of one function, on this machine or on a Dask cluster.

For single problems that fall into parts. What the calls have in common is sent once to each worker.
A process of this machine is a fresh interpreter that imports only what it unpickles, so that the
caller's script needs no guard against being imported again.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import IO, Any

from dlsched.errors import DlschedError
from dlsched.sweeps.dask_client import client_of

POLL_SECONDS = 0.2
"""How often it is asked whether to stop."""
_LENGTH = struct.Struct("!Q")
_WORKER = "from dlsched.sweeps.calls import serve; serve()"


class CallsFailed(DlschedError):
    """A worker that ended within a call."""


def in_processes(
    jobs: int,
    function: Callable[[Any, Any], Any],
    shared: Any,
    items: Sequence[Any],
    stop: Callable[[], object],
) -> list[Any] | None:
    """Return ``function(shared, item)`` of each item, in order; None if there was a reason to stop.

    Parameters
    ----------
    jobs
        Number of processes of this machine.
    function
        One that workers can import. What it raises is raised here.
    stop
        Asked from time to time; what it returns is a reason to abandon the calls, or false.

    Raises
    ------
    CallsFailed
        If a process ends within a call.
    """
    jobs = max(1, min(jobs, len(items)))
    begin = sys.path, pickle.dumps((function, shared))
    processes: list[_Process] = []
    free = queue.SimpleQueue[_Process]()

    def call(item: Any) -> Any:
        process = free.get()  # there is one: as many threads as processes
        try:
            return process.call(item)
        finally:
            free.put(process)  # a thread that waits for one would keep the interpreter from ending

    pool = ThreadPoolExecutor(jobs)
    try:
        for _ in range(jobs):
            processes.append(_Process(begin))
            free.put(processes[-1])
        return _gathered([pool.submit(call, item) for item in items], stop)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.end()
        pool.shutdown()  # the current calls have ended with their processes


def _gathered(futures: Sequence[Future[Any]], stop: Callable[[], object]) -> list[Any] | None:
    """Return the results, unless there is a reason to stop before."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        if pending and stop():
            return None
    return [future.result() for future in futures]


class _Process:
    """A process of this machine that answers one call after another."""

    def __init__(self, begin: tuple[list[str], bytes]) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self.to: IO[bytes] = self.popen.stdin
        self.back: IO[bytes] = self.popen.stdout
        self.begin: tuple[list[str], bytes] | None = begin

    def call(self, item: Any) -> Any:
        """Return or raise what the function does."""
        try:
            if self.begin is not None:
                _put(self.to, self.begin)
                self.begin = None
            _put(self.to, item)
            raised, answer = _get(self.back)
        except (OSError, EOFError):
            raise CallsFailed(
                f"a process of this machine ended with status {self.popen.wait()} within a call"
            ) from None
        if raised:
            raise answer
        return answer

    def end(self) -> None:
        """End the process, also within a call."""
        self.popen.kill()
        self.popen.wait()
        with contextlib.suppress(OSError):
            self.to.close()
        self.back.close()


def _end_with_parent(parent: int) -> None:
    """End this process, also within a call, as soon as its parent has ended."""
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def serve() -> None:
    """Answer calls from stdin, until it is closed; what is printed goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller handles Ctrl-C, and ends this process
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    source = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path[:], content = _get(source)
    function, shared = pickle.loads(content)
    while True:
        try:
            item = _get(source)
        except EOFError:
            return
        try:
            answer = False, function(shared, item)
        except Exception as error:
            answer = True, error
        _put(answers, answer)


def _put(stream: IO[bytes], content: Any) -> None:
    message = pickle.dumps(content)
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _get(stream: IO[bytes]) -> Any:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    message = stream.read(length)
    if len(message) < length:
        raise EOFError
    return pickle.loads(message)


def on_dask(
    cluster: Any,
    security: Any,
    function: Callable[[Any, Any], Any],
    shared: Any,
    items: Sequence[Any],
    stop: Callable[[], object],
) -> list[Any] | None:
    """Return the same from the workers of a Dask cluster.

    Parameters
    ----------
    cluster, security
        As for `client_of`, which says what it raises.
    """
    client, own = client_of(cluster, security)
    try:
        with _cancelled_at_exit(client, function, shared, items) as futures:
            while not all(future.done() for future in futures):
                if any(future.status == "error" for future in futures) or stop():
                    break
                time.sleep(POLL_SECONDS)
            for future in futures:
                if future.status == "error":
                    future.result()
            if not all(future.done() for future in futures):
                return None
            return list(client.gather(futures))
    finally:
        if own:
            client.close()


@contextlib.contextmanager
def _cancelled_at_exit(
    client: Any, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]
) -> Iterator[list[Any]]:
    """Give the calls that were submitted; those that are left at the end are cancelled."""
    sent = client.scatter(shared, broadcast=False, hash=False)
    futures = [client.submit(function, sent, item, pure=False) for item in items]
    try:
        yield futures
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.cancel([*futures, sent])
