"""Sweeps on a Dask cluster of three worker processes over TCP, some of which cannot make runs."""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import dlsched
from calls import MAIN, started, suite_text
from dlsched.sweeps import Dask, dask_crew, pools, run_suite
from sweeps import returned, stored

pytestmark = pytest.mark.slow
SIX = 'generate = "reclaiming"; seeds = [1, 2, 3]; grid = { servers = [6, 7], demand = [2] }'
RUNS = 6
FIRST, LAST = "[: instance.demand]", "[-instance.demand :]"
OWN = "def f(instance, rng):\n    return {'returned': [s.id for s in instance.servers]PART}\n"
LARGE = """
import time
from pathlib import Path
import numpy as np

def f(instance, rng):
    kept = np.ones(150_000_000)
    while not Path({file!r}).exists():
        time.sleep(0.05)
    return {{"returned": [s.id for s in instance.servers][: instance.demand]}}
"""
"""Holds 1.2 GB until a file is there, so that whoever watches the memory need not be in time."""
SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"
WORKER = "from distributed.cli.dask_worker import main; main()"
NO_DLSCHED = "import sys; sys.modules['dlsched'] = None\n"
NO_INTERPRETER = "import sys; sys.executable = '/nowhere/python'\n"


class Cluster:
    """A scheduler and its workers, each a process of its own on 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processes = folder, list[subprocess.Popen[bytes]]()
        file = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        self.start(SCHEDULER, *options)
        while not file.exists():
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        self.client = distributed.Client(self.address, set_as_default=False)

    def start(self, code: str, *options: str, path: Path | None = None) -> None:
        """Start a process of Dask; `path` is where its Python looks for modules first."""
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        places = [*([path] if path else []), Path(dlsched.__file__).parents[1]]
        environment |= {"PYTHONPATH": os.pathsep.join(map(str, places))}
        command = [sys.executable, "-c", code, "--no-dashboard", *options]
        with (self.folder / "printed").open("ab") as printed:
            self.processes.append(
                subprocess.Popen(
                    command, cwd=self.folder, env=environment, stdout=printed, stderr=printed
                )
            )

    def add(self, before: str = "", path: Path | None = None, limit: str = "0") -> str:
        """Add a worker in whose process `before` is executed first; return its address."""
        known = set(self.client.nthreads())
        options = [self.address, "--host", "127.0.0.1", "--no-nanny", "--nthreads", "1"]
        self.start(before + WORKER, *options, "--memory-limit", limit, path=path)
        while not (new := set(self.client.nthreads()) - known):
            time.sleep(0.05)
        return str(new.pop())

    def close(self) -> None:
        """End all processes."""
        self.client.close()
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Give a scheduler without workers."""
    (tmp_path / "dask").mkdir()
    made = Cluster(tmp_path / "dask")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a working directory with a suite of six runs of `lyra`; a wait is short."""
    monkeypatch.setattr(dask_crew, "WAIT_SECONDS", 2)
    return enter(tmp_path / "project", monkeypatch, "lyra")


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, method: str, own: str = "") -> Path:
    """Make a folder with a suite and a module of the user; make it the working directory."""
    folder.mkdir(exist_ok=True)
    (folder / "suite.toml").write_text(suite_text(SIX, method, wall_limit=100))
    if own:
        (folder / "cluster_mine.py").write_text(own)
    monkeypatch.chdir(folder)
    sys.modules.pop("cluster_mine", None)
    return folder


def sweep(cluster: Cluster, **options: Any) -> list[dict[str, Any]]:
    """Make the sweep on the cluster; return its rows."""
    run_suite("suite.toml", "out", dask=cluster.address, **options)
    return stored("out")


def ids(rows: list[dict[str, Any]], out: str | Path = "out") -> list[str]:
    """Return the last server that each row returns: which tells the versions apart."""
    assert {row["status"] for row in rows} == {"feasible"} and len(rows) == RUNS
    return [servers[-1] for servers in returned(out)]


def expected() -> tuple[list[str], list[str]]:
    """Return the last server that the two versions of the user's method return, by row."""
    first, last = [], []
    for servers, seed in itertools.product((6, 7), (1, 2, 3)):
        instance = dlsched.generate("reclaiming", seed, servers=servers, demand=2)
        first.append(instance.servers[1].id)
        last.append(instance.servers[-1].id)
    return first, last


