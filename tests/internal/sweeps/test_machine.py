"""Internal: what the machine, its control groups and Slurm allow, and file systems over a network.

No public call reaches these without such a machine.
"""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from dlsched.sweeps import work
from dlsched.sweeps.store import is_on_network

GIB = 2**30
JOB = {"SLURM_JOB_ID": "7"}


def groups(
    folder: Path, files: dict[str, str], listed: str = "0::/job/step\n"
) -> tuple[Path, Path]:
    """Write files of control groups; return the list of groups and their root."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    folder.mkdir(exist_ok=True)
    (folder / "cgroup").write_text(listed)
    return folder / "cgroup", folder


def test_slurm_variables() -> None:
    """CPUs and memory are what the variables of a job say; outside of one they say nothing."""
    given = {"SLURM_CPUS_PER_TASK": "6", "SLURM_MEM_PER_NODE": "4096"}
    none = Path("/nowhere")
    assert work.cpus(given, none, none) == 1 and work.slurm_memory(given) is None
    assert work.cpus(JOB | given, none, none) == 6 and work.cpus(JOB, none, none) == 1
    assert work.slurm_memory(JOB | given) == 4 * GIB and work.slurm_memory(JOB) is None
    assert work.slurm_memory(JOB | {"SLURM_MEM_PER_NODE": "0"}) is None  # all there is


def test_cpus(tmp_path: Path) -> None:
    """Quotas count, whole CPUs only, at least one; the least limit wins."""
    nothing = groups(tmp_path / "a", {"job/cpu.max": "max 100000"})
    assert work.cpus({}, *nothing) == 1
    second = groups(tmp_path / "b", {"job/cpu.max": "350000 100000", "cpu.max": "max 100000"})
    assert work.cpus({}, *second) == 3
    assert work.cpus(JOB | {"SLURM_CPUS_PER_TASK": "2"}, *second) == 2
    less = groups(tmp_path / "c", {"job/cpu.max": "50000 100000"})
    assert work.cpus({}, *less) == 1


def test_memory_of_control_groups(tmp_path: Path) -> None:
    """The group and all above it count; "max" is none; there may be no group."""
    files = {"job/step": "max\n", "job": f"{4 * GIB}\n", ".": f"{8 * GIB}\n", "other": "1\n"}
    second = groups(tmp_path / "2", {f"{name}/memory.max": t for name, t in files.items()})
    assert sorted(work.group_limits("memory.max", *second)) == [4 * GIB, 8 * GIB]
    hidden = groups(tmp_path / "2", {}, "4:memory:/job\n0::/not/visible/here\n")
    assert list(work.group_limits("memory.max", *hidden)) == [8 * GIB]
    assert list(work.group_limits("memory.max", tmp_path / "nothing", tmp_path)) == []


def test_least_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine, groups, a Slurm job are divided among the runs, Dask's limit among its threads."""
    limits = {"machine": 24 * GIB, "slurm": None}
    dask = SimpleNamespace(
        state=SimpleNamespace(nthreads=2), memory_manager=SimpleNamespace(memory_limit=GIB)
    )
    monkeypatch.setattr(work, "_machine_bytes", lambda: limits["machine"])
    monkeypatch.setattr(work, "slurm_memory", lambda: limits["slurm"])
    monkeypatch.setattr(work, "group_limits", lambda controller: [])
    assert work.memory_share(1) == int(0.9 * 24 * GIB)
    assert work.memory_share(3) == int(0.9 * 8 * GIB)
    monkeypatch.setattr(work, "group_limits", lambda controller: [6 * GIB, 12 * GIB])
    assert work.memory_share(3) == int(0.9 * 2 * GIB)
    limits["slurm"] = GIB
    assert work.memory_share(2) == int(0.9 * GIB / 2)
    monkeypatch.setattr(work, "_dask_worker", lambda: dask)
    assert work.memory_share(None) == int(0.9 * GIB / 2)


def test_network_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mount that is nearest above a folder says whether it is on the network."""
    kinds = {
        "/": "ext4",
        tmp_path: "nfs4",
        tmp_path / "local disk": "xfs",
        tmp_path / "l": "lustre",
    }
    disks = [SimpleNamespace(mountpoint=str(p), fstype=kind) for p, kind in kinds.items()]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: disks)
    assert is_on_network(tmp_path / "new") and is_on_network(tmp_path / "l/x")
    assert not is_on_network(tmp_path / "local disk/x") and not is_on_network(Path("/"))
    disks.clear()
    assert not is_on_network(tmp_path)
