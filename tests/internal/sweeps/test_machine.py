"""Internal: what the machine, its control groups and Slurm allow, and file systems over a network.

No public call reaches these without such a machine.
"""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from dlsched.sweeps import Shards, allotment, memory
from dlsched.sweeps.file_systems import is_on_network

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
    assert allotment.slurm_cpus(given) is None and allotment.slurm_memory(given) is None
    assert allotment.slurm_cpus(JOB | given) == 6 and allotment.slurm_cpus(JOB) == 1
    assert allotment.slurm_memory(JOB | given) == 4 * GIB and allotment.slurm_memory(JOB) is None
    assert allotment.slurm_memory(JOB | {"SLURM_MEM_PER_NODE": "0"}) is None  # all there is


def test_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both versions' quotas count, whole CPUs only, at least one; the least limit wins.

    A shard makes as many runs at a time as these allow, divided by threads, unless it is told.
    """
    nothing = groups(tmp_path / "a", {"job/cpu.max": "max 100000"})
    assert allotment.cpus({}, *nothing) is None
    second = groups(tmp_path / "b", {"job/cpu.max": "350000 100000", "cpu.max": "max 100000"})
    assert allotment.cpus({}, *second) == 3
    assert allotment.cpus(JOB | {"SLURM_CPUS_PER_TASK": "2"}, *second) == 2
    files = {"cpu/job/cpu.cfs_quota_us": "50000", "cpu/job/cpu.cfs_period_us": "100000"}
    first = groups(tmp_path / "c", files, "3:cpu,cpuacct:/job\n")
    assert allotment.cpus({}, *first) == 1
    for given, jobs in ((8, (8, 2, 5)), (None, (1, 1, 5))):
        monkeypatch.setattr(allotment, "cpus", lambda given=given: given)
        shard = Shards(0, 2)
        assert (shard.jobs_for(1), shard.jobs_for(3), Shards(0, 2, jobs=5).jobs_for(3)) == jobs


def test_memory_of_control_groups(tmp_path: Path) -> None:
    """In both versions the group and all above it count; "max" is none; there may be no group."""
    files = {"job/step": "max\n", "job": f"{4 * GIB}\n", ".": f"{8 * GIB}\n", "other": "1\n"}
    second = groups(tmp_path / "2", {f"{name}/memory.max": t for name, t in files.items()})
    assert sorted(memory.group_limits(*second)) == [4 * GIB, 8 * GIB]
    most = 9223372036854771712
    files = {"memory/docker/x": f"{2 * GIB}\n", "memory": f"{most}\n"}
    files = {f"{name}/memory.limit_in_bytes": text for name, text in files.items()}
    first = groups(tmp_path / "1", files, "4:memory:/docker/x\n3:cpuset:/\n0::/\n")
    assert sorted(memory.group_limits(*first)) == [2 * GIB, most]
    hidden = groups(tmp_path / "1", {}, "4:memory:/not/visible/here\n")
    assert list(memory.group_limits(*hidden)) == [most]
    assert list(memory.group_limits(tmp_path / "nothing", tmp_path)) == []


def test_least_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine and groups are divided among the workers, Dask's limit among its threads."""
    machine = SimpleNamespace(total=24 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)
    monkeypatch.setattr(memory, "group_limits", lambda: [])
    assert memory.default_limit(1) == int(0.9 * 24 * GIB)
    assert memory.default_limit(3) == int(0.9 * 8 * GIB)
    assert memory.default_limit(3, dask_limit=GIB, dask_threads=2) == int(0.9 * GIB / 2)
    assert memory.default_limit(3, dask_limit=100 * GIB) == int(0.9 * 8 * GIB)
    monkeypatch.setattr(memory, "group_limits", lambda: [6 * GIB, 12 * GIB])
    assert memory.default_limit(3, dask_limit=None) == int(0.9 * 2 * GIB)
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
