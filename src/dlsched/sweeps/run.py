"""Sweeps: all runs of a suite, or a shard of them, on any executor; each row is stored at once."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.display.table import Row, data_frame
from dlsched.errors import DlschedError, InstanceError, OptionError, describe
from dlsched.execution.executors import (
    Answer,
    Chunks,
    Local,
    executor_of,
    validate_executor,
    whole_number,
)
from dlsched.execution.guard import start_server
from dlsched.extras import require
from dlsched.schema.files import make_folder
from dlsched.sweeps.merge import SHARDS, is_of, shard_files, shard_of
from dlsched.sweeps.simulations import simulation_rows
from dlsched.sweeps.store import AGAIN, FILE, Store, new_plan, writing
from dlsched.sweeps.stored_runs import write_table
from dlsched.sweeps.suite import Suite, read_suite
from dlsched.sweeps.task import Task, freeze, notice
from dlsched.sweeps.work import Job, Outcome, Refused, blank_row, cpus, modules_of, node, now

if TYPE_CHECKING:
    import pandas

RETRIES = 2
"""How often a run is made again whose worker died, or that was killed from outside."""
CODE = "code"
"""The folder of the user's modules in a sweep's."""
_MOST_NAMED = 5
_PAUSE_SECONDS = 1.0
"""How long a refusal holds up the next runs, so that other workers get them."""
_MOST_REFUSALS = 12
"""One after the other, by workers that cannot be left out by name, before a sweep ends."""
_KEPT = "finished runs are kept"


class NoWorker(DlschedError):
    """No worker can make the runs that are left; finished runs are kept."""


class ExecutorLost(DlschedError):
    """An executor, or its cluster, that disappeared; finished runs are kept."""


class Terminated(DlschedError):
    """A sweep that was ended by SIGTERM; finished runs are kept."""


def run_suite(
    suite: Suite | str | Path,
    out: str | Path,
    *,
    on: Any = None,
    jobs: int | None = None,
    shard: str | None = None,
    retries: int = RETRIES,
    resume: bool = False,
    on_row: Callable[[Row, int], None] | None = None,
    on_plan: Callable[[int], None] | None = None,
    on_stage: Callable[[object, str | None], None] | None = None,
) -> pandas.DataFrame:
    """Run every method of a suite on every instance, and every simulation.

    Parameters
    ----------
    suite
        A suite, or its file.
    out
        Folder for ``results.sqlite`` (`dlsched.sweeps.Store`), ``results.csv``, and ``code/`` with
        a copy of the user's modules, which all workers import. A shard writes a file of its own
        under ``shards/``, and `dlsched.sweeps.merge` joins them.
    on
        Where the runs are made: an executor of `concurrent.futures`, as Dask's
        ``Client.get_executor()``, of loky or of mpi4py; a client or cluster of Dask or the address
        of its scheduler; an executor of submitit. By default processes of this machine.
    jobs
        Number of runs at a time on this machine: 1, or for a shard as many as the CPUs that a batch
        system or a container has given to this process allow. Times are comparable only if each
        run has a core of its own.
    shard
        ``k/n`` for part k, from 0, of n: the runs whose key is k modulo n. It goes on where it
        ended, and all shards import the modules as they were when the first began.
    retries
        How often a run is made again whose worker died, or that was killed from outside.
    resume
        Continue in a folder that has results: runs that were killed, are missing or have changed
        are made.
    on_row
        Called with each new row when it is on disk, and the number of runs left.
    on_plan
        Called once with the number of runs to make.
    on_stage
        Called with a thread of this process and which run it makes, ``None`` at its end; from other
        threads. Only for runs of this machine.

    Returns
    -------
    pandas.DataFrame
        One row per run that is made, in the order of the suite; `dlsched.display.table.COLUMNS` has
        the columns. Simulations come last, with their metrics. For a shard, its own rows.

    Raises
    ------
    InstanceError
        If the suite cannot be used, the folder has results and `resume` is false, it cannot be
        written to, as on a full disk, or its database is damaged; the message says what is kept.
    OptionError
        If an argument is out of range, or the Dask cluster cannot be reached.
    ExtraMissing
        If filelock or psutil, or distributed for a Dask cluster, is not installed.
    NoWorker, ExecutorLost
        If no worker can make the runs as they were planned, or the executor or its cluster
        disappears; finished runs are kept.
    Terminated
        If the process gets SIGTERM; the current runs are abandoned, finished runs are kept.
    KeyboardInterrupt
        If interrupted; the same.
    """
    part = None if shard is None else shard_of(shard)
    whole_number("retries", retries, 0)
    validate_executor(on, 1 if jobs is None else jobs)
    out = Path(out)
    if out.suffix == ".sqlite":
        raise OptionError(f"{out} is the name of a file of results: give that of a folder")
    with frozen_imports(out if part else None):
        chosen = suite if isinstance(suite, Suite) else read_suite(suite)
    if not resume and part is None and (out / FILE).exists():
        remedy = "add --resume to continue it, or choose another folder"
        raise InstanceError(str(out), "", "has the results of a sweep", remedy)
    for library in ("filelock", "psutil"):  # before a file is written
        require(library, "dlsched bench")
    if jobs is None:
        jobs = 1 if part is None or on is not None else max(1, cpus() // chosen.most_threads)
    sweep = _Sweep(chosen, out, retries, on_row, on_plan, on_stage)
    with executor_of(on, jobs) as executor:
        return sweep.run(executor) if part is None else sweep.run_shard(part, executor)


@dataclass
class _Sweep:
    """A sweep, or a shard of one; the fields are the arguments of `run_suite`."""

    suite: Suite
    out: Path
    retries: int
    on_row: Callable[[Row, int], None] | None
    on_plan: Callable[[int], None] | None
    on_stage: Callable[[object, str | None], None] | None

    def run(self, executor: Executor) -> pandas.DataFrame:
        """Run a whole suite into the folder's store."""
        with Store(self.out, write=True) as store:
            tasks = frozen(self.suite.tasks(), self.out)
            store.plan(_rows(tasks), _about(self.suite, tasks))
            done = store.finished()
            try:
                self._make([task for task in tasks if task.key not in done], store, executor)
            except BaseException:
                with contextlib.suppress(DlschedError):  # the first error says what is kept
                    write_table(store)
                raise
            return write_table(store)

    def run_shard(self, part: tuple[int, int], executor: Executor) -> pandas.DataFrame:
        """Run what is left of a shard into a store of this process."""
        tasks = shard_tasks(self.suite, self.out)
        with Store(self.out) as store:
            done = store.finished()
        for file in itertools.chain(*shard_files(self.out).values()):
            with Store(file) as store:
                done |= {row["key"] for row in store.counted() if row["status"] not in AGAIN}
        left = [task for task in tasks if is_of(task.key, *part) and task.key not in done]
        if not left:
            if self.on_plan:
                self.on_plan(0)
            return data_frame([])
        name = f"{node()}-{os.getpid()}-{secrets.token_hex(4)}.sqlite"
        file = self.out / SHARDS / "{}-of-{}".format(*part) / name
        remedy = f"{_KEPT}: remove the cause, then submit the shard again"
        with Store(file, write=True, remedy=remedy) as store:
            store.plan(_rows(left), {"suite": self.suite.name, "began": now(), "node": node()})
            self._make(left, store, executor)
            return data_frame(store.rows() + simulation_rows(store.simulations()))

    def _make(self, tasks: Sequence[Task], store: Store, executor: Executor) -> None:
        """Make the runs, and store each when it arrives."""
        left = len(tasks)
        if self.on_plan:
            self.on_plan(left)
        if not tasks:
            return
        stop, threads = threading.Event(), None
        job = Job(type(executor).__name__, modules_of(tasks), _sharing(executor, left))
        if isinstance(executor, Local):  # the runs are processes in any case: threads watch them
            start_server(*job.modules)
            job = replace(job, stop=stop, on_stage=self.on_stage)
            executor = threads = ThreadPoolExecutor(executor._max_workers)
        dispatch = _Dispatch(job, tasks, executor, self.retries)
        try:
            with set_at_sigterm(stop):
                while dispatch.chunks and not stop.is_set():
                    for outcome in dispatch.arrived():
                        store.fill([outcome])
                        left -= 1
                        if self.on_row:
                            self.on_row(outcome.row, left)
            if dispatch.chunks:
                raise Terminated(
                    f"ended by SIGTERM with {left} runs left; {_KEPT}, and the same command goes "
                    "on (with --resume, unless it is a shard)"
                )
        except BaseException as error:
            stop.set()
            dispatch.chunks.abandon()
            if isinstance(error, KeyboardInterrupt | Terminated | ExecutorLost):
                store.fill(dispatch.last())
            raise
        finally:
            if threads is not None:
                threads.shutdown(cancel_futures=True)


