"""Sweeps on a real Dask cluster of several worker processes on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import dlsched
from dlsched.bench import run_suite


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[distributed.LocalCluster]:
    """Give a cluster of two worker processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
    ) as cluster:
        yield cluster


def test_dask_gives_the_same_rows(
    folder: Path, cluster: Any, settled: Callable[[str], list[dict[str, Any]]]
) -> None:
    """Two Dask workers give the rows of two local jobs, all of them."""
    run_suite("sweep.toml", "out", dask=cluster.scheduler_address)
    run_suite("sweep.toml", "local", jobs=2)
    assert settled("out") == settled("local") and len(settled("out")) == 500


def test_dask_worker_killed(
    folder: Path, cluster: Any, settled: Callable[[str], list[dict[str, Any]]]
) -> None:
    """A Dask worker killed in the middle loses nothing: its runs go elsewhere."""
    seen: list[Any] = []

    def kill_one(row: dict[str, Any], left: int) -> None:
        seen.append(row)
        if len(seen) == 100:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    run_suite("sweep.toml", "out", dask=cluster.scheduler_address, on_row=kill_one)
    assert len(seen) >= 500
    run_suite("sweep.toml", "local", jobs=2)
    assert settled("out") == settled("local")


def test_nobody_at_the_address(folder: Path) -> None:
    """An address where no scheduler answers is one clear error."""
    with pytest.raises(dlsched.OptionError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        run_suite("sweep.toml", "out", dask="tcp://127.0.0.1:9")
