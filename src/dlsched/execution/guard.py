"""A call in a process of its own, with limits: it ends as one of a few statuses, whatever it does.

The process is forked from a server that has imported the library (`multiprocessing`'s forkserver),
so that it is ready in milliseconds; where there is none (Windows), or where it imported code that
was changed since, a new interpreter is started. The answer comes through a file in a folder of the
call's own, which the call knows nothing of: what it writes to open files disturbs nobody.
"""

import contextlib
import importlib
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

from dlsched.errors import DlschedError, describe, plain
from dlsched.execution import sources
from dlsched.extras import require

POLL_SECONDS = 0.05
START_SECONDS = 300
"""Time for a call to begin, which its wall limit does not count."""
MOST_PRINTED = 64 * 2**20
"""Bytes of output that are kept, so that a call does not fill the disk."""
LOST = 255
"""The status of a process whose server was killed, as `multiprocessing` has it."""
_GIB = 2**30
_LISTED = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
_LAST_BYTES = 300
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
_starting = threading.RLock()
"""Held while a process is started or asked for its status, which has no lock of its own."""
_server: list[str] = []
"""The identity of the library that the server has imported, once it runs."""


class CallFailed(DlschedError):
    """A process that ended within a call."""


@dataclass(frozen=True)
class Ended:
    """How a call ended.

    Attributes
    ----------
    status
        ``done``, ``raised``, ``wall_timeout``, ``memory``, ``killed`` (from outside), ``crashed``
        or ``stopped``.
    value
        What it returned or raised.
    reason
        What else there is to say.
    peak
        Resident bytes when it was killed here.
    """

    status: str
    value: Any = None
    reason: str = ""
    peak: int | None = None

    def result(self) -> Any:
        """Return what the call returned, or raise.

        Raises
        ------
        CallFailed
            If its process ended before. What the call raised is raised as well.
        """
        if self.status == "raised":
            raise self.value
        if self.status != "done":
            raise CallFailed(f"a call failed: {self.reason or self.status}")
        return self.value


