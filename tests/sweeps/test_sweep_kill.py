"""Sweeps that are killed, whole or in part, and then resumed, end as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from calls import FIG5, MAIN, started, suite_text
from sweeps import Rows, failed, keys, made, rows, settled

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
GATED_RUNS = 100


def begin(*options: str) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """Start the sweep; return it and its two workers once both are blocked in a run."""
    command = ["bench", "suite.toml", "-o", "out", "-j", "2", *options]
    process = started(MAIN, *command, start_new_session=True, **QUIET)
    while len(waiting := list(Path().glob("waiting-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    return process, [psutil.Process(int(file.name.partition("-")[2])) for file in waiting]


@pytest.mark.slow
@pytest.mark.parametrize("group", [False, True])
def test_killed_runner(group: bool, gated: Path, whole: Rows) -> None:
    """After kill -9 of the runner, or of its process group, its workers end; resuming completes."""
    process, workers = begin()
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    psutil.wait_procs(workers)
    before = [kept["key"] for kept in rows()]
    assert 20 <= len(before) < GATED_RUNS
    Path("open").touch()
    again = [new["key"] for new in made(jobs=2, resume=True)]
    assert sorted([*before, *again]) == sorted(kept["key"] for kept in whole)
    assert settled() == whole


@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 2])
def test_killed_workers(retries: int, gated: Path, whole: Rows) -> None:
    """A worker that is killed costs its current run, which is made again, now or by resuming."""
    process, workers = begin("--retries", str(retries))
    numbers = [signal.SIGKILL, signal.SIGTERM]
    for worker, number in zip(workers, numbers, strict=True):
        worker.send_signal(number)
    Path("open").touch()
    process.wait()
    first = settled()
    assert len(first) == GATED_RUNS
    killed = [row for row in first if row["status"] == "killed"]
    reasons = set() if retries else {f"by {number.name}" for number in numbers}
    assert {row["reason"] for row in killed} == reasons
    again = [row["key"] for row in made(resume=True)]
    assert again == [row["key"] for row in killed] and len(again) == len(reasons)
    assert settled() == whole


DIES = """
import os, signal
from pathlib import Path

def f(instance, rng):
    file = Path(os.environ["DEATHS"])
    left = int(file.read_text())
    file.write_text(str(left - 1))
    if left > 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"returned": [server.id for server in instance.servers[: instance.demand]]}
"""


@pytest.mark.parametrize(("deaths", "retries"), [(2, 2), (2, 1)])
def test_run_whose_workers_die(
    deaths: int, retries: int, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a run is made again as often as stated, then is a row that resuming makes again."""
    monkeypatch.setenv("DEATHS", str(workdir / "deaths"))
    Path("deaths").write_text(str(deaths))
    Path("mine_dies.py").write_text(DIES)
    Path("suite.toml").write_text(suite_text(FIG5, "lyra", "mine_dies:f", "scf"))
    made(retries=retries)
    enough = retries >= deaths
    assert [row["status"] for row in rows()] == [
        "feasible", "feasible" if enough else "killed", "feasible",
    ]  # fmt: skip
    assert "SIGKILL" in rows()[1]["reason"] or enough
    assert len(made(resume=True)) == 1 - enough
    assert [row["status"] for row in rows()] == ["feasible"] * 3


@pytest.mark.parametrize("deaths", ["1", "for ever"])
def test_worker_that_does_not_start(
    deaths: str, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker killed before it is ready is replaced; if none starts there is one clear error."""
    Path("suite.toml").write_text(suite_text(FIG5, "lyra", "random; seeds = [0, 1, 2]"))
    die = "if [ ! -e once ]; then touch once; kill -9 $$; fi" if deaths == "1" else "exit 1"
    Path("python").write_text(
        f'#!/bin/sh\necho no such thing as dlsched >&2\n{die}\nexec {sys.executable} "$@"\n'
    )
    Path("python").chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(Path("python").resolve()))
        said = failed()
    assert (not said) == (deaths == "1") == Path("once").exists()
    assert not said or "can be started: no such thing as dlsched" in said
    assert len(made(resume=True)) == (4 if said else 0)
    assert [row["key"] for row in rows()] == keys()


LARGE = """
import numpy as np

def f(instance, rng):
    kept = np.ones(100_000_000)
    return {"returned": [s.id for s in instance.servers][: instance.demand + int(kept[0]) - 1]}
"""
"""Holds 800 MB, which is more than a run may take, or not."""


@pytest.mark.parametrize("stated", [True, False])
def test_memory_of_the_machine(
    stated: bool, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run above its share of a Slurm job is killed, and made again where there is more memory.

    A limit that the suite states is part of the run: its row says so, and stays.
    """
    Path("mine_large.py").write_text(LARGE)
    limit = {"memory_limit_gib": 0.5} if stated else {}
    Path("suite.toml").write_text(suite_text(FIG5, "lyra", "mine_large:f", **limit))
    with monkeypatch.context() as patch:
        patch.setenv("SLURM_JOB_ID", "7")
        patch.setenv("SLURM_MEM_PER_CPU", "300")
        patch.setenv("SLURM_CPUS_ON_NODE", "2")
        made(retries=0)
    first, large = rows()
    assert first["status"] == "feasible"
    words = "above 0.50 GiB" if stated else "above 0.53 GiB, this machine's share for a run"
    assert (large["status"], words in large["reason"]) == ("memory" if stated else "killed", True)
    again = [row["status"] for row in made(resume=True)]
    assert again == ([] if stated else ["feasible"])
