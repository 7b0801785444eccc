"""A shard of a planned sweep: its runs that are not made yet, into a file of this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dlsched.sweeps.plan import Plan
from dlsched.sweeps.shard_file import Entry, read_file, shards_of
from dlsched.sweeps.store import AGAIN
from dlsched.sweeps.task import Task


def finished(folder: Path, k: int, n: int) -> set[str]:
    """Return the keys of the runs that need not be made again, as far as they concern a shard.

    What a division into another number of shards has made counts as well.
    """
    shards = shards_of(folder)
    others = any(of != n for _, of in shards)
    return {
        entry.about["key"]
        for (i, of), files in shards.items()
        if others or (i, of) == (k, n)
        for entry in entries(files)
        if entry.about["status"] not in AGAIN
    }


def entries(files: list[Path]) -> Iterator[Entry]:
    """Yield the runs of several files of shards."""
    for file in files:
        yield from read_file(file)[1]


def unfinished(plan: Plan, k: int, n: int) -> list[Task]:
    """Return the tasks of a shard that are to be made."""
    done = finished(plan.folder, k, n)
    return [task for task in plan.tasks(k, n) if task.key not in done]
