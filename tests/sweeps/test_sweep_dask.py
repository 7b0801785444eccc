"""Sweeps on a real Dask cluster of several worker processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import dlsched
from calls import MAIN, started
from dlsched.sweeps import Dask, dask_client, dask_crew, run_suite
from sweeps import RUNS, settled


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[distributed.LocalCluster]:
    """Give a cluster of two worker processes."""
    place = str(tmp_path_factory.mktemp("dask"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=place
    ) as cluster:
        yield cluster


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_dask_gives_equal_rows(killed: bool, folder: Path, cluster: Any, whole: list[Any]) -> None:
    """Two Dask workers give the rows of two local jobs, also if one is killed on the way."""
    seen: list[Any] = []
    Path("open").touch()

    def kill_one(row: dict[str, Any], left: int) -> None:
        seen.append(row)
        if killed and len(seen) == 20:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    run_suite("sweep.toml", "out", dask=cluster.scheduler_address, on_row=kill_one)
    assert len(seen) >= len(whole) == RUNS
    assert settled("out") == whole


@pytest.mark.slow
def test_client_is_killed(folder: Path, cluster: Any, whole: list[Any]) -> None:
    """After kill -9 of the client its rows are whole, and the same workers make the others."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    address = cluster.scheduler_address
    client = started(MAIN, "bench", "sweep.toml", "-o", "out", "--dask", address, **quiet)
    while not list(Path().glob("waiting-*")):
        assert client.poll() is None
        time.sleep(0.02)
    client.kill()
    client.wait()
    before = settled("out")
    assert before and len(before) < RUNS
    Path("open").touch()
    run_suite("sweep.toml", "out", on=Dask(cluster), resume=True)
    assert settled("out") == whole


def test_nobody_at_the_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where no scheduler answers is one clear error."""
    monkeypatch.setattr(dask_client, "CONNECT_SECONDS", 1)
    with pytest.raises(dlsched.OptionError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        run_suite("sweep.toml", "out", dask="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_scheduler_dies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler killed in the middle is one clear error; finished runs are kept."""
    monkeypatch.setattr(dask_crew, "LOST_SECONDS", 2)
    main = "from distributed.cli.dask_{} import main; main()"
    options = ["--port", "0", "--no-dashboard", "--scheduler-file", "scheduler.json"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = started(main.format("scheduler"), *options, **quiet)
    while not Path("scheduler.json").exists():
        time.sleep(0.05)
    Path("open").touch()
    address = json.loads(Path("scheduler.json").read_text())["address"]
    options = [address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    worker = started(main.format("worker"), *options, **quiet)
    seen: list[Any] = []

    def kill(row: dict[str, Any], left: int) -> None:
        seen.append(row)
        if len(seen) == 20:
            scheduler.kill()

    try:
        with pytest.raises(dask_crew.ClusterLost, match=r"lost: finished runs are kept"):
            run_suite("sweep.toml", "out", dask=address, on_row=kill)
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    assert [row["key"] for row in seen] == [row["key"] for row in seen if row["status"]]
    assert {row["key"] for row in settled("out")} == {row["key"] for row in seen}
    assert 20 <= len(seen) < RUNS
