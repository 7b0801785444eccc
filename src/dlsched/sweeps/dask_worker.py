"""What a Dask worker does: it keeps a worker process for each of its threads, and makes runs there.

The processes belong to one sweep: that of another gets new ones, as what they have imported may
differ from the files by then.
"""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace

from dlsched.sweeps import code_identity, memory
from dlsched.sweeps.code_identity import Code, code_of
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.task import Task
from dlsched.sweeps.worker_process import Unfit, WorkerProcess


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


def codes(pickled_calls: bytes) -> list[Code]:
    """Return the identity of the code that a new process here would have, for several runs.

    Parameters
    ----------
    pickled_calls
        The arguments of `code_of` for each of them.
    """
    code_identity.forget()  # files may have changed since this process looked at them
    return [dict(code_of(*call)) for call in pickle.loads(pickled_calls)]


def make_runs(
    sweep: str, pickled_tasks: bytes, fresh: bool, neighbours: int
) -> tuple[list[Outcome], str | None]:
    """Make runs, one after another, in the process that belongs to this thread.

    Parameters
    ----------
    sweep
        The sweep's name, which no other one has.
    pickled_tasks
        The tasks; only here, as another version of dlsched may be unable to read them.
    fresh
        Whether every run gets a new process.
    neighbours
        Threads of all Dask workers on this machine.

    Returns
    -------
    tuple
        The outcomes, and why the next run cannot be made here, if it cannot.
    """
    tasks: list[Task] = pickle.loads(pickled_tasks)
    with _guard:
        current = _sweeps.setdefault(sweep, Sweep())
    if _own.sweep is not current:
        _leave()
        _own.sweep = current
        _own.worker = WorkerProcess(current.stop, _limit(neighbours), fresh)
    _own.worker.memory_bytes = _limit(neighbours)
    with current.guard:
        current.idle.discard(_own.worker)
    outcomes: list[Outcome] = []
    try:
        for task in tasks:
            # The process has the planned code, or is unfit; the runner need not compare again.
            outcomes.append(replace(_own.worker.run(task), code={}))
        return outcomes, None
    except Unfit as error:
        return outcomes, str(error)
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
