"""Who makes the runs: worker processes on this machine, or those of a Dask cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Any

from dlsched.bench.cell import Cell
from dlsched.bench.execution import Outcome, blank_row, now
from dlsched.bench.task import Task
from dlsched.errors import DlschedError, OptionError, describe

CONNECT_SECONDS = 10
_ASK_SECONDS = 0.5
LOST_SECONDS = 15
"""How long a scheduler may be unreachable before the sweep ends."""
_CLOSE_SECONDS = 5


def local(tasks: Iterable[Task], jobs: int, fresh: bool) -> Generator[Outcome]:
    """Make runs on this machine, `jobs` at a time; yield each outcome when it is there.

    Closing the generator gives up the runs at hand.
    """
    stop, cells, here = threading.Event(), list[Cell](), threading.local()

    def work(task: Task) -> Outcome:
        if not hasattr(here, "cell"):
            here.cell = Cell(stop, jobs, fresh)
            cells.append(here.cell)
        outcome: Outcome = here.cell.run(task)
        return outcome

    left = iter(tasks)
    try:
        with ThreadPoolExecutor(jobs) as pool, _told_to(stop):
            running = {pool.submit(work, task) for task in islice(left, jobs + 1)}
            while running:
                try:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt:  # what has finished by now is not lost
                    stop.set()
                    for future in running:
                        if future.done() and future.exception() is None:
                            yield future.result()
                    raise
                for future in sorted(done, key=lambda each: each.exception() is not None):
                    yield future.result()  # what has finished comes before what raises
                running |= {pool.submit(work, task) for task in islice(left, len(done))}
    finally:
        for cell in cells:
            cell.close()


@contextmanager
def _told_to(stop: threading.Event) -> Iterator[None]:
    """Set the event on the way out, before the pool waits for its threads."""
    try:
        yield
    finally:
        stop.set()


def on_dask(tasks: Sequence[Task], address: str, fresh: bool) -> Generator[Outcome]:
    """Make runs on a Dask cluster, each in a process of its own beside the Dask worker.

    A run whose Dask worker dies is sent to another one; if that goes on, it is ``killed``.

    Raises
    ------
    OptionError
        If dask.distributed is not installed, or nobody answers at the address.
    ClusterLost
        If the scheduler goes away, or its workers cannot make runs at all.
    """
    try:
        import distributed
    except ImportError:
        raise OptionError("--dask needs dask.distributed: pip install 'dlsched[dask]'") from None
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler at {address}: {error}") from None
    yield from _through(client, address, tasks, fresh)


class ClusterLost(DlschedError):
    """A Dask cluster that went away; what had finished is kept."""


def _through(client: Any, address: str, tasks: Sequence[Task], fresh: bool) -> Generator[Outcome]:
    """Make runs through a client; it is closed at the end, also if nobody is there any more."""
    futures: dict[Any, Task] = {}
    finished = threading.Event()
    try:
        for task in tasks:
            key = f"dlsched-{task.key}"
            futures[client.submit(_in_cell, task, fresh, key=key, pure=False)] = task
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
            with contextlib.suppress(Exception):  # it is only about saving work
                client.cancel(list(futures))
        with contextlib.suppress(Exception):
            client.close(timeout=_CLOSE_SECONDS)


def _next(arrived: queue.SimpleQueue[Any], client: Any) -> Any:
    """Return the next future that is done; ``None`` if the client has lost the scheduler."""
    lost = 0
    while True:
        with contextlib.suppress(queue.Empty):
            return arrived.get(timeout=_ASK_SECONDS)
        lost = 0 if client.status == "running" else lost + 1
        if lost * _ASK_SECONDS > LOST_SECONDS:
            return None


def _outcome_of(future: Any, task: Task, address: str, left: int) -> Outcome:
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
    """Return a result; if the worker that held it has died, wait until it was made again."""
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
        f"the Dask cluster at {address} is lost ({why}): {left} runs were not made, what had "
        f"finished is kept; add --resume when there is one again"
    )


_here = threading.local()


def _in_cell(task: Task, fresh: bool) -> Outcome:
    """Make a run beside a Dask worker's thread, in the process that the thread keeps for it."""
    if not hasattr(_here, "cell"):
        _here.cell = Cell(_never(), _threads_here(), fresh)
    outcome: Outcome = _here.cell.run(task)
    return outcome


@cache
def _never() -> threading.Event:
    return threading.Event()


def _threads_here() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)
