"""What makes runs: workers, of which a crew is those that there are now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dlsched.errors import DlschedError
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.task import Task
from dlsched.sweeps.worker_process import Unfit


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
        """End what belongs to the worker; here, nothing does."""
        return None


@dataclass(frozen=True)
class Batch:
    """What a worker made of several runs.

    Attributes
    ----------
    outcomes
        Those of the first runs.
    error
        Why the others were not made; ``None`` if there are no others.
    """

    outcomes: Sequence[Outcome]
    error: Unfit | Gone | None = None


class BatchWorker(ABC):
    """A worker that takes several runs at once, and the next ones before these are made.

    Attributes
    ----------
    size
        How many runs it takes at once now.
    window
        How many batches it takes at a time now.
    """

    name: str
    size: int = 1
    window: int = 1

    @abstractmethod
    def run_all(self, tasks: Sequence[Task]) -> Batch:
        """Make runs."""

    def run(self, task: Task) -> Outcome:
        """Make one run."""
        batch = self.run_all([task])
        if batch.error is not None:
            raise batch.error
        return batch.outcomes[0]

    @abstractmethod
    def close(self) -> None:
        """End what belongs to the worker."""


class Crew(Protocol):
    """The workers there are."""

    @property
    def patience(self) -> float:
        """Seconds to wait for a worker if there is none."""

    @property
    def patience_with_unfit(self) -> float:
        """The same if there are workers that cannot make the runs."""

    @property
    def poll_seconds(self) -> float | None:
        """How often to ask for new workers; ``None`` if there will be none."""

    def newcomers(self) -> list[Worker]:
        """Return the workers that have come since the last call."""

    def has(self, worker: Worker) -> bool:
        """Whether a worker is still there."""

    def describe(self) -> str:
        """Return where the workers are, for messages."""
