"""The worker processes of this machine as a crew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable

from dlsched.sweeps import memory
from dlsched.sweeps.crew import Worker
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.places import RETRIES
from dlsched.sweeps.pools import make_runs
from dlsched.sweeps.task import Task
from dlsched.sweeps.worker_process import WorkerProcess


class LocalCrew:
    """Worker processes of this machine."""

    patience, patience_with_unfit, poll_seconds = 0.0, 0.0, None

    def __init__(
        self,
        jobs: int,
        fresh: bool,
        stop: threading.Event,
        on_stage: Callable[[object, str | None], None] | None,
    ) -> None:
        self.jobs, self.fresh, self.stop, self.on_stage = jobs, fresh, stop, on_stage
        self.made = 0

    def newcomers(self) -> list[Worker]:
        """Return all workers at the first call."""
        new: list[Worker] = []
        while self.made < self.jobs:
            self.made += 1
            name = f"worker process {self.made} of this machine"
            limit = memory.default_limit(self.jobs)
            worker = WorkerProcess(self.stop, limit, self.fresh, name)
            worker.on_stage = self.on_stage
            new.append(worker)
        return new

    def has(self, worker: Worker) -> bool:
        """Return true: processes that have ended are replaced."""
        return True

    def describe(self) -> str:
        """Return where the workers are."""
        return "this machine"


def local(
    tasks: Iterable[Task],
    jobs: int,
    fresh: bool,
    on_stage: Callable[[object, str | None], None] | None = None,
    stop: threading.Event | None = None,
    retries: int = RETRIES,
) -> Generator[Outcome]:
    """Execute tasks on this machine, `jobs` at a time; see `make_runs`.

    `on_stage` is called with a worker process and what it does, ``None`` at the end of a run.
    """
    stop = stop or threading.Event()
    yield from make_runs(tasks, LocalCrew(jobs, fresh, stop, on_stage), stop, retries)