def test_user_file_edited_or_missing(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """Workers with another version of the user's file, or none, are left out by name."""
    first, _ = expected()
    enter(tmp_path / "project", monkeypatch, "cluster_mine:f")
    for name, part in (("planned", FIRST), ("edited", LAST)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cluster_mine.py").write_text(OWN.replace("PART", part))
    monkeypatch.syspath_prepend(tmp_path / "planned")
    missing = cluster.add()
    edited = cluster.add(path=tmp_path / "edited")
    with (
        caplog.at_level(logging.WARNING, "dlsched"),
        pytest.raises(pools.NoWorker, match="6 runs were not made") as caught,
    ):
        sweep(cluster)
    assert re.search(f"{missing}: .*module cluster_mine is not there", str(caught.value))
    assert re.search(f"{edited}: .*module cluster_mine is .*, planned is", str(caught.value))
    cluster.add(path=tmp_path / "planned")
    assert ids(sweep(cluster, resume=True)) == first
    assert f"{missing} is left out" in caplog.text and f"{edited} is left out" in caplog.text


def test_another_dlsched(cluster: Cluster, tmp_path: Path) -> None:
    """Workers with an older version of dlsched, or changed code of it, make no rows."""
    source = Path(dlsched.__file__).parent
    for name in ("older", "changed"):
        shutil.copytree(source, tmp_path / name / "dlsched")
    about = tmp_path / "older" / "dlsched-0.0.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: dlsched\nVersion: 0.0.9\n")
    edited = tmp_path / "changed/dlsched/problems/reclaiming/heuristics/__init__.py"
    with edited.open("a") as file:
        file.write("# changed\n")
    older = cluster.add(path=tmp_path / "older")
    changed = cluster.add(path=tmp_path / "changed")
    with pytest.raises(pools.NoWorker, match="6 runs were not made") as caught:
        sweep(cluster)
    said = str(caught.value)
    assert re.search(f"{older}: .*dlsched is 0.0.9, planned is {dlsched.__version__}", said)
    assert re.search(f"{changed}: .*code of dlsched is .*, planned is", said)
    cluster.add()
    assert {row["status"] for row in sweep(cluster, resume=True)} == {"feasible"}


def test_no_dlsched_and_no_interpreter(cluster: Cluster) -> None:
    """A worker without dlsched and one that can start no process leave the runs to others."""
    bad = cluster.add(NO_DLSCHED), cluster.add(NO_INTERPRETER)
    with pytest.raises(pools.NoWorker, match="6 runs were not made") as caught:
        sweep(cluster)
    said = str(caught.value)
    assert re.search(f"{bad[0]}: it cannot make runs: ModuleNotFoundError: .*dlsched", said)
    assert re.search(f"{bad[1]}: no worker process can be started: .*/nowhere/python", said)
    cluster.add()
    assert {row["status"] for row in sweep(cluster, resume=True)} == {"feasible"}


def test_nobody_there(cluster: Cluster, caplog: Any) -> None:
    """Without any worker the sweep says how long it waits, and ends."""
    with caplog.at_level(logging.WARNING, "dlsched"), pytest.raises(pools.NoWorker) as caught:
        run_suite("suite.toml", "out", on=Dask(cluster.address, wait=2))
    assert f"there is no worker at the Dask cluster {cluster.address}" in str(caught.value)
    assert "waiting 2 s for one" in caplog.text


def test_edited_in_between(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Living workers make the runs of an edited file with the edited file, as do projects."""
    first, last = expected()
    for _ in range(3):
        cluster.add()
    enter(tmp_path / "one", monkeypatch, "cluster_mine:f", OWN.replace("PART", FIRST))
    assert ids(sweep(cluster)) == first
    enter(tmp_path / "two", monkeypatch, "cluster_mine:f", OWN.replace("PART", LAST))
    assert ids(sweep(cluster)) == last
    enter(tmp_path / "one", monkeypatch, "cluster_mine:f", OWN.replace("PART", LAST))
    assert ids(sweep(cluster, resume=True)) == last
    enter(tmp_path / "one", monkeypatch, "cluster_mine:f", OWN.replace("PART", FIRST) + "\n")
    assert ids(sweep(cluster, resume=True, fresh=True)) == first


def test_two_projects(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sweeps at the same time, each with its own module of one name, get their own code."""
    folders = [tmp_path / "first", tmp_path / "last"]
    for folder, part in zip(folders, (FIRST, LAST), strict=True):
        enter(folder, monkeypatch, "cluster_mine:f", OWN.replace("PART", part))
    for _ in range(3):
        cluster.add()
    command = ["bench", "suite.toml", "-o", "both", "--dask", cluster.address, "-q"]
    sweeps = [started(MAIN, *command, cwd=folder) for folder in folders]
    assert [process.wait() for process in sweeps] == [0, 0]
    for folder, servers in zip(folders, expected(), strict=True):
        assert ids(stored(folder / "both"), folder / "both") == servers


def test_edited_meanwhile(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an edit, workers go on with the code that they have; none begins with the new one."""
    first, _ = expected()
    enter(tmp_path / "project", monkeypatch, "cluster_mine:f", OWN.replace("PART", FIRST))
    cluster.add()
    later: list[str] = []

    def edit(row: dict[str, Any], left: int) -> None:
        if not later:
            Path("cluster_mine.py").write_text(OWN.replace("PART", LAST))
            later.extend((cluster.add(), cluster.add()))

    run_suite("suite.toml", "out", dask=cluster.address, on_row=edit)
    Path("cluster_mine.py").write_text(OWN.replace("PART", FIRST))
    assert ids(sweep(cluster, resume=True, on_row=lambda row, left: pytest.fail("again"))) == first


def test_memory_limit(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's limit is the runs' limit; a run killed there is made again with --resume."""
    file = tmp_path / "open"
    enter(tmp_path / "project", monkeypatch, "cluster_mine:f", LARGE.format(file=str(file)))
    for _ in range(3):
        cluster.add(limit="1GB")
    rows = sweep(cluster)
    assert {row["status"] for row in rows} == {"killed"} and len(rows) == RUNS
    assert all("above 0.84 GiB" in row["reason"] for row in rows)
    for process in cluster.processes[1:]:
        process.kill()
    file.touch()
    cluster.add()
    assert {row["status"] for row in sweep(cluster, resume=True)} == {"feasible"}
