"""The workers of a Dask cluster as a crew: one worker for each thread of each Dask worker."""

from __future__ import annotations

import contextlib
import pickle
import secrets
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import CancelledError
from importlib import metadata
from pkgutil import resolve_name
from typing import Any
from urllib.parse import urlsplit

from dlsched.bench import dask_worker
from dlsched.bench.code_identity import differences
from dlsched.bench.execution import Outcome
from dlsched.bench.machine import versions
from dlsched.bench.pools import Gone, Worker, make_runs
from dlsched.bench.task import Task
from dlsched.bench.worker_process import Stopped, Unfit
from dlsched.errors import DlschedError, OptionError, describe
from dlsched.extras import require

CONNECT_SECONDS = 10
POLL_SECONDS = 0.5
LOST_SECONDS = 15
"""How long a scheduler may be unreachable before the sweep ends."""
WAIT_SECONDS = 120
"""How long a sweep waits for a worker that can make its runs, as a cluster may be starting."""
_CLOSE_SECONDS = 5
_TARGET = f"{dask_worker.__name__}:{dask_worker.make_run.__name__}"
"""What a scheduler and its workers must be able to import. It is asked for by its name, since a
Dask worker that receives an object of a module that it does not have ends its connection."""


class ClusterLost(DlschedError):
    """A Dask cluster that disappeared; finished runs are kept."""


def on_dask(tasks: Iterable[Task], address: str, fresh: bool) -> Generator[Outcome]:
    """Execute tasks on a Dask cluster, each in a worker process of its own beside the Dask worker.

    If a Dask worker dies, its runs go to another one; after several deaths a run is ``killed``.

    Raises
    ------
    ExtraMissing
        If dask.distributed is not installed.
    OptionError
        If there is no scheduler at the address, or it has no dlsched.
    ClusterLost
        If the scheduler disappears.
    NoWorker
        If no worker can make the runs.
    """
    distributed = require("distributed", "--dask")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler at {address}: {error}") from None
    stop = threading.Event()
    crew = DaskCrew(client, address, fresh, stop)
    try:
        crew.validate_scheduler()
        yield from make_runs(tasks, crew, stop)
    finally:
        crew.close()