def guarded(
    function: Callable[..., Any],
    *arguments: Any,
    wall: float | None = None,
    memory: int | None = None,
    stop: threading.Event | None = None,
) -> Ended:
    """Call a function in a process of its own.

    Parameters
    ----------
    function, arguments
        What can be pickled. The function may call `begin`.
    wall
        Seconds from `begin` after which the process is killed.
    memory
        Resident bytes, of the process and what it has started, above which it is killed.
    stop
        When it is set the process is killed.
    """
    content = pickle.dumps((list(sys.path), dict(os.environ), function, arguments))
    folder = tempfile.mkdtemp(prefix="dlsched-")
    try:
        return _Call(Path(folder), content).watch(wall, memory, stop)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start_server(*preload: str) -> None:
    """Start the server that processes are forked from, with modules that it imports, once."""
    with _starting:
        if not _server and "forkserver" in multiprocessing.get_all_start_methods():
            modules = [__name__, "dlsched.api", *preload]
            if multiprocessing.get_start_method(allow_none=True) == "loky":
                modules.append("loky.backend.context")  # where processes learn this name
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(modules)
            _server.append(sources.library_identity())
            with _without_main():
                importlib.import_module("multiprocessing.forkserver").ensure_running()


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the caller's script, which need not be protected against being imported again.

    And that this process is a daemon, as a Dask worker under a nanny: its own end ends the calls.
    """
    main, config = sys.modules["__main__"], multiprocessing.current_process()._config  # type: ignore[attr-defined]
    daemon = config.pop("daemon", None)
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if daemon is not None:
            config["daemon"] = daemon


class _Call:
    """The process of a call, as the caller sees it."""

    def __init__(self, folder: Path, content: bytes) -> None:
        self.folder, self.known = folder, dict[int, Any]()
        with _starting:
            start_server()
            fresh = not _server or _server[0] != sources.library_identity(age=1)
            context: Any = multiprocessing.get_context("spawn" if fresh else "forkserver")
            self.process = context.Process(target=_serve, args=(str(folder), content))
            with _without_main():
                self.process.start()

    def watch(self, wall: float | None, memory: int | None, stop: threading.Event | None) -> Ended:
        """Wait for the end, or bring it about."""
        begun = False
        deadline = time.monotonic() + START_SECONDS
        try:
            while not connection.wait([self.process.sentinel], timeout=POLL_SECONDS):
                if stop is not None and stop.is_set():
                    return Ended("stopped")
                if not begun and (self.folder / "begun").exists():
                    begun = True
                    deadline = time.monotonic() + (wall or float("inf"))
                resident = self._resident()
                if wall is not None and time.monotonic() > deadline:
                    what = f"killed after wall_limit = {wall:g} s"
                    if not begun:
                        what = f"killed as it had not begun after {START_SECONDS} s"
                    return Ended("wall_timeout", reason=what, peak=resident)
                if memory is not None and resident > memory:
                    what = f"killed at {resident / _GIB:.2f} GiB, above {memory / _GIB:.2f} GiB"
                    return Ended("memory", reason=what, peak=resident)
                with contextlib.suppress(OSError):
                    if os.stat(self.folder / "output").st_size > MOST_PRINTED:
                        os.truncate(self.folder / "output", 0)
            return self._ended()
        finally:
            self._kill()

    def _ended(self) -> Ended:
        with _starting:
            code: int = self.process.exitcode
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            if not code:
                return Ended(*pickle.loads((self.folder / "answer").read_bytes()))
        printed = ""
        with contextlib.suppress(OSError):
            last = (self.folder / "output").read_bytes()[-_LAST_BYTES:]
            printed = " ".join(last.decode(errors="replace").split())
        output = f"; its last output: {plain(printed)}" if printed else ""
        if code == LOST:
            return Ended("killed", reason=f"its process or the server of it was lost{output}")
        if code >= 0:
            return Ended("crashed", reason=f"the process ended with status {code}{output}")
        name = signal.Signals(-code).name
        return Ended("killed" if name in _FROM_OUTSIDE else "crashed", reason=f"by {name}{output}")

    def _resident(self) -> int:
        """Return the resident bytes of the process and what it has started; remember these."""
        total = 0
        for pid in (self.process.pid, *_descendants(self.process.pid)):
            with contextlib.suppress(_psutil().Error):  # it has ended
                process = self.known.setdefault(pid, _psutil().Process(pid))
                total += process.memory_info().rss
        return total

    def _kill(self) -> None:
        """Kill the process, its group, and all that it was seen to start."""
        if not connection.wait([self.process.sentinel], timeout=0):
            self._resident()
        for process in self.known.values():
            with contextlib.suppress(_psutil().Error):  # it never kills a newer one of the number
                process.kill()
        with contextlib.suppress(AttributeError, ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        connection.wait([self.process.sentinel], timeout=START_SECONDS)
        with _starting:
            self.process.join()
            self.process.close()


_folder: Path | None = None
"""In the process of a call: its folder."""


def begin() -> None:
    """Say that the call begins, for its wall limit: what was before does not count."""
    if _folder is not None:
        (_folder / "begun").touch()


def _serve(folder: str, content: bytes) -> None:
    """Be the process of a call."""
    global _folder
    _folder, process = Path(folder), os.getpid()
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C reaches the caller only
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _close_pipes()
    threading.Thread(target=_end_with_caller, args=(folder,), daemon=True).start()
    output = os.open(_folder / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    try:
        sys.path[:], variables, function, arguments = pickle.loads(content)
        _set_variables(variables)  # those of the server may be of long ago
        answer = "done", function(*arguments)
    except (Exception, SystemExit) as error:
        answer = "raised", error
    if os.getpid() != process:  # a child that the call has forked
        os._exit(0)
    try:
        written = pickle.dumps(answer)
        pickle.loads(written)  # exceptions of some classes cannot be made again
    except Exception as error:  # whatever a class of others does when it is pickled
        cause = answer[1] if answer[0] == "raised" else error
        written = pickle.dumps(("raised", CallFailed(describe(cause))))
    _kill_children()
    (_folder / "answer").write_bytes(written)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)  # without waiting for threads that the call has left


def _close_pipes() -> None:
    """Close pipes to the server of processes, which a call that writes anywhere would disturb."""
    for module, holder, name in (
        ("forkserver", "_forkserver", "_forkserver_alive_fd"),
        ("resource_tracker", "_resource_tracker", "_fd"),
    ):
        held = getattr(importlib.import_module(f"multiprocessing.{module}"), holder, None)
        if getattr(held, name, None) is not None:
            os.close(getattr(held, name))
            setattr(held, name, None)


def _set_variables(variables: Mapping[str, str]) -> None:
    """Give this process environment variables, as those of its caller."""
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def _end_with_caller(folder: str) -> None:
    """End this process, also within a call, as soon as the one that asked for it has ended."""
    caller = multiprocessing.parent_process()
    assert caller is not None
    try:
        caller.join()
    except OSError:  # the call has closed what it did not open
        return
    shutil.rmtree(folder, ignore_errors=True)
    _kill_children()
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _kill_children() -> None:
    """Kill what this process has started."""
    for pid in list(_descendants(os.getpid())):
        with contextlib.suppress(_psutil().Error):
            _psutil().Process(pid).kill()


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started.

    Linux lists the children of a thread in a file. Psutil reads the parent of every process of the
    machine instead, which takes a hundred times as long with 70 processes.
    """
    if not _LISTED.exists():
        with contextlib.suppress(_psutil().Error):
            yield from (child.pid for child in _psutil().Process(pid).children(recursive=True))
        return
    with contextlib.suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                yield int(child)
                yield from _descendants(int(child))


def _psutil() -> Any:
    return require("psutil", "a call with limits")


__all__ = ["CallFailed", "Ended", "begin", "guarded", "start_server"]