def _sharing(executor: Executor, runs: int) -> int | None:
    """Return how many runs share this machine; None if the executor's workers are elsewhere."""
    here = isinstance(executor, Local | ThreadPoolExecutor) or hasattr(executor, "_processes")
    return min(runs, int(getattr(executor, "_max_workers", 1))) if here else None


class _Dispatch:
    """The runs that are left, and what has become of those that were given to workers."""

    def __init__(self, job: Job, tasks: Sequence[Task], executor: Executor, retries: int) -> None:
        self.job, self.retries = job, retries
        self.deaths: Counter[str] = Counter()
        """How often a run's worker died, or could not read its instance."""
        self.refused: dict[str, str] = {}
        """The reasons of workers that cannot make runs, by name."""
        self.streak, self.pause, self.waiting = 0, 0.0, False
        self.chunks = Chunks(job.make, tasks, executor)

    def arrived(self) -> Iterator[Outcome]:
        """Wait a little; yield the outcomes that can be stored, before any error.

        Raises
        ------
        NoWorker, ExecutorLost
            If the others cannot be made.
        """
        if not self.chunks.workers and not self.waiting:
            self.waiting = True
            notice(f"there is no worker of {self.job.engine} yet: waiting for one")
        try:
            answers = self.chunks.answers(paused=time.monotonic() < self.pause)
        except BrokenExecutor as error:
            raise self._lost(error) from None
        for worker, reason in self.chunks.left_out.items():
            self._name(worker, reason)
        for answer in sorted(answers, key=lambda answer: answer.error is not None):
            for outcome in self._settled(answer):
                self.streak = 0
                yield outcome
        nobody = self.job.stop is not None or self.streak >= _MOST_REFUSALS
        idle = self.refused and self.chunks.queue and not self.chunks.flying
        if idle and (nobody or self.chunks.all_left_out):
            raise self._nobody()

    def last(self) -> Iterator[Outcome]:
        """Yield what has arrived when the sweep ends; what was killed has died of that."""
        for answer in self.chunks.arrived():
            for outcome in answer.results:
                if isinstance(outcome, Outcome) and outcome.row["status"] != "killed":
                    yield outcome

    def _settled(self, answer: Answer[Task]) -> Iterator[Outcome]:
        """Yield the outcomes of a chunk; its other runs are put back."""
        error, queue = answer.error, self.chunks.queue
        if isinstance(error, CancelledError | BrokenExecutor):
            raise self._lost(error)
        if error is not None and self.job.stop is not None:
            raise error
        if (
            error is not None and type(error).__name__ == "KilledWorker"
        ):  # workers of Dask died of the chunk
            self.chunks.size = 1
            for task in answer.items:
                if self._again(task, "killed") or len(answer.items) > 1:
                    queue.append(task)
                else:
                    reason = f"its workers died: {describe(error)}"
                    yield Outcome(blank_row(task, "killed", reason, now()))
            return
        if error is not None:
            self._refuse(Refused("a worker", describe(error)))
            queue.extend(answer.items)
        for task, result in zip(answer.items, answer.results, strict=error is None):
            if isinstance(result, Refused):
                self._refuse(result)
                queue.append(task)
            elif result.row["status"] in AGAIN and self._again(task, result.row["status"]):
                queue.appendleft(task)
            else:
                yield result

    def _again(self, task: Task, status: str) -> bool:
        """Whether a run is made again, elsewhere if there are others."""
        if status == "changed" and self.job.stop is not None:  # there is no elsewhere
            return False
        self.deaths[task.key] += 1
        return self.deaths[task.key] <= self.retries

    def _refuse(self, refused: Refused) -> None:
        """Note that a worker cannot make runs; one of Dask gets no more."""
        self._name(refused.worker, refused.reason)
        self.chunks.left_out.setdefault(refused.worker, refused.reason)
        with contextlib.suppress(BrokenExecutor):
            self.chunks.look()
        self.streak += 1
        self.pause = time.monotonic() + _PAUSE_SECONDS

    def _name(self, worker: str, reason: str) -> None:
        if worker not in self.refused:
            self.refused[worker] = reason
            notice(f"{worker} is left out: {reason}")

    def _nobody(self) -> NoWorker:
        reasons = [f"{name}: {reason}" for name, reason in self.refused.items()]
        if len(reasons) > _MOST_NAMED:
            reasons[_MOST_NAMED:] = [f"and {len(reasons) - _MOST_NAMED} more"]
        return NoWorker(
            f"no worker of {self.job.engine} can make the runs ({'; '.join(reasons)}): "
            f"{len(self.chunks.queue)} runs were not made, {_KEPT}; remove the cause, then "
            "continue with --resume"
        )

    def _lost(self, error: BaseException) -> ExecutorLost:
        kept = f"{_KEPT}; continue with --resume when there is one again"
        return ExecutorLost(f"{self.job.engine} is lost: {kept} ({describe(error)})")


