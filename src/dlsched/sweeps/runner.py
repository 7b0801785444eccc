"""Sweeps: all runs of a suite, in worker processes; each row is on disk when its run ends."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.display.table import Row, data_frame
from dlsched.errors import DlschedError, InstanceError, OptionError
from dlsched.extras import require
from dlsched.sweeps import dask_crew, local_crew, shards, wire
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.places import RETRIES, Dask, Local, Place, Shards
from dlsched.sweeps.plan import FOLDER, Plan, others, write_plan
from dlsched.sweeps.salvage import FILE
from dlsched.sweeps.shard_file import ShardFile
from dlsched.sweeps.simulation_rows import simulation_rows
from dlsched.sweeps.store import Store
from dlsched.sweeps.stored_runs import stored_runs
from dlsched.sweeps.suite import Suite, read_suite
from dlsched.sweeps.task import Task
from dlsched.sweeps.termination import Terminated, set_at_sigterm
from dlsched.sweeps.worker_process import Stopped

if TYPE_CHECKING:
    import pandas


def run_suite(
    suite: Suite | Plan | str | Path,
    out: str | Path,
    *,
    on: Place | None = None,
    jobs: int = 1,
    dask: str | None = None,
    retries: int = RETRIES,
    resume: bool = False,
    fresh: bool = False,
    on_row: Callable[[Row, int], None] | None = None,
    on_plan: Callable[[int], None] | None = None,
    on_stage: Callable[[object, str | None], None] | None = None,
) -> pandas.DataFrame:
    """Run every method of a suite on every instance, and every simulation.

    Parameters
    ----------
    suite
        A suite, its file, or a plan of one (`dlsched.sweeps.write_plan`).
    out
        Folder for ``results.sqlite``, ``results.csv``, ``solutions/`` and ``logs/``; see `Store`.
        A shard writes to ``shards/`` there instead, and `dlsched.sweeps.merge` makes the rest.
    on
        Where the runs are made: `Local`, `Dask` or `Shards`. A shard is one of a plan, which is
        written to the folder if there is none; it goes on where it ended.
    jobs, dask
        Short for ``on=Local(jobs)`` and ``on=Dask(address)``.
    retries
        How often a run is made again whose worker died, or that was killed from outside.
    resume
        Continue in a folder that has results: runs that were killed, are missing or have changed
        are made.
    fresh
        Use a new process for every run. Otherwise a worker process makes one run after another,
        and is replaced if a run does not end by itself or leaves much memory.
    on_row
        Called with each new row when it is on disk, and the number of runs left.
    on_plan
        Called once with the number of runs to make.
    on_stage
        Called with a worker process of this machine and a text that says what it does, ``None``
        at the end of a run; from other threads.

    Returns
    -------
    pandas.DataFrame
        One row per run, in the order of the suite; `dlsched.display.table.COLUMNS` has the columns.
        Simulations come last; see ``sweeps.simulation_rows``. For a shard, the
        runs that this call has made, as they arrived, with the columns of the store.

    Raises
    ------
    InstanceError
        If the suite cannot be used, the folder has results and `resume` is false, it cannot be
        written to, as on a full disk, or its database is damaged; the message says what is kept.
    OptionError
        If an argument is out of range, the Dask cluster cannot be reached, or this system (Windows)
        cannot limit the time and memory of runs.
    ExtraMissing
        If filelock or psutil, or distributed for a Dask cluster, is not installed.
    NoWorker, ClusterLost
        If no worker can make the runs as they were planned, or the Dask cluster disappears;
        finished runs are kept.
    Terminated
        If the process gets SIGTERM; the current runs are abandoned, finished runs are kept.
    KeyboardInterrupt
        If interrupted; the same.
    """
    place = _place(on, jobs, dask)
    if retries < 0:
        raise OptionError(f"retries={retries} must be at least 0")
    if isinstance(suite, Suite | Plan):
        chosen: Suite | Plan = suite
    else:
        chosen = read_suite(suite)
    if not resume and not isinstance(place, Shards) and (Path(out) / FILE).exists():
        remedy = "add --resume to continue it, or choose another folder"
        raise InstanceError(str(out), "", "has the results of a sweep", remedy)
    for library in ("filelock", "psutil"):  # before a file is written
        require(library, "dlsched bench")
    if isinstance(place, Dask):
        require("distributed", "--dask")
    elif (problem := wire.missing()) is not None:
        raise OptionError(problem)
    sweep = _Sweep(place, retries, fresh, on_row, on_plan, on_stage)
    if isinstance(place, Shards):
        return sweep.run_shard(chosen, Path(out), place)
    return sweep.run(chosen, out)


def _place(on: Place | None, jobs: int, dask: str | None) -> Place:
    """Return where the runs are made."""
    if on is not None and (dask or jobs != 1):
        raise OptionError("on= says where the runs are made; leave out jobs= and dask=")
    if jobs < 1:
        raise OptionError(f"jobs={jobs} must be at least 1")
    return on or (Dask(dask) if dask else Local(jobs))


class _Sweep:
    """A sweep, or a shard of one."""

    def __init__(
        self,
        place: Place,
        retries: int,
        fresh: bool,
        on_row: Callable[[Row, int], None] | None,
        on_plan: Callable[[int], None] | None,
        on_stage: Callable[[object, str | None], None] | None,
    ) -> None:
        self.place, self.retries, self.fresh = place, retries, fresh
        self.on_row, self.on_plan, self.on_stage = on_row, on_plan, on_stage
        self.stop = threading.Event()

    def run(self, suite: Suite | Plan, out: str | Path) -> pandas.DataFrame:
        """Run a whole suite into the folder's store."""
        if isinstance(suite, Plan):
            tasks = list(suite.tasks())
            about = {name: suite.about[name] for name in ("suite", "notes")}
        else:
            tasks = suite.tasks()
            about = {"suite": suite.name, "notes": suite.notes or ""}
        with Store(out, write=True) as store:
            done = store.plan([task.key for task in tasks], about)
            try:
                self._make([task for task in tasks if task.key not in done], store.add)
            except BaseException:
                with contextlib.suppress(DlschedError):  # the first error says what is kept
                    write_table(store)
                raise
            return write_table(store)

    def run_shard(self, suite: Suite | Plan, out: Path, shard: Shards) -> pandas.DataFrame:
        """Run what is left of a shard into a file of this process."""
        plan = suite if isinstance(suite, Plan) else planned(suite, out)
        tasks = shards.unfinished(plan, shard.k, shard.n)
        rows: list[Row] = []
        if not tasks:
            if self.on_plan:
                self.on_plan(0)
            return data_frame(rows)
        with ShardFile(out, shard.k, shard.n) as file:

            def add(outcome: Outcome) -> None:
                file.add(outcome)
                rows.append({n: value for n, value in outcome.row.items() if n != "record"})

            self._make(tasks, add)
        return data_frame(rows)

    def _make(self, tasks: Sequence[Task], add: Callable[[Outcome], None]) -> None:
        """Make the runs, and store each when it ends."""
        remaining = len(tasks)
        if self.on_plan:
            self.on_plan(remaining)
        outcomes = self._outcomes(tasks)
        try:
            with set_at_sigterm(self.stop):
                for outcome in outcomes:
                    add(outcome)
                    remaining -= 1
                    if self.on_row:
                        self.on_row(outcome.row, remaining)
        except Stopped:
            raise Terminated(
                f"ended by SIGTERM with {remaining} runs left; finished runs are kept, and the "
                "same command goes on (with --resume, unless it is a shard)"
            ) from None
        finally:
            outcomes.close()

    def _outcomes(self, tasks: Iterable[Task]) -> Generator[Outcome]:
        if isinstance(self.place, Dask):
            return dask_crew.on_dask(tasks, self.place, self.fresh, self.stop, self.retries)
        tasks = list(tasks)
        if isinstance(self.place, Local):
            jobs = self.place.jobs
        else:
            jobs = self.place.jobs_for(max(task.limits.threads for task in tasks))
        return local_crew.local(tasks, jobs, self.fresh, self.on_stage, self.stop, self.retries)


def planned(suite: Suite, out: Path) -> Plan:
    """Return the plan in a folder, which is written now if there is none.

    Raises
    ------
    InstanceError
        If the folder has the plan of another suite.
    """
    plan = Plan(out) if (out / FOLDER).exists() else write_plan(suite, out)
    if plan.keys != [task.key for task in suite.tasks()]:
        raise others(out)
    return plan


def write_table(store: Store) -> pandas.DataFrame:
    """Write the store's table of all runs, and return it."""
    return store.write_table(stored_runs(store, simulation_rows(store.simulations())))
