"""Execution of tasks: by worker processes on this machine, or beside those of a Dask cluster."""

from __future__ import annotations

import concurrent.futures
import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Any

from dlsched.bench.execution import Outcome, blank_row, now
from dlsched.bench.task import Task
from dlsched.bench.worker_process import WorkerProcess
from dlsched.errors import DlschedError, OptionError, describe
from dlsched.extras import require

CONNECT_SECONDS = 10
_ASK_SECONDS = 0.5
LOST_SECONDS = 15
"""How long a scheduler may be unreachable before the sweep ends."""
_CLOSE_SECONDS = 5


def local(
    tasks: Iterable[Task],
    jobs: int,
    fresh: bool,
    on_stage: Callable[[object, str | None], None] | None = None,
) -> Generator[Outcome]:
    """Execute tasks on this machine, `jobs` at a time; yield each outcome when it arrives.

    Of outcomes that arrive together, that of the earlier task comes first.

    `on_stage` is called with a worker process and what it does, ``None`` at the end of a run.
    Closing the generator abandons the current runs.
    """
    stop, workers, own = threading.Event(), list[WorkerProcess](), threading.local()

    def work(task: Task) -> Outcome:
        if not hasattr(own, "worker"):
            own.worker = WorkerProcess(stop, jobs, fresh)
            own.worker.on_stage = on_stage
            workers.append(own.worker)
        outcome: Outcome = own.worker.run(task)
        return outcome

    left, order = enumerate(tasks), dict[Future[Outcome], int]()

    def submit(pool: ThreadPoolExecutor, most: int) -> set[Future[Outcome]]:
        new = {pool.submit(work, task): number for number, task in islice(left, most)}
        order.update(new)
        return set(new)

    def rank(future: Future[Outcome]) -> tuple[bool, int]:
        return future.exception() is not None, order[future]  # outcomes first, then exceptions

    try:
        with ThreadPoolExecutor(jobs) as pool, _set_at_exit(stop):
            running = submit(pool, jobs + 1)
            while running:
                try:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt:  # outcomes that have arrived are not lost
                    stop.set()
                    for future in running:
                        if future.done() and future.exception() is None:
                            yield future.result()
                    raise
                for future in sorted(done, key=rank):
                    del order[future]
                    yield future.result()
                running |= submit(pool, len(done))
    finally:
        for worker in workers:
            worker.close()


@contextmanager
def _set_at_exit(stop: threading.Event) -> Iterator[None]:
    """Set the event at the end of the block, before the pool waits for its threads."""
    try:
        yield
    finally:
        stop.set()


def on_dask(tasks: Sequence[Task], address: str, fresh: bool) -> Generator[Outcome]:
    """Execute tasks on a Dask cluster, each in a worker process of its own beside the Dask worker.

    If a Dask worker dies, its tasks go to another one; after several deaths a run is ``killed``.

    Raises
    ------
    ExtraMissing
        If dask.distributed is not installed.
    OptionError
        If there is no scheduler at the address.
    ClusterLost
        If the scheduler disappears, or its workers cannot execute tasks.
    """
    distributed = require("distributed", "--dask")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler at {address}: {error}") from None
    yield from _submit(client, address, tasks, fresh)


class ClusterLost(DlschedError):
    """A Dask cluster that disappeared; finished runs are kept."""


def _submit(client: Any, address: str, tasks: Sequence[Task], fresh: bool) -> Generator[Outcome]:
    """Execute tasks through a client, and close it at the end."""
    futures: dict[Any, Task] = {}
    finished = threading.Event()
    try:
        for task in tasks:
            key = f"dlsched-{task.key}"
            futures[client.submit(_execute, task, fresh, key=key, pure=False)] = task
        arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for future in futures:
            future.add_done_callback(arrived.put)
        while futures:
            future = _next(arrived, client)
            if future is None:
                raise ClusterLost(_lost(address, "it no longer answers", len(futures)))
            yield _outcome_of(future, futures.pop(future), address, len(futures) + 1)
        finished.set()
    finally:
        if not finished.is_set() and client.status == "running":
            with contextlib.suppress(Exception):  # cancelling only saves work
                client.cancel(list(futures))
        with contextlib.suppress(Exception):
            client.close(timeout=_CLOSE_SECONDS)


def _next(arrived: queue.SimpleQueue[Any], client: Any) -> Any:
    """Return the next finished future; ``None`` if the client has lost the scheduler."""
    lost = 0
    while True:
        with contextlib.suppress(queue.Empty):
            return arrived.get(timeout=_ASK_SECONDS)
        lost = 0 if client.status == "running" else lost + 1
        if lost * _ASK_SECONDS > LOST_SECONDS:
            return None


def _outcome_of(future: Any, task: Task, address: str, left: int) -> Outcome:
    import asyncio

    from distributed.scheduler import KilledWorker

    try:
        outcome = _gathered(future)
    except KilledWorker as error:
        outcome = Outcome(blank_row(task, "killed", f"its Dask workers died: {error}", now()))
    except DlschedError:
        raise
    except (Exception, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise ClusterLost(_lost(address, describe(error), left)) from None
    return outcome


def _gathered(future: Any) -> Outcome:
    """Return a future's outcome; if the worker that held it has died, wait for the new one."""
    while True:
        try:
            outcome: Outcome = future.result(timeout=LOST_SECONDS)
        except TimeoutError:
            if future.client.status != "running":
                raise
        else:
            return outcome


def _lost(address: str, why: str, left: int) -> str:
    return (
        f"the Dask cluster at {address} is lost ({why}): {left} runs were not made, finished "
        f"runs are kept; continue with --resume when there is a cluster again"
    )


_own = threading.local()


def _execute(task: Task, fresh: bool) -> Outcome:
    """Execute a task in the worker process that belongs to this thread of a Dask worker."""
    if not hasattr(_own, "worker"):
        _own.worker = WorkerProcess(_never(), _threads_here(), fresh)
    outcome: Outcome = _own.worker.run(task)
    return outcome


@cache
def _never() -> threading.Event:
    """Return an event that is never set; made here, as it cannot be pickled."""
    return threading.Event()


def _threads_here() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)
