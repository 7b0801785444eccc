"""What a sweep on Dask can be given, and what it does while there is nobody to work."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import dlsched
from calls import MAIN, PATIENCE, started, suite_text
from dlsched.sweeps import Dask, Local, Plan, Shards, run_suite, write_plan
from dlsched.sweeps.dask_crew import on_dask
from sweeps import stored

SUITE = suite_text('generate = "reclaiming"; seeds = [1, 2, 3]', "lyra", wall_limit=100)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Give a cluster in this process, of one thread."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def place(workdir: Path) -> Path:
    """Give a working directory with the suite."""
    (workdir / "suite.toml").write_text(SUITE)
    return workdir


@pytest.mark.slow
def test_client_cluster_and_plan(place: Path, cluster: Any) -> None:
    """A cluster object and a client do the same; a client that was given stays open."""
    run_suite("suite.toml", "cluster", on=Dask(cluster))
    write_plan("suite.toml", "planned")
    with distributed.Client(cluster, set_as_default=False) as client:
        run_suite(Plan("planned"), "planned", on=Dask(client))
        assert client.status == "running"
    assert [row["key"] for row in stored("cluster")] == [row["key"] for row in stored("planned")]
    assert {row["status"] for row in stored("planned")} == {"feasible"}


@pytest.mark.slow
def test_tls_and_scheduler_file(place: Path) -> None:
    """A cluster with TLS is reached by its file and the same certificates, and not without them."""
    security = distributed.Security.temporary()
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", security=security
    ) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            client.write_scheduler_file(str(place / "scheduler.json"))
        frame = run_suite(
            "suite.toml", "tls", on=Dask(str(place / "scheduler.json"), security=security)
        )
        assert set(frame["status"]) == {"feasible"}
        with pytest.raises(dlsched.OptionError, match="no Dask scheduler at tls://"):
            run_suite("suite.toml", "none", on=Dask(cluster.scheduler_address))


@pytest.mark.slow
def test_ctrl_c_while_there_is_no_worker(place: Path) -> None:
    """Without workers a message says so, and Ctrl-C ends the wait."""
    scheduler = started(
        "from distributed.cli.dask_scheduler import main; main()",
        *("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", "s.json"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not Path("s.json").exists():
            time.sleep(0.1)
        with open("printed", "wb") as printed:
            sweep = started(
                *(MAIN, "bench", "suite.toml", "-o", "out", "--dask", "s.json"),
                stdout=printed,
                stderr=printed,
            )
            while "there is no worker at the Dask cluster" not in Path("printed").read_text():
                assert sweep.poll() is None
                time.sleep(0.1)
            sweep.send_signal(signal.SIGINT)
            assert sweep.wait(PATIENCE) == 130
    finally:
        scheduler.kill()
        scheduler.wait()
    assert "waiting for one" in Path("printed").read_text()


def test_places_that_cannot_be(place: Path) -> None:
    """What says where the runs are made is checked before anything is written."""
    wrong: list[tuple[type[Any], tuple[Any, ...]]] = [
        (Local, (0,)),
        (Local, (1.5,)),
        (Shards, (2, 2)),
        (Shards, (-1, 2)),
        (Shards, (0.5, 2)),
        (Shards, (0, "2")),
        (Shards, (0, 1, 0)),
    ]
    for where, arguments in wrong:
        with pytest.raises(dlsched.OptionError):
            where(*arguments)
    with pytest.raises(dlsched.OptionError, match="on= says where"):
        run_suite("suite.toml", "out", on=Local(2), jobs=2)
    with pytest.raises(dlsched.OptionError, match="retries=-1"):
        run_suite("suite.toml", "out", retries=-1)
    with pytest.raises(dlsched.OptionError, match="no Dask scheduler at 7"):
        next(on_dask([], Dask(7), False))
    assert not Path("out").exists()
