"""A sweep: every run of a suite, in processes of their own, each on disk as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.bench import pools
from dlsched.bench.safe_csv import csv_bytes
from dlsched.bench.store import FILE, Store
from dlsched.bench.suite import Suite, read_suite
from dlsched.errors import InstanceError, OptionError
from dlsched.files import write_bytes

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]


def run_suite(
    suite: Suite | str | Path,
    out: str | Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    resume: bool = False,
    fresh: bool = False,
    on_row: Callable[[Row, int], None] | None = None,
) -> pandas.DataFrame:
    """Run every method of a suite on every instance.

    Parameters
    ----------
    suite
        A suite, or its file.
    out
        Folder for ``results.sqlite``, ``results.csv`` and ``solutions/``; see `Store`.
    jobs
        How many runs at a time on this machine. Times are comparable only if each run has a core
        to itself.
    dask
        Address of a Dask scheduler whose workers make the runs instead.
    resume
        Go on in a folder that has results: what was killed, is missing or has changed is run.
    fresh
        Give every run a new process. Otherwise a worker makes one run after another; it is
        replaced if a run fails to end by itself, or leaves much memory behind.
    on_row
        Called with each new row as soon as it is on disk, and the number of runs still to come.

    Returns
    -------
    pandas.DataFrame
        One row per run, in the order of the suite.

    Raises
    ------
    InstanceError
        If the suite cannot be used, the folder has results and `resume` is false, or its database
        is damaged or cannot be written; the message says what is kept.
    OptionError
        If `jobs` is below 1, or the Dask cluster cannot be reached.
    NoWorker, ClusterLost
        If no worker process can be started, or the Dask cluster is lost on the way; what had
        finished is kept.
    KeyboardInterrupt
        If interrupted; the runs at hand are given up, what had finished is kept.
    """
    if jobs < 1:
        raise OptionError(f"jobs={jobs} must be at least 1")
    chosen = suite if isinstance(suite, Suite) else read_suite(suite)
    if not resume and (Path(out) / FILE).exists():
        remedy = "add --resume to go on with it, or choose another folder"
        raise InstanceError(str(out), "", "has the results of a sweep", remedy)
    tasks = chosen.tasks()
    with Store(out, write=True) as store:
        about = {"suite": chosen.name, "notes": chosen.notes or ""}
        done = store.plan([task.key for task in tasks], about)
        left = [task for task in tasks if task.key not in done]
        outcomes = pools.on_dask(left, dask, fresh) if dask else pools.local(left, jobs, fresh)
        coming = len(left)
        try:
            for outcome in outcomes:
                store.add(outcome)
                coming -= 1
                if on_row:
                    on_row(outcome.row, coming)
        finally:
            outcomes.close()
            frame = store.frame()
            write_bytes(Path(out) / "results.csv", csv_bytes(frame))
    return frame
