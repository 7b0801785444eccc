"""Sweeps that are killed, whole or in part, and then resumed, end as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from dlsched.bench import Store, run_suite, worker_process

COMMAND = [sys.executable, "-c", "from dlsched.cli import main; main()", "bench", "sweep.toml"]
PATIENCE = 60
Settled = Callable[[str], list[dict[str, Any]]]


def begin() -> subprocess.Popen[bytes]:
    """Start the sweep of 500 runs and return once fifty of them are on disk."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        [*COMMAND, "-o", "out", "-j", "2"], stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(0.02)
        if Path("out/results.sqlite").exists() and made() >= 50:
            return process
    raise TimeoutError("the sweep did not get going")


def made() -> int:
    """Return how many runs are on disk."""
    try:
        with Store("out") as store:
            return len(store.rows())
    except Exception:  # it is being made at this very moment
        return 0


def workers(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the worker processes of a sweep."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "dlsched.bench.worker" in " ".join(child.cmdline())]


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of them end within the time that this takes at most."""
    return not psutil.wait_procs(processes, timeout=PATIENCE)[1]


def test_killed_runner(folder: Path, settled: Settled, whole: list[Any]) -> None:
    """After kill -9 of the runner its workers end, and resuming gives the undisturbed rows."""
    process = begin()
    own = workers(process)
    assert len(own) == 2
    process.kill()
    process.wait()
    assert gone(own)
    before = settled("out")
    assert 50 <= len(before) < 500
    frame = run_suite("sweep.toml", "out", jobs=2, resume=True)
    assert len(frame) == 500 and frame["key"].is_unique
    assert settled("out") == whole


def test_killed_group(folder: Path, settled: Settled, whole: list[Any]) -> None:
    """After kill -9 of the runner's whole process group nothing is left running, nor lost."""
    process = begin()
    own = workers(process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert gone(own)
    run_suite("sweep.toml", "out", jobs=2, resume=True)
    assert settled("out") == whole


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_worker(
    number: signal.Signals, folder: Path, settled: Settled, whole: list[Any]
) -> None:
    """A worker that is killed costs at most the run at hand, which resuming makes again."""
    process = begin()
    for worker in workers(process):
        worker.send_signal(number)
    process.wait(PATIENCE)
    first = settled("out")
    assert len(first) == 500
    killed = [row for row in first if row["status"] == "killed"]
    assert len(killed) <= 2 and all(row["reason"] == f"by {number.name}" for row in killed)
    again: list[Any] = []
    run_suite("sweep.toml", "out", resume=True, on_row=lambda row, left: again.append(row["key"]))
    assert again == [row["key"] for row in killed]
    assert settled("out") == whole


def test_worker_killed_at_its_birth(
    folder: Path, settled: Settled, whole: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers killed before they are ready are replaced; no run is lost, and none says so."""
    born: list[Any] = []
    start = subprocess.Popen

    def stillborn(*arguments: Any, **options: Any) -> Any:
        born.append(start(*arguments, **options))
        if len(born) <= 3:
            born[-1].kill()
        return born[-1]

    monkeypatch.setattr(worker_process.subprocess, "Popen", stillborn)
    run_suite("sweep.toml", "out", jobs=2)
    assert len(born) == 5
    assert settled("out") == whole


def test_no_worker_can_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If workers never start there is one clear error, with what the last one said."""
    Path("broken").write_text("#!/bin/sh\necho no such thing as dlsched >&2\n")
    Path("broken").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(Path("broken").resolve()))
    with pytest.raises(worker_process.NoWorker, match="can be started: no such thing as dlsched"):
        run_suite("sweep.toml", "out")


def test_worker_killed_in_mid_run(folder: Path, settled: Settled) -> None:
    """The run that its worker was killed in is a row that says so, until it is made again."""
    Path("mine_waiting.py").write_text(
        "import os, pathlib, signal\n"
        "def f(instance, rng):\n"
        "    if not pathlib.Path('once').exists():\n"
        "        pathlib.Path('once').touch()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return {'returned': [s.id for s in instance.servers[: instance.demand]]}\n"
    )
    text = Path("sweep.toml").read_text().replace('"lyra"', '"mine_waiting:f"')
    Path("sweep.toml").write_text(text.replace("[5, 6, 7, 8, 9]", "[5]"))
    run_suite("sweep.toml", "out")
    rows = settled("out")
    assert [row["status"] for row in rows if row["reason"] == "by SIGKILL"] == ["killed"]
    run_suite("sweep.toml", "out", resume=True)
    run_suite("sweep.toml", "again")
    assert settled("out") == settled("again")