def frozen(tasks: Sequence[Task], out: Path) -> list[Task]:
    """Return tasks with the user's modules in the folder, which is made; see `freeze`.

    Raises
    ------
    InstanceError
        If they cannot be copied, or change meanwhile.
    """
    with writing(out):
        make_folder(out)
        return freeze(tasks, out / CODE)


def shard_tasks(suite: Suite, out: Path) -> list[Task]:
    """Return all tasks of a sweep in shards, which is planned now if it is not yet.

    Raises
    ------
    InstanceError
        If the folder has another sweep.
    """
    if not (out / FILE).exists():
        tasks = frozen(suite.tasks(), out)
        new_plan(out, _rows(tasks), _about(suite, tasks))
    with Store(out) as store:
        keys = store.statuses().keys()
    tasks = suite.tasks(_frozen_folder(out))
    if {task.key for task in tasks} != keys:
        remedy = "the suite or the library has changed since it began: choose another folder"
        raise InstanceError(str(out), "", "has a sweep of other runs", remedy)
    return tasks


@contextlib.contextmanager
def frozen_imports(out: Path | None) -> Iterator[None]:
    """Let this process import the user's modules as they were when a sweep in shards began."""
    folder = None if out is None else _frozen_folder(out)
    if folder is None:
        yield
        return
    before = list(sys.path)
    sys.path[:0] = [folder, os.getcwd()]
    try:
        yield
    finally:
        sys.path[:] = before


def _frozen_folder(out: Path) -> str | None:
    """Return the folder with the modules of a sweep that has begun, if it has any."""
    if not (out / FILE).exists():
        return None
    with Store(out) as store:
        code = store.about["code"]
    return str((out / CODE).resolve() / code) if code else None


def _rows(tasks: Sequence[Task]) -> Iterator[Row]:
    return (blank_row(task, None, "", "") for task in tasks)


def _about(suite: Suite, tasks: Sequence[Task]) -> dict[str, str]:
    """Return what a sweep says of itself."""
    folders = {Path(task.folder).name for task in tasks if Path(task.folder).parent.name == CODE}
    threads = max((task.limits.threads for task in tasks), default=1)
    about = {"suite": suite.name, "notes": suite.notes or "", "began": now()}
    return about | {"code": "".join(folders), "threads": str(threads)}


@contextlib.contextmanager
def set_at_sigterm(stop: threading.Event) -> Iterator[None]:
    """Set an event when this process gets SIGTERM, instead of ending at once.

    Slurm sends it at the time limit, before pre-emption, and for ``scancel`` and ``scontrol
    requeue``; Kubernetes before it removes a pod. Only the main thread can handle signals; in
    others, and where the caller handles SIGTERM, nothing is changed.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
