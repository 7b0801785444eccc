"""The memory that a run may take: the least of what the machine, its groups and Dask allow."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from dlsched.sweeps import memory

GIB = 2**30


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder for control groups of this process; the machine has 24 GiB."""
    machine = SimpleNamespace(total=24 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)
    monkeypatch.setattr(memory, "group_limits", lambda: [])
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    """Write a file of a control group."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def limits(folder: Path, listed: str) -> list[int]:
    """Return the limits found below a folder, for a process that is in the listed groups."""
    write(folder, "cgroup", listed)
    return sorted(TRUE_LIMITS(folder / "cgroup", folder))


TRUE_LIMITS = memory.group_limits


def test_version_2(groups: Path) -> None:
    """The limits of the group and of all above it count; "max" is none."""
    write(groups / "job/step", "memory.max", "max\n")
    write(groups / "job", "memory.max", f"{4 * GIB}\n")
    write(groups, "memory.max", f"{8 * GIB}\n")
    write(groups / "other", "memory.max", "1\n")
    assert limits(groups, "0::/job/step\n") == [4 * GIB, 8 * GIB]


def test_version_1(groups: Path) -> None:
    """The memory controller's groups count, a container's own is the mount; there may be none."""
    write(groups / "memory/docker/x", "memory.limit_in_bytes", f"{2 * GIB}\n")
    write(groups / "memory", "memory.limit_in_bytes", "9223372036854771712\n")
    listed = "4:memory:/docker/x\n3:cpuset:/\n0::/\n"
    assert limits(groups, listed)[0] == 2 * GIB
    assert limits(groups, "4:memory:/not/visible/here\n") == [9223372036854771712]
    assert list(TRUE_LIMITS(groups / "nothing", groups)) == []


def test_least_limit(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine and groups are divided among the workers, Dask's limit among its threads."""
    assert memory.default_limit(1) == int(0.9 * 24 * GIB)
    assert memory.default_limit(3) == int(0.9 * 8 * GIB)
    assert memory.default_limit(3, dask_limit=GIB) == int(0.9 * GIB)
    assert memory.default_limit(3, dask_limit=GIB, dask_threads=2) == int(0.9 * GIB / 2)
    assert memory.default_limit(3, dask_limit=100 * GIB) == int(0.9 * 8 * GIB)
    monkeypatch.setattr(memory, "group_limits", lambda: [6 * GIB, 12 * GIB])
    assert memory.default_limit(3, dask_limit=None) == int(0.9 * 2 * GIB)
