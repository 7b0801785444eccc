"""Sweeps that are killed, whole or in part, and then resumed, end as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from calls import FIG5, MAIN, started, suite_text
from dlsched.sweeps import local_crew, pools, run_suite, worker_process
from sweeps import RUNS, made, settled


def begin(*options: str) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """Start the sweep; return it and its two workers once both are blocked in a run."""
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = ["bench", "sweep.toml", "-o", "out", "-j", "2", *options]
    process = started(MAIN, *command, start_new_session=True, **streams)
    while len(waiting := list(Path().glob("waiting-*"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    return process, [psutil.Process(int(file.name.partition("-")[2])) for file in waiting]


def resume() -> list[dict[str, Any]]:
    """Let blocked methods go on, resume the sweep and return its rows."""
    Path("open").touch()
    run_suite("sweep.toml", "out", jobs=2, resume=True)
    return settled("out")


@pytest.mark.slow
@pytest.mark.parametrize("group", [False, True])
def test_killed_runner(group: bool, folder: Path, whole: list[Any]) -> None:
    """After kill -9 of the runner, or of its process group, its workers end; resuming completes."""
    process, workers = begin()
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    psutil.wait_procs(workers)
    before = settled("out")
    assert 20 <= len(before) < RUNS
    again = resume()
    assert again == whole and len({row["key"] for row in again}) == RUNS


@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 2])
def test_killed_workers(retries: int, folder: Path, whole: list[Any]) -> None:
    """A worker that is killed costs its current run, which is made again, now or by resuming."""
    process, workers = begin("--retries", str(retries))
    numbers = [signal.SIGKILL, signal.SIGTERM]
    for worker, number in zip(workers, numbers, strict=True):
        worker.send_signal(number)
    Path("open").touch()
    process.wait()
    first = settled("out")
    assert len(first) == RUNS
    killed = [row for row in first if row["status"] == "killed"]
    reasons = set() if retries else {f"by {number.name}" for number in numbers}
    assert {row["reason"] for row in killed} == reasons
    again = [row["key"] for row in made("sweep.toml", "out", resume=True)]
    assert again == [row["key"] for row in killed] and len(again) == len(reasons)
    assert settled("out") == whole


def test_killed_at_start(workdir: Path, shared: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker killed before it is ready is replaced; no run is lost or marked."""
    Path("suite.toml").write_text(suite_text(FIG5, "lyra", "random; seeds = [0, 1, 2]"))
    with monkeypatch.context() as patch:
        patch.setattr(local_crew, "WorkerProcess", shared)
        run_suite("suite.toml", "undisturbed")
    started: list[Any] = []
    start = subprocess.Popen

    def killed_at_once(*arguments: Any, **options: Any) -> Any:
        started.append(start(*arguments, **options))
        if len(started) == 1:
            started[-1].kill()
        return started[-1]

    monkeypatch.setattr(worker_process.subprocess, "Popen", killed_at_once)
    run_suite("suite.toml", "out")
    assert len(started) == 2
    assert len(settled("out")) == 4 and settled("out") == settled("undisturbed")


def test_no_worker_can_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If workers never start there is one clear error, with the output of the last one."""
    Path("broken").write_text("#!/bin/sh\necho no such thing as dlsched >&2\n")
    Path("broken").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(Path("broken").resolve()))
    with pytest.raises(pools.NoWorker, match="can be started: no such thing as dlsched"):
        run_suite("sweep.toml", "out")
