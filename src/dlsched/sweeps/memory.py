"""The memory that a run may take if its suite states no limit.

It is 90 % of the least of: the machine's memory and that of each control group (cgroup, version 1
or 2) that this process is in, both divided by the number of worker processes on the machine; the
memory of a Slurm job, divided by the number of its worker processes; and the limit of the Dask
worker, divided by the number of its threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dlsched.sweeps import allotment
from dlsched.sweeps.allotment import GROUPS, ROOT

SHARE = 0.9
"""What runs may take of the memory; the rest is for the system and the workers themselves."""
_LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
"""The file with a group's limit, in version 2 and 1."""


def default_limit(workers: int, dask_limit: int | None = None, dask_threads: int = 1) -> int:
    """Return the bytes that a run may take.

    Parameters
    ----------
    workers
        Number of worker processes on this machine.
    dask_limit
        Memory limit of this Dask worker in bytes; ``None`` if it has none.
    dask_threads
        Number of its threads, each of which makes a run.
    """
    import psutil

    shared = [psutil.virtual_memory().total, *group_limits()]
    shares = [limit / max(1, workers) for limit in shared]
    of_job = allotment.slurm_memory()
    if of_job:
        shares.append(of_job / max(1, workers if dask_limit is None else dask_threads))
    if dask_limit:
        shares.append(dask_limit / max(1, dask_threads))
    return int(SHARE * min(shares))


def group_limits(groups: Path = GROUPS, root: Path = ROOT) -> Iterator[int]:
    """Yield the memory limits in bytes of this process's control groups and of those above them.

    Parameters are those of `dlsched.sweeps.allotment.group_folders`.
    """
    for folder in allotment.group_folders("memory", groups, root):
        for file in _LIMIT_FILES:
            try:
                text = (folder / file).read_text().strip()
            except OSError:
                continue
            if text.isdigit():  # "max" is no limit
                yield int(text)
