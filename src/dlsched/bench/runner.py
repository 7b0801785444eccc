"""Sweeps: all runs of a suite, in worker processes; each row is on disk when its run ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.bench import dask_crew, local_crew, wire
from dlsched.bench.simulations import simulation_rows
from dlsched.bench.statistics import evaluate_rows, run_rows
from dlsched.bench.store import FILE, Store
from dlsched.bench.suite import Suite, read_suite
from dlsched.display.table import Row
from dlsched.errors import DlschedError, InstanceError, OptionError
from dlsched.extras import require

if TYPE_CHECKING:
    import pandas


def run_suite(
    suite: Suite | str | Path,
    out: str | Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
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
        A suite, or its file.
    out
        Folder for ``results.sqlite``, ``results.csv``, ``solutions/`` and ``logs/``; see `Store`.
    jobs
        Number of runs at a time on this machine. Times are comparable only if each run has a core
        of its own.
    dask
        Address of a Dask scheduler whose workers execute the runs instead.
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
        Simulations come last; see `dlsched.bench.simulations.simulation_rows`.

    Raises
    ------
    InstanceError
        If the suite cannot be used, the folder has results and `resume` is false, it cannot be
        written to, as on a full disk, or its database is damaged; the message says what is kept.
    OptionError
        If `jobs` is below 1, the Dask cluster cannot be reached, or this system (Windows) cannot
        limit the time and memory of runs.
    ExtraMissing
        If filelock or psutil, or distributed for a Dask cluster, is not installed.
    NoWorker, ClusterLost
        If no worker can make the runs as they were planned, or the Dask cluster disappears;
        finished runs are kept.
    KeyboardInterrupt
        If interrupted; the current runs are abandoned, finished runs are kept.
    """
    if jobs < 1:
        raise OptionError(f"jobs={jobs} must be at least 1")
    chosen = suite if isinstance(suite, Suite) else read_suite(suite)
    if not resume and (Path(out) / FILE).exists():
        remedy = "add --resume to continue it, or choose another folder"
        raise InstanceError(str(out), "", "has the results of a sweep", remedy)
    for library in ("filelock", "psutil"):  # before a file is written
        require(library, "dlsched bench")
    if dask:
        require("distributed", "--dask")
    elif (problem := wire.missing()) is not None:
        raise OptionError(problem)
    tasks = chosen.tasks()
    with Store(out, write=True) as store:
        about = {"suite": chosen.name, "notes": chosen.notes or ""}
        done = store.plan([task.key for task in tasks], about)
        missing = [task for task in tasks if task.key not in done]
        remaining = len(missing)
        if on_plan:
            on_plan(remaining)
        outcomes = (
            dask_crew.on_dask(missing, dask, fresh)
            if dask
            else local_crew.local(missing, jobs, fresh, on_stage)
        )
        try:
            for outcome in outcomes:
                store.add(outcome)
                remaining -= 1
                if on_row:
                    on_row(outcome.row, remaining)
        except BaseException:
            outcomes.close()
            with contextlib.suppress(DlschedError):  # the first error says what is kept
                _write_table(store)
            raise
        return _write_table(store)


def _write_table(store: Store) -> pandas.DataFrame:
    rows = run_rows(evaluate_rows(store.rows())) + simulation_rows(store.simulations())
    return store.write_table(rows)
