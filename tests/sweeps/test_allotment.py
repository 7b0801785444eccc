"""CPUs and memory that Slurm or a container has given, and file systems over the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlsched.sweeps import Shards, allotment, memory
from dlsched.sweeps.file_systems import is_on_network

GIB = 2**30
JOB = {"SLURM_JOB_ID": "7"}


def groups(folder: Path, files: dict[str, str], listed: str = "0::/job\n") -> tuple[Path, Path]:
    """Write files of control groups; return the list of groups and their root."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "cgroup").write_text(listed)
    return folder / "cgroup", folder


def test_slurm_variables() -> None:
    """CPUs and memory are what the variables of a job say; outside of one they say nothing."""
    given = {"SLURM_CPUS_PER_TASK": "6", "SLURM_MEM_PER_NODE": "4096"}
    assert allotment.slurm_cpus(given) is None and allotment.slurm_memory(given) is None
    assert allotment.slurm_cpus(JOB | given) == 6 and allotment.slurm_cpus(JOB) == 1
    assert allotment.slurm_memory(JOB | given) == 4 * GIB and allotment.slurm_memory(JOB) is None
    by_cpu = JOB | {"SLURM_MEM_PER_CPU": "2048", "SLURM_CPUS_ON_NODE": "3"}
    assert allotment.slurm_memory(by_cpu) == 6 * GIB
    assert allotment.slurm_memory(JOB | {"SLURM_MEM_PER_NODE": "0"}) is None  # all there is


def test_cpus_of_control_groups(tmp_path: Path) -> None:
    """Both versions' quotas count, whole CPUs only, at least one; the least limit wins."""
    nothing = groups(tmp_path / "a", {"job/cpu.max": "max 100000"})
    assert allotment.cpus({}, *nothing) is None
    second = groups(tmp_path / "b", {"job/cpu.max": "350000 100000", "cpu.max": "max 100000"})
    assert allotment.cpus({}, *second) == 3
    assert allotment.cpus(JOB | {"SLURM_CPUS_PER_TASK": "2"}, *second) == 2
    files = {"cpu/job/cpu.cfs_quota_us": "50000", "cpu/job/cpu.cfs_period_us": "100000"}
    first = groups(tmp_path / "c", files, "3:cpu,cpuacct:/job\n")
    assert allotment.cpus({}, *first) == 1


def test_jobs_of_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard makes as many runs at a time as CPUs allow, divided by threads, unless it is told."""
    monkeypatch.setattr(allotment, "cpus", lambda: 8)
    assert Shards(0, 2).jobs_for(1) == 8 and Shards(0, 2).jobs_for(3) == 2
    assert Shards(0, 2, jobs=5).jobs_for(3) == 5
    monkeypatch.setattr(allotment, "cpus", lambda: None)
    assert Shards(0, 2).jobs_for(1) == 1


def test_memory_of_a_slurm_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job's memory is divided among its runs, as the machine's is."""
    monkeypatch.setattr(memory, "group_limits", lambda: [])
    monkeypatch.setattr(allotment, "slurm_memory", lambda: GIB)
    assert memory.default_limit(2) == int(0.9 * GIB / 2)
    assert memory.default_limit(8, dask_limit=0, dask_threads=2) == int(0.9 * GIB / 2)


def test_network_file_systems(tmp_path: Path) -> None:
    """The mount that is nearest above a folder says whether it is on the network."""
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"/dev/sda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n"
        f"/dev/sdb {tmp_path}/local\\040disk xfs rw 0 0\nx {tmp_path}/l lustre rw 0 0\n"
    )
    assert is_on_network(tmp_path / "new", mounts) and is_on_network(tmp_path / "l/x", mounts)
    assert not is_on_network(tmp_path / "local disk/x", mounts)
    assert not is_on_network(Path("/"), mounts)
    assert not is_on_network(tmp_path, tmp_path / "none")
