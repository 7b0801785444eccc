"""Executors of `concurrent.futures`, and independent calls on any of them.

Whatever has futures runs calls of the library: processes of this machine (`Local`), the workers of
Dask, loky, mpi4py, or jobs of a batch system by submitit.
"""

import contextlib
import operator
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, Generic, NamedTuple, TypeVar

from dlsched.errors import OptionError, describe, spelled
from dlsched.execution.guard import CallFailed, guarded, start_server
from dlsched.extras import require

POLL_SECONDS = 0.2
"""How often it is asked whether to stop."""
CHUNK_SECONDS = 1.0
"""What the calls of a chunk take together, about: less than a user waits for an answer."""
MOST_OF_CHUNK = 256
"""Calls for each of these seconds."""
CONNECT_SECONDS = 10
LOST_SECONDS = 15
"""How long the scheduler of Dask may be unreachable."""
_LOOK_SECONDS = 2.0
"""How often it is looked which workers there are."""
DASK_WORKER = "Dask worker"
UNKNOWN_WORKERS = 16
"""What an executor that does not say how many workers it has is thought to have."""
Item = TypeVar("Item")


def whole_number(name: str, value: Any, least: int) -> int:
    """Return an option that is a whole number of at least so much, or raise `OptionError`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise OptionError(f"{name}={spelled(value)} must be a whole number") from None
    if number < least:
        raise OptionError(f"{name}={number} must be at least {least}")
    return number


class Local(Executor):
    """This machine: each call in a process of its own, which `guarded` starts.

    Parameters
    ----------
    jobs
        Number of calls at a time. Times are comparable only if each has a core of its own.

    Raises
    ------
    OptionError
        If `jobs` is no whole number, or below 1.
    """

    def __init__(self, jobs: int = 1) -> None:
        self._max_workers = whole_number("jobs", jobs, 1)
        self.stop = threading.Event()
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Call a function in a process; see `Executor.submit`."""
        if self._pool is None:
            start_server()
            self.stop.clear()
            self._pool = ThreadPoolExecutor(self._max_workers)
        return self._pool.submit(self._call, partial(function, **named), arguments)

    def _call(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        return guarded(function, *arguments, stop=self.stop).result()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End; with `cancel_futures` current calls end as well. It may be used again."""
        if cancel_futures:
            self.stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)
            self._pool = None


class Submitit(Executor):
    """The jobs of an executor of submitit, with its parameters set: each chunk of calls is a job.

    `jobs` is the largest number of them at a time.
    """

    chunk_seconds, first_chunk = 60.0, 32  # a job is a new interpreter, which takes seconds

    def __init__(self, executor: Any, jobs: int = UNKNOWN_WORKERS) -> None:
        self.executor, self._max_workers = executor, jobs
        self._jobs: dict[Future[Any], Any] = {}
        self._watch: threading.Thread | None = None
        self._ended = threading.Event()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Submit a job; see `Executor.submit`."""
        future: Future[Any] = Future()
        self._jobs[future] = self.executor.submit(function, *arguments, **named)
        if self._watch is None:
            self._watch = threading.Thread(target=self._wait, daemon=True)
            self._watch.start()
        return future

    def _wait(self) -> None:
        """Give each job's result to its future."""
        while self._jobs or not self._ended.wait(POLL_SECONDS):
            for future, job in list(self._jobs.items()):
                if future.cancelled():
                    job.cancel()
                elif not job.done():
                    continue
                else:
                    try:
                        future.set_result(job.result())
                    except Exception as error:
                        future.set_exception(error)
                self._jobs.pop(future, None)
            time.sleep(POLL_SECONDS)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End; with `cancel_futures` the jobs are cancelled."""
        for future, job in list(self._jobs.items()) if cancel_futures else ():
            self._jobs.pop(future, None)
            job.cancel(check=False)
        self._ended.set()
        if wait and self._watch is not None:
            self._watch.join()


@contextlib.contextmanager
def executor_of(on: Any, jobs: int = 1) -> Iterator[Executor]:
    """Give the executor that `on` means; one that is made for it ends with the block.

    Parameters
    ----------
    on
        An executor, a client, a cluster or the address of a scheduler of Dask, or its file, an
        executor of submitit; None for `jobs` processes of this machine.

    Raises
    ------
    ExtraMissing
        If dask.distributed is not installed.
    OptionError
        If it is nothing of all that, or there is no such scheduler.
    """
    validate_executor(on, jobs)
    if on is None or isinstance(on, Local):
        own = on or Local(jobs)
        try:
            yield own
        finally:
            own.shutdown(cancel_futures=True)
    elif isinstance(on, Executor):
        yield on
    elif hasattr(on, "update_parameters"):
        jobs_of_it = Submitit(on)
        try:
            yield jobs_of_it
        finally:
            jobs_of_it.shutdown(wait=False)
    elif hasattr(on, "get_executor"):  # a client of Dask
        yield on.get_executor(pure=False)
    else:
        with dask_client(on) as client:
            yield client.get_executor(pure=False)


def validate_executor(on: Any, jobs: int = 1) -> None:
    """Raise `OptionError` if `on` is nothing that `executor_of` takes."""
    if on is not None and jobs != 1:
        raise OptionError("on= says where the runs are made; leave out jobs=")
    kinds = ("update_parameters", "get_executor", "scheduler_address")
    known = on is None or isinstance(on, Executor | str | os.PathLike)
    if not known and not any(hasattr(on, name) for name in kinds):
        raise OptionError(f"on={spelled(on)} is no executor of concurrent.futures, nor of Dask")


@contextlib.contextmanager
def dask_client(cluster: Any) -> Iterator[Any]:
    """Give a client of a Dask cluster, or of the scheduler at an address or of a file."""
    distributed = require("distributed", "--dask")
    place = os.fspath(cluster) if isinstance(cluster, os.PathLike) else cluster
    named = isinstance(place, str) and os.path.isfile(place)
    where = {"scheduler_file" if named else "address": place}
    try:
        client = distributed.Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise OptionError(f"no Dask scheduler at {cluster}: {describe(error)}") from None
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.close(timeout=CONNECT_SECONDS)


class Answer(NamedTuple, Generic[Item]):
    """What has become of a chunk: the results of all its items, or an error of its worker."""

    items: list[Item]
    results: Sequence[Any]
    error: BaseException | None = None


class Chunks(Generic[Item]):
    """Calls of a function for many items, some at a time: chunks of about a second.

    Attributes
    ----------
    queue
        The items that are left; those to be tried again can be put back.
    left_out
        Workers of Dask that get no calls, and why: as ``Dask worker tcp://...``.
    all_left_out
        Whether there are such workers, and no others.
    """

    def __init__(
        self, function: Callable[[Item], Any], items: Iterable[Item], executor: Executor
    ) -> None:
        self.executor, self.queue = executor, deque(items)
        self.here = isinstance(executor, ThreadPoolExecutor)
        self.called = function if self.here else pickle.dumps(function)
        self.flying: dict[Future[Any], list[Item]] = {}
        self.seconds = getattr(executor, "chunk_seconds", CHUNK_SECONDS)
        self.size = self.least = getattr(executor, "first_chunk", 1)
        self.left_out: dict[str, str] = {}
        self.seen: set[str] = set()
        self.workers, self.all_left_out, self.answered = 0, False, time.monotonic()
        self.look()

    def __bool__(self) -> bool:
        """Whether something is left."""
        return bool(self.queue or self.flying)

    def look(self) -> None:
        """Look how many workers there are.

        Raises
        ------
        BrokenExecutor
            If the scheduler of Dask has not been there for `LOST_SECONDS`.
        """
        client = getattr(self.executor, "_client", None)
        now = self.asked = time.monotonic()
        if client is None:
            self.workers = int(getattr(self.executor, "_max_workers", 0) or UNKNOWN_WORKERS)
            return
        if client.status == "running":
            with contextlib.suppress(Exception):  # the scheduler may be gone
                known = {f"{DASK_WORKER} {w}": n for w, n in client.nthreads().items()}
                self._look_at(client, [name for name in known if name not in self.seen])
                self.answered = now
                fit = {name: n for name, n in known.items() if name not in self.left_out}
                if fit.keys() != known.keys() and fit:
                    names = [name.split()[-1] for name in fit]
                    self.executor = client.get_executor(pure=False, workers=names)
                self.workers, self.all_left_out = sum(fit.values()), bool(known) and not fit
        if now > self.answered + LOST_SECONDS or client.status == "closed":
            raise BrokenExecutor("its scheduler does not answer")

    def _look_at(self, client: Any, names: Sequence[str]) -> None:
        """Leave out new workers of Dask without this library, which cannot read what they get."""
        places = [name.split()[-1] for name in names]
        package = __name__.partition(".")[0]
        found = client.run(find_spec, package, workers=places, on_error="return") if places else {}
        for name, place in zip(names, places, strict=True):
            if not isinstance(found.get(place), BaseException):  # it answers
                self.seen.add(name)
                if found.get(place) is None:
                    self.left_out[name] = f"{package} is not installed there"

    def answers(self, paused: bool = False) -> list[Answer[Item]]:
        """Submit what the workers can take unless paused; wait; return the chunks that are done."""
        if time.monotonic() > self.asked + _LOOK_SECONDS:
            self.look()
        most = 2 * max(1, self.workers)
        paused = paused or self.all_left_out
        while self.queue and not paused and len(self.flying) < most:
            size = min(self.size, max(self.least, len(self.queue) // most))
            items = [self.queue.popleft() for _ in range(min(size, len(self.queue)))]
            try:
                self.flying[self.executor.submit(call_chunk, self.called, items)] = items
            except Exception as error:
                self.queue.extendleft(reversed(items))
                raise BrokenExecutor(describe(error)) from error
        if self.flying:
            wait(self.flying, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        else:
            time.sleep(POLL_SECONDS)
        return self.arrived()

    def arrived(self) -> list[Answer[Item]]:
        """Return the chunks that are done."""
        return [self._answer(future) for future in list(self.flying) if future.done()]

    def _answer(self, future: Future[Any]) -> Answer[Item]:
        items = self.flying.pop(future)
        try:
            seconds, results = future.result()
        except BaseException as error:  # a cancelled future's is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return Answer(items, (), error)
        if not self.here and not isinstance(self.executor, Local):  # where chunks spare nothing
            most = int(self.seconds * len(items) / max(seconds, 1e-3))
            self.size = max(1, min(int(MOST_OF_CHUNK * self.seconds), most, 4 * self.size))
        return Answer(items, results)

    def abandon(self) -> None:
        """Cancel what has not begun."""
        for future in self.flying:
            future.cancel()


def call_chunk(called: Any, items: Sequence[Any]) -> tuple[float, list[Any]]:
    """Call a function for each item; return the seconds that it took, and what it returned."""
    began = time.monotonic()
    function = _function(called) if isinstance(called, bytes) else called
    results = [function(item) for item in items]
    return time.monotonic() - began, results


@lru_cache(maxsize=1)
def _function(called: bytes) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = pickle.loads(called)
    return function


def run_all(
    function: Callable[[Any], Any],
    tasks: Sequence[Any],
    *,
    on: Any = None,
    jobs: int = 1,
    stop: Callable[[], object] = lambda: None,
) -> list[Any] | None:
    """Return ``function(task)`` of each task, in order; None if there was a reason to stop.

    Parameters
    ----------
    function
        One that workers can import, or a `functools.partial` of it with what the calls have in
        common. What it raises is raised here.
    on, jobs
        As for `executor_of`.
    stop
        Asked from time to time; what it returns is a reason to abandon the calls, or false.

    Raises
    ------
    CallFailed
        If a process of this machine ends within a call, or no worker has the library.
    """
    answers: dict[int, Any] = {}
    with executor_of(on, jobs) as executor:
        chunks = Chunks(partial(_numbered, function), enumerate(tasks), executor)
        try:
            while chunks:
                for answer in chunks.answers():
                    if answer.error is not None:
                        raise answer.error
                    answers.update(answer.results)
                if chunks.all_left_out and not chunks.flying:
                    told = "; ".join(f"{name}: {why}" for name, why in chunks.left_out.items())
                    raise CallFailed(f"no worker can make the calls ({told})")
                if chunks and stop():
                    return None
        finally:
            chunks.abandon()
    return [answers[number] for number in range(len(tasks))]


def _numbered(function: Callable[[Any], Any], item: tuple[int, Any]) -> tuple[int, Any]:
    number, task = item
    return number, function(task)
