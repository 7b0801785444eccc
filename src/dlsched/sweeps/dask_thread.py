"""A thread of a Dask worker: it is compared with the plan, and then makes batches of runs."""

from __future__ import annotations

import contextlib
import pickle
import secrets
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError
from importlib import metadata
from pkgutil import resolve_name
from typing import Any, Protocol

from dlsched.errors import describe
from dlsched.sweeps import dask_worker
from dlsched.sweeps.code_identity import differences
from dlsched.sweeps.crew import Batch, BatchWorker, Gone
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.machine import versions
from dlsched.sweeps.task import Task
from dlsched.sweeps.worker_process import Stopped, Unfit

POLL_SECONDS = 0.5
FETCH_SECONDS = 120
"""Time for the rows of a batch that is made to arrive."""
BATCH_SECONDS = 0.5
"""What the runs of a batch take together, about: less than a user waits for a row."""
MOST_OF_BATCH = 256
SHORT_SECONDS = 0.2
"""Runs below this wait at the Dask worker, so that it always has some; longer ones do not, as
another worker might be free for them before."""
TARGETS = [f"{f.__module__}:{f.__name__}" for f in (dask_worker.make_runs, dask_worker.codes)]
"""What a scheduler and its workers must be able to import. It is asked for by its name, since a
Dask worker that receives an object of a module that it does not have ends its connection."""


class Crew(Protocol):
    """What a thread knows of the cluster; see `dlsched.sweeps.dask_crew.DaskCrew`."""

    client: Any
    fresh: bool
    stop: threading.Event
    sweep: str
    threads: dict[str, int]
    planned: Planned

    def neighbours(self, address: str) -> int:
        """Return the number of threads of all Dask workers on the machine of this one."""


class Planned:
    """The codes of a sweep's runs, with which Dask workers are compared.

    Attributes
    ----------
    able
        Addresses of the workers that have all of them.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        first = {id(task.code): task for task in tasks}.values()
        self.codes = [task.code for task in first]
        self.calls = pickle.dumps(
            [(t.instance.problem, t.method, t.options, t.folder, t.limits.solver) for t in first]
        )
        self.able: set[str] = set()
        self.guards: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def validate(self, crew: Crew, address: str) -> None:
        """Raise `Unfit` if a Dask worker has not the planned versions and code."""
        with self.guards[address]:
            if address in self.able:
                return
            for target in TARGETS:
                answer = _ask(crew, address, resolve_name, target)
                if not callable(answer):
                    raise Unfit(f"it cannot make runs: {answer}{_version_at(crew, address)}")
            found = _ask(crew, address, dask_worker.codes, self.calls)
            if not isinstance(found, list):
                raise Unfit(f"it cannot make runs: {found}{_version_at(crew, address)}")
            for planned, code in zip(self.codes, found, strict=True):
                if dict(planned) != code:
                    raise Unfit(f"it has other code: {differences(planned, code)}")
            self.able.add(address)


def _ask(crew: Crew, address: str, function: Any, *arguments: Any) -> Any:
    """Return what a function returns in a Dask worker's process; a text if it raises.

    Raises
    ------
    Gone
        If the worker has gone.
    Stopped
        If the sweep has ended.
    """
    answers: list[Any] = []

    def ask() -> None:
        try:
            told = crew.client.run(function, *arguments, workers=[address], on_error="return")
            answers.append(told[address])
        except Exception as error:  # the worker or the scheduler has gone
            answers.append(Gone(describe(error)))

    thread = threading.Thread(target=ask, daemon=True)  # it may wait for ever for a worker
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        if crew.stop.is_set():
            raise Stopped
        if thread.is_alive() and address not in crew.threads:
            raise Gone(address)
    if isinstance(answers[0], Gone):
        raise answers[0]
    return describe(answers[0]) if isinstance(answers[0], BaseException) else answers[0]


def _version_at(crew: Crew, address: str) -> str:
    """Return which version of dlsched a Dask worker has, for a message."""
    try:
        installed = crew.client.run(metadata.version, "dlsched", workers=[address])[address]
    except Exception:  # it has none, or no longer answers
        return ""
    return f" (its dlsched is {installed}, planned is {versions()['dlsched']})"


class DaskThread(BatchWorker):
    """A thread of a Dask worker, which makes one batch of runs after another."""

    def __init__(self, crew: Crew, address: str) -> None:
        self.crew, self.address = crew, address
        self.name = f"Dask worker {address}"

    def run_all(self, tasks: Sequence[Task]) -> Batch:
        """Make runs there.

        Raises
        ------
        Stopped
            If the sweep has ended.
        """
        try:
            self.crew.planned.validate(self.crew, self.address)
            outcomes, unfit = self._make(tasks)
        except (Unfit, Gone) as error:
            return Batch([], error)
        seconds = sum(outcome.row.get("run_seconds") or 0.0 for outcome in outcomes)
        each = seconds / max(1, len(outcomes))
        self.size = max(1, min(MOST_OF_BATCH, int(BATCH_SECONDS / max(each, 1e-3)), 4 * self.size))
        self.window = 2 if each < SHORT_SECONDS else 1
        return Batch(outcomes, Unfit(unfit) if unfit is not None else None)

    def _make(self, tasks: Sequence[Task]) -> tuple[list[Outcome], str | None]:
        crew = self.crew
        future = crew.client.submit(
            dask_worker.make_runs,
            *(crew.sweep, pickle.dumps(tasks), crew.fresh, crew.neighbours(self.address)),
            key=f"dlsched-{tasks[0].key}-{secrets.token_hex(4)}",
            workers=[self.address],
            allow_other_workers=False,
            pure=False,
        )
        try:
            return self._wait(future)
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                future.cancel()

    def _wait(self, future: Any) -> tuple[list[Outcome], str | None]:
        from distributed.scheduler import KilledWorker

        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        # Not by a result with a time limit: on a busy machine Dask raises other errors at it.
        while not done.wait(POLL_SECONDS):
            if self.crew.stop.is_set():
                raise Stopped
            if self.address not in self.crew.threads:
                raise Gone(self.name)
        try:
            answer: tuple[list[Outcome], str | None] = future.result(timeout=FETCH_SECONDS)
        except (KilledWorker, CancelledError, TimeoutError) as error:
            self.crew.threads.pop(self.address, None)  # it may come back
            raise Gone(f"{self.name}: {describe(error)}") from None
        except Stopped:
            raise
        except Exception as error:  # what a worker without this dlsched answers
            told = describe(error) + _version_at(self.crew, self.address)
            raise Unfit(f"it cannot make runs: {told}") from None
        return answer

    def close(self) -> None:
        """Leave the process there to `DaskCrew.close`."""
