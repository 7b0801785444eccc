"""Runs given to workers, of this machine (`local_crew`) or of a Dask cluster (`dask_crew`).

`make_runs` is the same for both. A worker that cannot make a run as it was planned (it has no
dlsched, another version, other code of the user, or cannot start a process) is left out by name,
and its run goes to another one. With no worker left the sweep ends, and says why of each.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field

from dlsched.sweeps.crew import Batch, BatchWorker, Crew, Gone, NoWorker, Worker
from dlsched.sweeps.execution import Outcome, blank_row, now
from dlsched.sweeps.places import RETRIES
from dlsched.sweeps.task import Task
from dlsched.sweeps.worker_process import Stopped, Unfit

REMIND_SECONDS = 60
"""How often it is said that there is no worker."""
MOST_THREADS = 4096
_MOST_NAMED = 5
"""Workers whose reasons a message has."""
_logger = logging.getLogger("dlsched")


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


def make_runs(
    tasks: Iterable[Task], crew: Crew, stop: threading.Event, retries: int = RETRIES
) -> Generator[Outcome]:
    """Give tasks to the workers of a crew; yield each outcome when it arrives.

    Of outcomes that arrive together, that of the earlier task comes first. Closing the generator
    sets `stop` and abandons the current runs.

    Parameters
    ----------
    retries
        How often a run is made again whose worker died, or that was killed from outside.

    Raises
    ------
    NoWorker
        If no worker is left that can make the others; the message has the reasons.
    Stopped
        If `stop` is set by someone else, after the outcomes that have arrived.
    """
    dispatch = _Dispatch(crew, tasks, retries)
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
                    if stop.is_set():
                        yield from dispatch.arrived()
                        raise Stopped
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


def _make(worker: Worker, tasks: Sequence[Task]) -> Batch:
    """Let a worker make runs."""
    if isinstance(worker, BatchWorker):
        return worker.run_all(tasks)
    try:
        return Batch([worker.run(task) for task in tasks])
    except (Unfit, Gone) as error:
        return Batch([], error)


class _Dispatch:
    """Which worker makes which run.

    Attributes
    ----------
    left, running
        Runs that wait, and those that are being made, with their workers.
    tried
        Those of `left` that some worker could not make.
    idle, workers
        Workers that may take a batch, and all that have ever come.
    flying
        Batches of each worker.
    alone
        Workers with a run of which another one died: they get no other meanwhile, so that it is
        known which run a worker dies of.
    unfit
        Why workers are left out, by name.
    """

    def __init__(self, crew: Crew, tasks: Iterable[Task], retries: int) -> None:
        self.crew, self.retries = crew, retries
        self.left = deque(_Run(number, task) for number, task in enumerate(tasks))
        self.running: dict[Future[Batch], tuple[list[_Run], Worker]] = {}
        self.idle: dict[Worker, None] = {}
        self.workers: list[Worker] = []
        self.flying: Counter[Worker] = Counter()
        self.alone: set[Worker] = set()
        self.tried: list[_Run] = []
        self.unfit: dict[str, str] = {}
        self.waiting_since: float | None = None
        self.reminded = 0.0

    def assign(self, pool: ThreadPoolExecutor) -> None:
        """Give each worker that may take one a batch of the first runs that it has not tried."""
        new = self.crew.newcomers()
        self.workers += new
        self.idle |= dict.fromkeys(new)
        for worker in list(self.idle):
            if worker.name in self.unfit or not self.crew.has(worker):
                del self.idle[worker]
                continue
            while runs := self._take(worker):
                self.flying[worker] += 1
                batch = pool.submit(_make, worker, [run.task for run in runs])
                self.running[batch] = runs, worker
            if self.flying[worker] >= _window(worker):
                del self.idle[worker]

    def _take(self, worker: Worker) -> list[_Run]:
        """Return runs for a worker, which wait no longer; none if it has enough."""
        if self.flying[worker] >= _window(worker) or worker in self.alone:
            return []
        runs: list[_Run] = []
        for _ in range(self._size(worker)):
            run = next((run for run in self.left if worker.name not in run.tried), None)
            if run is None or (run.deaths and (runs or self.flying[worker])):
                break
            self.left.remove(run)
            self.tried = [other for other in self.tried if other is not run]
            runs.append(run)
            if run.deaths:
                self.alone.add(worker)
                break
        return runs

    def _size(self, worker: Worker) -> int:
        """Return how many runs a worker gets; few at the end, so that all end together."""
        if not isinstance(worker, BatchWorker):
            return 1
        fair = len(self.left) // (2 * max(1, len(self.workers)))
        return max(1, min(worker.size, fair))

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
        moment = time.monotonic()
        patience = self.crew.patience
        if self.unfit:
            patience = min(patience, self.crew.patience_with_unfit)
        if self.waiting_since is None:
            self.waiting_since = moment
            self.reminded = -REMIND_SECONDS
        if moment - self.waiting_since >= patience:
            kept = "finished runs are kept; remove the cause, then continue with --resume"
            raise NoWorker(f"{self._nobody()}: {len(self.left)} runs were not made, {kept}")
        if moment - self.reminded >= REMIND_SECONDS:
            self.reminded = moment
            span = f"waiting {patience:g} s for one" if patience < math.inf else "waiting for one"
            _warn(f"{self._nobody()}; {span}")
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
        """Return the outcomes that have arrived, whatever has become of the others.

        Those that were killed are not among them: what ended the sweep has ended them as well.
        """
        done = [batch for batch in self.running if batch.done() and not batch.exception()]
        outcomes = [outcome for batch in done for outcome in batch.result().outcomes]
        return [outcome for outcome in outcomes if outcome.row["status"] != "killed"]

    def accept(self) -> list[Outcome]:
        """Take note of the runs that have ended; return those that can be stored.

        An exception of another kind than `Unfit` and `Gone` is raised after all these.
        """
        done = [batch for batch in self.running if batch.done()]
        done.sort(key=lambda batch: self.running[batch][0][0].number)
        ready = []
        for future in done:
            runs, worker = self.running[future]
            batch = future.result()
            for run, outcome in zip(runs, batch.outcomes, strict=False):
                ready += self._store(run, worker, outcome)
            rest = runs[len(batch.outcomes) :]
            if isinstance(batch.error, Unfit):
                self._leave_out(worker, str(batch.error))
            for run in reversed(rest):
                ready += self._lost(run, batch.error)
            self.flying[worker] -= 1
            self.alone.discard(worker)
            if not isinstance(batch.error, Gone):
                self.idle[worker] = None
            del self.running[future]
        return ready

    def _store(self, run: _Run, worker: Worker, outcome: Outcome) -> list[Outcome]:
        """Return the outcome of a run if it is the last one, else put the run back."""
        status = outcome.row["status"]
        if status == "changed":
            run.tried[worker.name] = outcome
        elif status == "killed" and run.deaths < self.retries:
            run.deaths += 1
        else:
            return [outcome]
        self._put_back(run)
        return []

    def _lost(self, run: _Run, error: Unfit | Gone | None) -> list[Outcome]:
        """Put back a run that was not made; return its row if too many workers died of it."""
        if isinstance(error, Gone):
            run.deaths += 1
        if run.deaths > self.retries:
            reason = f"its workers died: {error}"
            return [Outcome(blank_row(run.task, "killed", reason, now()))]
        self._put_back(run)
        return []

    def _put_back(self, run: _Run) -> None:
        self.left.appendleft(run)
        if run.tried:
            self.tried.append(run)

    def _leave_out(self, worker: Worker, reason: str) -> None:
        if worker.name not in self.unfit:
            self.unfit[worker.name] = reason
            _warn(f"{worker.name} is left out: {reason}")


def _window(worker: Worker) -> int:
    """Return how many batches a worker takes at a time."""
    return worker.window if isinstance(worker, BatchWorker) else 1


def _warn(text: str) -> None:
    """Log a warning, which the command line shows."""
    _logger.warning("%s", text, extra={"notice": True})


__all__ = ["Gone", "NoWorker", "Worker", "make_runs"]
