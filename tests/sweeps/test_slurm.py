"""Shards, Dask workers and studies on a real Slurm, if it is installed and nobody has started it.

A folder ``shared/slurm`` beside the checkout or above it, or that which `DLSCHED_SLURM` names, has
programs that start and stop one.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import PATIENCE, run, suite_text
from sweeps import made, merged, settled, shard_arguments, state

SUITE = suite_text(
    'generate = "reclaiming"; seeds = [1, 2, 3, 4, 5]; grid = { servers = [5, 6] }',
    "lyra",
    "slurm_slow:f; seeds = [0, 1]",
    wall_limit=300,
)
RUNS = 30
SLOW = """
import os, time
from pathlib import Path

def f(instance, rng):
    folder = Path(os.environ["SLURM_TEST"])
    while len(instance.servers) > 5 and not (folder / "open").exists():
        time.sleep(0.05)
    return {"returned": [server.id for server in instance.servers][: instance.demand]}
"""
NAMED = [Path(os.environ["DLSCHED_SLURM"])] if "DLSCHED_SLURM" in os.environ else []
PLACES = NAMED or [p / "shared" / "slurm" for p in Path(__file__).resolve().parents[2:]]
PROGRAMS = [folder for folder in PLACES if (folder / "start").exists()]
SHARD = [sys.executable, "-m", "dlsched", *shard_arguments("$SLURM_ARRAY_TASK_ID/3"), "--quiet"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start a Slurm for these tests, and stop it after them."""
    if not PROGRAMS or shutil.which("slurmctld") is None or os.geteuid() != 0:
        pytest.skip("there is no shared/slurm beside the checkout, no Slurm, or this is not root")
    if subprocess.call(["pgrep", "-x", "slurmctld"], stdout=subprocess.DEVNULL) == 0:
        pytest.skip("another Slurm is running on this machine")
    folder = tmp_path_factory.mktemp("slurm")
    with (folder / "printed").open("wb") as printed:
        how: dict[str, Any] = {"stdout": printed, "stderr": printed, "timeout": PATIENCE}
        subprocess.call([PROGRAMS[0] / "start", folder], **how)
        yield
        subprocess.call([PROGRAMS[0] / "stop", folder], **how)


@pytest.fixture
def place(slurm: None, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a working directory with a suite; half of it waits for the file ``open``."""
    (workdir / "suite.toml").write_text(SUITE)
    (workdir / "slurm_slow.py").write_text(SLOW)
    monkeypatch.setenv("SLURM_TEST", str(workdir))
    return workdir


def submit(array: str, *options: str) -> str:
    """Submit shards as an array; return the job's number."""
    command = [
        *("sbatch", "--parsable", f"--array={array}", "--account=lab1", "--mem=900M"),
        *("--requeue", "--open-mode=append", "-o", "printed-%a.txt", *options),
        *("--wrap", " ".join(SHARD)),
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def called(*command: str) -> str:
    """Return what a command of Slurm prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what}: {called('squeue')} {printed()}"
        time.sleep(0.5)


def printed() -> str:
    """Return what the shards have printed."""
    return "\n".join(f"{f.name}: {f.read_text()}" for f in sorted(Path().glob("printed-*")))


def until_ended() -> None:
    """Wait until no job is left."""
    until(lambda: not called("squeue", "-h").strip(), "the array ends")


def is_one_sweep(out: str) -> None:
    """The rows are those of one sweep of the same suite."""
    made(out="one")
    assert len(settled(out)) == RUNS and settled(out) == settled("one"), printed()


def test_array_is_one_sweep(place: Path) -> None:
    """An array of three tasks, merged, has the rows of one sweep."""
    (place / "open").touch()
    submit("0-2", "--time=5")
    until_ended()
    merged()
    is_one_sweep("out")


def test_cancelled_requeued_and_timed_out(place: Path) -> None:
    """scancel, requeue and the time limit lose nothing; the missing tasks are submitted again."""
    job = submit("0-2", "--time=1")
    until(lambda: Path("out/results.sqlite").exists(), "the sweep begins")
    until(lambda: min(state(n=3).done) > 0, "every shard has a row")
    called("scancel", f"{job}_0")
    called("scontrol", "requeue", f"{job}_1")
    until(lambda: "DUE TO TIME LIMIT" in Path("printed-2.txt").read_text(), "the time limit")
    until(lambda: printed().count("ended by SIGTERM") >= 3, "all say so")
    assert min(state().done) > 0 and state().missing
    called("scancel", job)  # the requeued task, which waits for two minutes
    until_ended()
    left = state().indices
    assert left == "0-2"
    (place / "open").touch()
    submit(left, "--time=5")
    until_ended()
    merged()
    is_one_sweep("out")


def test_jobqueue(place: Path) -> None:
    """The workers that dask-jobqueue submits make the runs."""
    jobqueue = pytest.importorskip("dask_jobqueue")
    (place / "open").touch()
    folders = {"local_directory": str(place / "dask"), "log_directory": str(place / "logs")}
    with jobqueue.SLURMCluster(
        **{"queue": "gpu", "account": "lab1", "interface": "lo", "walltime": "00:10:00"},
        **{"cores": 1, "processes": 1, "memory": "1GB"},
        **folders,
    ) as cluster:
        cluster.scale(jobs=2)
        made(out="jobqueue", on=cluster)
    is_one_sweep("jobqueue")


@pytest.mark.skipif(shutil.which("sacct") is None, reason="there is no sacct here")
def test_a_real_record_is_explained(slurm: None, tmp_path: Path) -> None:
    """Nothing but this Slurm decided the waits: the replay agrees, nearly all are explained."""
    subprocess.run([PROGRAMS[0] / "submit", "90"], check=True, capture_output=True)
    time.sleep(60)
    line = run("study", "--command", "slurm").output.partition(" > ")[0]
    line = line.replace("2026-01-01", "now-1hour")
    record = subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout
    (tmp_path / "sacct.txt").write_text(record)
    history = dlsched.read_history(tmp_path / "sacct.txt", "sacct", timezone="UTC")
    made = dlsched.study(history, ["fifo", "backfill"], delay=2)
    assert len(made.recorded.jobs) >= 10
    assert made.check, made.check
    assert made.explained.share >= 0.9
    assert made.limits[0].mean_jct <= made.table["mean_jct"].min()
