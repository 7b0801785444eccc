"""Who makes the runs: worker processes on this machine, or those of a Dask cluster."""

from __future__ import annotations

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
from dlsched.errors import OptionError


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
                running |= {pool.submit(work, task) for task in islice(left, len(done))}
                for future in done:
                    yield future.result()
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
    """
    try:
        import distributed
    except ImportError:
        raise OptionError("--dask needs dask.distributed: pip install 'dlsched[dask]'") from None
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler at {address}: {error}") from None
    with client:
        futures = {
            client.submit(_in_cell, task, fresh, key=f"dlsched-{task.key}", pure=False): task
            for task in tasks
        }
        try:
            for future in distributed.as_completed(futures):
                yield _outcome_of(future, futures.pop(future))
        finally:
            client.cancel(list(futures))


def _outcome_of(future: Any, task: Task) -> Outcome:
    from distributed.scheduler import KilledWorker

    try:
        outcome: Outcome = future.result()
    except KilledWorker as error:
        outcome = Outcome(blank_row(task, "killed", f"its Dask workers died: {error}", now()))
    return outcome


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