class DaskCrew:
    """The threads of the workers of a Dask cluster."""

    poll_seconds = POLL_SECONDS

    def __init__(self, client: Any, address: str, fresh: bool, stop: threading.Event) -> None:
        self.client, self.address, self.fresh, self.stop = client, address, fresh, stop
        self.patience: float = WAIT_SECONDS
        self.sweep = secrets.token_hex(8)
        self.threads: dict[str, int] = {}
        self.able: set[str] = set()
        self.asked = self.answered = time.monotonic()

    def has(self, worker: Worker) -> bool:
        """Whether the Dask worker of a thread is still there."""
        return isinstance(worker, DaskThread) and worker.address in self.threads

    def describe(self) -> str:
        """Return where the workers are."""
        return f"the Dask cluster {self.address}"

    def newcomers(self) -> list[Worker]:
        """Return the threads of Dask workers that have come since the last call.

        Raises
        ------
        ClusterLost
            If the scheduler has not answered for `LOST_SECONDS`.
        """
        now = time.monotonic()
        if self.threads and now < self.asked + POLL_SECONDS:
            return []
        self.asked = now
        threads = self._ask()
        if threads is None:
            if now > self.answered + LOST_SECONDS:
                kept = "finished runs are kept; continue with --resume when there is one again"
                raise ClusterLost(f"the Dask cluster at {self.address} is lost: {kept}")
            return []
        self.answered = now
        new = [address for address in threads if address not in self.threads]
        self.threads = threads
        return [DaskThread(self, address) for address in new for _ in range(threads[address])]

    def _ask(self) -> dict[str, int] | None:
        """Return the number of threads of each Dask worker; ``None`` if nobody answers."""
        if self.client.status != "running":
            return None
        try:
            return dict(self.client.nthreads())
        except (OSError, TimeoutError, CancelledError):
            return None

    def neighbours(self, address: str) -> int:
        """Return the number of threads of all Dask workers on the machine of this one."""
        host = urlsplit(address).hostname
        return sum(n for other, n in self.threads.items() if urlsplit(other).hostname == host)

    def validate_scheduler(self) -> None:
        """Raise `OptionError` if the scheduler could not pass runs on."""
        try:
            self.client.run_on_scheduler(resolve_name, _TARGET)
        except Exception as error:
            needed = "the scheduler needs dlsched like the workers, of the same version"
            what = f"the Dask scheduler at {self.address} cannot pass runs on"
            raise OptionError(f"{what}: {describe(error)}; {needed}") from None

    def validate(self, address: str) -> None:
        """Raise `Unfit` if a Dask worker could not take a run."""
        if address in self.able:
            return
        try:
            answers = self.client.run(resolve_name, _TARGET, workers=[address], on_error="return")
        except Exception as error:  # the worker or the scheduler has gone
            raise Gone(describe(error)) from None
        answer = answers.get(address)
        if not callable(answer):
            told = describe(answer) if isinstance(answer, BaseException) else "it does not answer"
            raise Unfit(f"it cannot make runs: {told}{self._version_at(address)}")
        self.able.add(address)

    def _version_at(self, address: str) -> str:
        """Return which version of dlsched a Dask worker has, for a message."""
        try:
            installed = self.client.run(metadata.version, "dlsched", workers=[address])[address]
        except Exception:  # it has none, or no longer answers
            return ""
        return f" (its dlsched is {installed}, planned is {versions()['dlsched']})"

    def close(self) -> None:
        """End the processes that belong to the sweep, and close the client."""
        with contextlib.suppress(Exception):  # the scheduler or a worker has gone
            able = sorted(self.able & set(self.threads))
            if able and self.client.status == "running":
                self.client.run(dask_worker.end, self.sweep, workers=able, on_error="ignore")
        with contextlib.suppress(Exception):
            self.client.close(timeout=_CLOSE_SECONDS)


class DaskThread:
    """A thread of a Dask worker, which makes one run at a time."""

    def __init__(self, crew: DaskCrew, address: str) -> None:
        self.crew, self.address = crew, address
        self.name = f"Dask worker {address}"

    def run(self, task: Task) -> Outcome:
        """Make a run there.

        Raises
        ------
        Unfit
            If the Dask worker cannot make it as planned.
        Gone
            If the Dask worker has died.
        Stopped
            If the sweep has ended.
        """
        crew = self.crew
        crew.validate(self.address)
        future = crew.client.submit(
            dask_worker.make_run,
            *(crew.sweep, pickle.dumps(task), crew.fresh, crew.neighbours(self.address)),
            key=f"dlsched-{task.key}-{secrets.token_hex(4)}",
            workers=[self.address],
            allow_other_workers=False,
            pure=False,
        )
        try:
            outcome = self._wait(future)
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                future.cancel()
        if dict(outcome.code) != dict(task.code):
            raise Unfit(f"it has other code: {differences(task.code, outcome.code)}")
        return outcome

    def _wait(self, future: Any) -> Outcome:
        from distributed.scheduler import KilledWorker

        while True:
            try:
                outcome: Outcome = future.result(timeout=POLL_SECONDS)
            except TimeoutError:
                if self.crew.stop.is_set():
                    raise Stopped from None
                if self.address not in self.crew.threads:
                    raise Gone(self.name) from None
            except (KilledWorker, CancelledError) as error:
                self.crew.threads.pop(self.address, None)  # it may come back
                raise Gone(f"{self.name}: {describe(error)}") from None
            except Unfit:
                raise
            except Exception as error:  # what a worker without this dlsched answers
                reason = describe(error) + self.crew._version_at(self.address)
                raise Unfit(f"it cannot make runs: {reason}") from None
            else:
                return outcome

    def close(self) -> None:
        """Leave the process there to `DaskCrew.close`."""
