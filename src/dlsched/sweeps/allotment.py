"""What a batch system or a container has given to this process: CPUs and memory.

Slurm states it in variables (``SLURM_CPUS_PER_TASK``, ``SLURM_MEM_PER_NODE``,
``SLURM_MEM_PER_CPU``, see sbatch(1)); a container, as of a Kubernetes pod, by its control group
(cgroup, version 1 or 2).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

GROUPS, ROOT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_MIB = 2**20


def slurm_cpus(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the CPUs of this task of a Slurm job; ``None`` outside of Slurm."""
    if "SLURM_JOB_ID" not in environment:
        return None
    return _number(environment, "SLURM_CPUS_PER_TASK") or 1  # a task has one unless it asks


def slurm_memory(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the bytes of memory of this node's part of a Slurm job; ``None`` if none is stated."""
    if "SLURM_JOB_ID" not in environment:
        return None
    whole = _number(environment, "SLURM_MEM_PER_NODE")
    if whole:
        return whole * _MIB
    of_cpu = _number(environment, "SLURM_MEM_PER_CPU")
    if not of_cpu:
        return None
    return of_cpu * (_number(environment, "SLURM_CPUS_ON_NODE") or 1) * _MIB


def _number(environment: Mapping[str, str], name: str) -> int | None:
    """Return a variable as a number; 0, by which Slurm means all, and other texts are none."""
    text = environment.get(name, "")
    return int(text) or None if text.isdecimal() else None


def cpus(
    environment: Mapping[str, str] = os.environ, groups: Path = GROUPS, root: Path = ROOT
) -> int | None:
    """Return the whole CPUs that this process has been given, at least 1.

    It is the least of what Slurm states and the control groups allow; ``None`` if neither limits
    them.
    """
    limits = [int(share) for share in group_cpus(groups, root)]
    stated = slurm_cpus(environment)
    if stated is not None:
        limits.append(stated)
    return max(1, min(limits)) if limits else None


def group_cpus(groups: Path = GROUPS, root: Path = ROOT) -> Iterator[float]:
    """Yield the CPUs that this process's control groups and those above them allow."""
    for folder in group_folders("cpu", groups, root):
        quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
        if not quota:
            quota, _, period = _text(folder / "cpu.max").partition(" ")
        if quota.isdecimal() and period.isdecimal() and int(period):  # "max", -1 are no limit
            yield int(quota) / int(period)


def group_folders(controller: str, groups: Path = GROUPS, root: Path = ROOT) -> Iterator[Path]:
    """Yield the folders of this process's control groups, and of those above them.

    Parameters
    ----------
    controller
        ``"cpu"`` or ``"memory"``; it has a tree of its own in version 1.
    groups
        The list of groups, with lines ``number:controllers:path``.
    root
        Where the groups are mounted. A container may see its own group there.
    """
    for line in _text(groups).splitlines():
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers and controller not in names:
            continue
        mount = root / (controller if controllers else "")
        group = mount / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(mount):
                yield folder


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:  # a system without control groups, or none of this controller
        return ""
