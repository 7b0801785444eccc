"""The workers of a Dask cluster as a crew: one worker for each thread of each Dask worker."""

from __future__ import annotations

import contextlib
import math
import secrets
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import CancelledError
from pkgutil import resolve_name
from typing import Any
from urllib.parse import urlsplit

from dlsched.errors import DlschedError, OptionError, describe
from dlsched.sweeps import dask_worker
from dlsched.sweeps.crew import Worker
from dlsched.sweeps.dask_client import client_of
from dlsched.sweeps.dask_thread import TARGETS, DaskThread, Planned
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.places import RETRIES, Dask
from dlsched.sweeps.pools import make_runs
from dlsched.sweeps.task import Task

POLL_SECONDS = 0.5
LOST_SECONDS = 15
"""How long a scheduler may be unreachable before the sweep ends."""
WAIT_SECONDS = 120
"""How long a sweep waits for a worker that can make its runs if there are others that cannot."""
_CLOSE_SECONDS = 5


class ClusterLost(DlschedError):
    """A Dask cluster that disappeared; finished runs are kept."""


def on_dask(
    tasks: Iterable[Task],
    place: Dask,
    fresh: bool,
    stop: threading.Event | None = None,
    retries: int = RETRIES,
) -> Generator[Outcome]:
    """Execute tasks on a Dask cluster, in worker processes beside the Dask workers.

    If a Dask worker dies, its runs go to another one; after several deaths a run is ``killed``.

    Raises
    ------
    ExtraMissing
        If dask.distributed is not installed.
    OptionError
        If there is no scheduler, or it has no dlsched.
    ClusterLost
        If the scheduler disappears.
    NoWorker
        If no worker can make the runs.
    """
    tasks = list(tasks)
    client, own = client_of(place.cluster, place.security)
    stop = stop or threading.Event()
    crew = DaskCrew(client, fresh, stop, tasks)
    if place.wait is not None:
        crew.patience = place.wait
    try:
        crew.validate_scheduler()
        yield from make_runs(tasks, crew, stop, retries)
    finally:
        crew.close(own)


class DaskCrew:
    """The threads of the workers of a Dask cluster.

    Attributes
    ----------
    threads
        Number of threads of each Dask worker, by address.
    planned
        The codes of the runs, with which every worker is compared before it gets any.
    """

    poll_seconds = POLL_SECONDS

    def __init__(
        self, client: Any, fresh: bool, stop: threading.Event, tasks: Iterable[Task]
    ) -> None:
        self.client, self.fresh, self.stop = client, fresh, stop
        self.address = str(client.scheduler.address)
        self.patience = math.inf
        self.patience_with_unfit = float(WAIT_SECONDS)
        self.sweep = secrets.token_hex(8)
        self.threads: dict[str, int] = {}
        self.planned = Planned(tasks)
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
            for target in TARGETS:
                self.client.run_on_scheduler(resolve_name, target)
        except Exception as error:
            needed = "the scheduler needs dlsched like the workers, of the same version"
            what = f"the Dask scheduler at {self.address} cannot pass runs on"
            raise OptionError(f"{what}: {describe(error)}; {needed}") from None

    def close(self, client_too: bool) -> None:
        """End the processes that belong to the sweep, and the client if it is not the caller's.

        A cluster that does not answer is not waited for.
        """
        thread = threading.Thread(target=self._close, args=(client_too,), daemon=True)
        thread.start()
        thread.join(2 * _CLOSE_SECONDS)

    def _close(self, client_too: bool) -> None:
        with contextlib.suppress(Exception):  # the scheduler or a worker has gone
            able = sorted(self.planned.able & set(self.threads))
            if able and self.client.status == "running":
                self.client.run(dask_worker.end, self.sweep, workers=able, on_error="ignore")
        if client_too:
            with contextlib.suppress(Exception):
                self.client.close(timeout=_CLOSE_SECONDS)
