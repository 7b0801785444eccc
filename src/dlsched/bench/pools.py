"""Runs given to workers, of this machine (`local_crew`) or of a Dask cluster (`dask_crew`).

`make_runs` is the same for both. A worker that cannot make a run as it was planned (it has no
dlsched, another version, other code of the user, or cannot start a process) is left out by name,
and its run goes to another one. With no worker left the sweep ends, and says why of each.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from dlsched.bench.execution import Outcome, blank_row, now
from dlsched.bench.task import Task
from dlsched.bench.worker_process import Unfit
from dlsched.errors import DlschedError

MOST_DEATHS = 3
"""Workers that may die of a run before it counts as killed."""
MOST_THREADS = 4096
_MOST_NAMED = 5
"""Workers whose reasons a message has."""
_logger = logging.getLogger("dlsched")


class NoWorker(DlschedError):
    """No worker can make the runs that are left; finished runs are kept."""


class Gone(Exception):
    """The worker has died."""


class Worker(Protocol):
    """What makes one run at a time: `run` raises `Unfit` or `Gone` if this worker cannot."""

    name: str

    def run(self, task: Task) -> Outcome:
        """Make a run."""

    def close(self) -> None:
        """End what belongs to the worker."""


class Crew(Protocol):
    """The workers there are."""

    @property
    def patience(self) -> float:
        """Seconds to wait for a worker if there is none."""

    @property
    def poll_seconds(self) -> float | None:
        """How often to ask for new workers; ``None`` if there will be none."""

    def newcomers(self) -> list[Worker]:
        """Return the workers that have come since the last call."""

    def has(self, worker: Worker) -> bool:
        """Whether a worker is still there."""

    def describe(self) -> str:
        """Return where the workers are, for messages."""


@dataclass(eq=False)
class _Run:
    """A run that is to be made.

    Attributes
    ----------
    number
        Its position in the sweep.
    tried
        The outcomes that say that a worker could not make the instance, by worker.
    deaths
        Workers that died while they made it.
    """

    number: int
    task: Task
    tried: dict[str, Outcome] = field(default_factory=dict)
    deaths: int = 0


def make_runs(tasks: Iterable[Task], crew: Crew, stop: threading.Event) -> Generator[Outcome]:
    """Give tasks to the workers of a crew; yield each outcome when it arrives.

    Of outcomes that arrive together, that of the earlier task comes first. Closing the generator
    sets `stop` and abandons the current runs.

    Raises
    ------
    NoWorker
        If no worker is left that can make the others; the message has the reasons.
    """
    dispatch = _Dispatch(crew, tasks)
    try:
        with ThreadPoolExecutor(MOST_THREADS) as pool, _set_at_exit(stop):
            while dispatch.left or dispatch.running:
                dispatch.assign(pool)
                ready = dispatch.given_up()
                if not ready:
                    try:
                        dispatch.wait()
                    except KeyboardInterrupt:  # outcomes that have arrived are not lost
                        stop.set()
                        yield from dispatch.arrived()
                        raise
                    ready = dispatch.accept()
                    dispatch.assign(pool)  # before the outcomes are stored, which takes a while
                yield from ready
    finally:
        for worker in dispatch.workers:
            worker.close()


@contextmanager
def _set_at_exit(stop: threading.Event) -> Iterator[None]:
    """Set the event at the end of the block, before the pool waits for its threads."""
    try:
        yield
    finally:
        stop.set()


class _Dispatch:
    """Which worker makes which run.

    Attributes
    ----------
    left, running
        Runs that wait, and those that are being made, with their workers.
    tried
        Those of `left` that some worker could not make.
    idle, workers
        Workers without a run, and all that have ever come.
    unfit
        Why workers are left out, by name.
    """

    def __init__(self, crew: Crew, tasks: Iterable[Task]) -> None:
        self.crew = crew
        self.left = deque(_Run(number, task) for number, task in enumerate(tasks))
        self.running: dict[Future[Outcome], tuple[_Run, Worker]] = {}
        self.idle: list[Worker] = []
        self.workers: list[Worker] = []
        self.tried: list[_Run] = []
        self.unfit: dict[str, str] = {}
        self.waiting_since: float | None = None

    def assign(self, pool: ThreadPoolExecutor) -> None:
        """Give each idle worker the first run that it has not tried."""
        new = self.crew.newcomers()
        self.workers += new
        self.idle += new
        self.idle = [w for w in self.idle if w.name not in self.unfit and self.crew.has(w)]
        for worker in list(self.idle):
            run = next((run for run in self.left if worker.name not in run.tried), None)
            if run is not None:
                self.left.remove(run)
                self.tried = [other for other in self.tried if other is not run]
                self.idle.remove(worker)
                self.running[pool.submit(worker.run, run.task)] = run, worker

    def given_up(self) -> list[Outcome]:
        """Return the outcomes of runs whose instance no worker could make."""
        able = {w.name for w in (*self.idle, *(worker for _, worker in self.running.values()))}
        hopeless = [run for run in self.tried if able <= run.tried.keys()]
        for run in hopeless:
            self.tried.remove(run)
            self.left.remove(run)
        return [next(reversed(run.tried.values())) for run in hopeless]

    def wait(self) -> None:
        """Wait until a run ends, or for a worker if there is none."""
        if self.running:
            self.waiting_since = None
            wait(self.running, timeout=self.crew.poll_seconds, return_when=FIRST_COMPLETED)
            return
        if self.waiting_since is None:
            self.waiting_since = time.monotonic()
            if self.crew.patience:
                _warn(f"{self._nobody()}; waiting {self.crew.patience:g} s for one")
        if time.monotonic() - self.waiting_since >= self.crew.patience:
            kept = "finished runs are kept; remove the cause, then continue with --resume"
            raise NoWorker(f"{self._nobody()}: {len(self.left)} runs were not made, {kept}")
        time.sleep(self.crew.poll_seconds or 0)

    def _nobody(self) -> str:
        """Return that there is no worker, and why."""
        if not self.unfit:
            return f"there is no worker at {self.crew.describe()}"
        reasons = [f"{name}: {reason}" for name, reason in self.unfit.items()]
        if len(reasons) > _MOST_NAMED:
            reasons[_MOST_NAMED:] = [f"and {len(reasons) - _MOST_NAMED} more"]
        return f"no worker at {self.crew.describe()} can make the runs ({'; '.join(reasons)})"

    def arrived(self) -> list[Outcome]:
        """Return the outcomes that have arrived, whatever has become of the others."""
        done = [future for future in self.running if future.done() and not future.exception()]
        return [future.result() for future in done]

    def accept(self) -> list[Outcome]:
        """Take note of the runs that have ended; return those that can be stored.

        An exception of another kind than `Unfit` and `Gone` is raised after all these.
        """
        done = [future for future in self.running if future.done()]
        done.sort(key=lambda future: self.running[future][0].number)
        ready = []
        for future in done:
            run, worker = self.running[future]
            try:
                outcome = future.result()
            except Unfit as error:
                self._leave_out(worker, str(error))
                self._put_back(run)
            except Gone as error:
                run.deaths += 1
                if run.deaths < MOST_DEATHS:
                    self._put_back(run)
                else:
                    reason = f"its workers died: {error}"
                    ready.append(Outcome(blank_row(run.task, "killed", reason, now())))
            else:
                self.idle.append(worker)
                if outcome.row["status"] == "changed":
                    run.tried[worker.name] = outcome
                    self._put_back(run)
                else:
                    ready.append(outcome)
            del self.running[future]
        return ready

    def _put_back(self, run: _Run) -> None:
        self.left.appendleft(run)
        if run.tried:
            self.tried.append(run)

    def _leave_out(self, worker: Worker, reason: str) -> None:
        if worker.name not in self.unfit:
            self.unfit[worker.name] = reason
            _warn(f"{worker.name} is left out: {reason}")


def _warn(text: str) -> None:
    """Log a warning, which the command line shows."""
    _logger.warning("%s", text, extra={"notice": True})
