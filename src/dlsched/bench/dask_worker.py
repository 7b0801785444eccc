"""What a Dask worker does: it keeps a worker process for each of its threads, and makes runs there.

The processes belong to one sweep: that of another gets new ones, as what they have imported may
differ from the files by then.
"""

from __future__ import annotations

import pickle
import threading

from dlsched.bench import memory
from dlsched.bench.execution import Outcome
from dlsched.bench.task import Task
from dlsched.bench.worker_process import WorkerProcess


class _Own(threading.local):
    """The process of a thread of this Dask worker, and the sweep that it belongs to."""

    sweep: Sweep | None = None
    worker: WorkerProcess


class Sweep:
    """The processes here of one sweep, which end with it."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.idle: set[WorkerProcess] = set()
        self.guard = threading.Lock()

    def end(self) -> None:
        """End the processes: the idle ones here, the others in their own threads."""
        with self.guard:
            self.stop.set()
            for worker in self.idle:
                worker.close()
            self.idle.clear()


_own = _Own()
_sweeps: dict[str, Sweep] = {}
_guard = threading.Lock()


def make_run(sweep: str, pickled_task: bytes, fresh: bool, neighbours: int) -> Outcome:
    """Make a run in the process that belongs to this thread.

    Parameters
    ----------
    sweep
        The sweep's name, which no other one has.
    pickled_task
        The task; only here, as another version of dlsched may be unable to read it.
    fresh
        Whether every run gets a new process.
    neighbours
        Threads of all Dask workers on this machine.
    """
    task: Task = pickle.loads(pickled_task)
    with _guard:
        current = _sweeps.setdefault(sweep, Sweep())
    if _own.sweep is not current:
        _leave()
        _own.sweep = current
        _own.worker = WorkerProcess(current.stop, _limit(neighbours), fresh)
    _own.worker.memory_bytes = _limit(neighbours)
    with current.guard:
        current.idle.discard(_own.worker)
    try:
        return _own.worker.run(task)
    finally:
        with current.guard:
            if current.stop.is_set():
                _own.worker.close()
            else:
                current.idle.add(_own.worker)


def end(sweep: str) -> None:
    """End the processes of a sweep."""
    with _guard:
        ended = _sweeps.pop(sweep, None)
    if ended is not None:
        ended.end()


def _leave() -> None:
    """End this thread's process of another sweep."""
    if _own.sweep is not None:
        with _own.sweep.guard:
            _own.sweep.idle.discard(_own.worker)
            _own.worker.close()


def _limit(neighbours: int) -> int:
    from distributed import get_worker

    worker = get_worker()
    limit = worker.memory_manager.memory_limit
    return memory.default_limit(neighbours, limit, worker.state.nthreads)
