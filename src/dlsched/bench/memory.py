"""The memory that a run may take if its suite states no limit.

It is 90 % of the least of: the machine's memory and that of each control group (cgroup, version 1
or 2) that this process is in, both divided by the number of worker processes on the machine, and
the limit of the Dask worker, divided by the number of its threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

SHARE = 0.9
"""What runs may take of the memory; the rest is for the system and the workers themselves."""
_GROUPS, _ROOT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_LIMIT_FILES = {"": "memory.max", "memory": "memory.limit_in_bytes"}
"""The file with a group's limit, by the controller's name in the list of groups."""


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
    if dask_limit:
        shares.append(dask_limit / max(1, dask_threads))
    return int(SHARE * min(shares))


def group_limits(groups: Path = _GROUPS, root: Path = _ROOT) -> Iterator[int]:
    """Yield the memory limits in bytes of this process's control groups and of those above them.

    Parameters
    ----------
    groups
        The list of groups, with lines ``number:controllers:path``.
    root
        Where the groups are mounted. A container may see its own group there.
    """
    try:
        lines = groups.read_text().splitlines()
    except OSError:  # a system without control groups
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller in _LIMIT_FILES:
                yield from _limits_above(root / controller, path, _LIMIT_FILES[controller])


def _limits_above(mount: Path, path: str, file: str) -> Iterator[int]:
    group = mount / path.lstrip("/")
    for folder in (group, *group.parents):
        if folder.is_relative_to(mount):
            try:
                text = (folder / file).read_text().strip()
            except OSError:
                continue
            if text.isdigit():  # "max" is no limit
                yield int(text)
