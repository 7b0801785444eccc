"""Sweeps on Dask clusters of several processes, some of which die or cannot make the runs."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import dlsched
from calls import MAIN, PATIENCE, started, suite_text
from sweeps import Rows, copied, failed, made, returned, rows, settled

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
PROCESS = "from distributed.cli.dask_{} import main; main()"
NO_LIBRARY = "import sys; sys.modules['dlsched'] = None\n"
NO_INTERPRETER = "import sys; sys.executable = '/nowhere/python'\n"


class Cluster:
    """A scheduler and its workers, each a process of its own on 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processes = folder, list[subprocess.Popen[Any]]()
        file = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        self.start(PROCESS.format("scheduler"), *options)
        while not file.exists() or not file.read_text().endswith("}"):
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        self.client = distributed.Client(self.address, set_as_default=False)

    def start(self, code: str, *options: str, path: Path | None = None) -> None:
        """Start a process of Dask; `path` is where its Python looks for modules first."""
        places = [*([path] if path else []), Path(dlsched.__file__).parents[1]]
        how: dict[str, Any] = {"env": {"PYTHONPATH": os.pathsep.join(map(str, places))}}
        with (self.folder / "printed").open("ab") as printed:
            how |= {"cwd": self.folder, "stdout": printed, "stderr": printed}
            self.processes.append(started(code, "--no-dashboard", *options, **how))

    def add(self, before: str = "", path: Path | None = None, limit: str = "0") -> str:
        """Add a worker in whose process `before` is executed first; return its address."""
        known = set(self.client.nthreads())
        options = [self.address, "--host", "127.0.0.1", "--no-nanny", "--nthreads", "1"]
        code = before + PROCESS.format("worker")
        self.start(code, *options, "--memory-limit", limit, path=path)
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


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, method: str, own: str = "") -> Path:
    """Make a folder with a suite and a module of the user; make it the working directory."""
    folder.mkdir(exist_ok=True)
    (folder / "suite.toml").write_text(suite_text(SIX, method, wall_limit=100))
    if own:
        (folder / "cluster_mine.py").write_text(own)
    monkeypatch.chdir(folder)
    sys.modules.pop("cluster_mine", None)
    return folder


def last_servers(out: Path | str = "out") -> list[str]:
    """Return the last server that each row returns: which tells the versions apart."""
    assert [row["status"] for row in rows(out)] == ["feasible"] * RUNS
    return [servers[-1] for servers in returned(out)]


BY_FIRST, BY_LAST = ["s2"] * 6, ["s6"] * 3 + ["s7"] * 3
"""What the two versions of the user's method give."""


def when_blocked(gated: Path, out: str, act: Callable[[], object]) -> None:
    """Act when a run of a sweep waits and another is stored."""
    (gated / "open").unlink(missing_ok=True)
    for file in gated.glob("waiting-*"):
        file.unlink()

    def wait() -> None:
        while not list(gated.glob("waiting-*")) or not rows(out):
            time.sleep(0.05)
        act()

    threading.Thread(target=wait).start()


@pytest.mark.parametrize("killed", [False, True])
def test_dask_gives_equal_rows(killed: bool, gated: Path, cluster: Cluster, whole: Rows) -> None:
    """Two Dask workers give the rows of two local jobs, also if one is killed within a run."""
    for _ in range(2):
        cluster.add()

    def go_on() -> None:
        if killed:
            time.sleep(1)
            cluster.processes[1].kill()
        (gated / "open").touch()

    when_blocked(gated, "out", go_on)
    assert len(made(on=cluster.address)) == len(whole) and settled() == whole


def test_client_and_scheduler_are_killed(gated: Path, cluster: Cluster, whole: Rows) -> None:
    """After kill -9 of the client its rows are whole, and the same workers make others.

    A scheduler that dies is one clear error; finished runs are kept.
    """
    cluster.add()
    client = started(MAIN, "bench", "suite.toml", "-o", "out", "--dask", cluster.address, "-q")
    when_blocked(gated, "out", client.kill)
    client.communicate()
    before = {row["key"] for row in rows()}
    assert settled() == [row for row in whole if row["key"] in before] != whole
    (gated / "open").touch()
    made(on=cluster.address, resume=True)
    assert settled() == whole
    when_blocked(gated, "other", cluster.processes[0].kill)
    assert "lost: finished runs are kept" in failed(out="other", on=cluster.address)
    (gated / "open").touch()
    before = {row["key"] for row in rows("other")}
    assert before and len(made(out="other", resume=True)) == len(whole) - len(before)
    assert settled("other") == whole


def test_workers_that_cannot_make_runs(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """Those with another dlsched or none, and those that can start no process, are left out.

    The message names them; the others make the runs. All import the sweep's copy of the module.
    """
    enter(tmp_path / "project", monkeypatch, "cluster_mine:f")
    for name, part in (("planned", FIRST), ("edited", LAST)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cluster_mine.py").write_text(OWN.replace("PART", part))
    monkeypatch.syspath_prepend(tmp_path / "planned")
    for name in ("older", "changed"):
        copied(Path(dlsched.__file__).parent, tmp_path / name / "dlsched")
    about = tmp_path / "older" / "dlsched-0.0.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: dlsched\nVersion: 0.0.9\n")
    changed = tmp_path / "changed/dlsched/problems/reclaiming/__init__.py"
    changed.write_text(changed.read_text() + "# changed\n")
    reasons = {
        f"Dask worker {cluster.add(path=tmp_path / 'older')}": "dlsched is 0.0.9, planned is",
        f"Dask worker {cluster.add(path=tmp_path / 'changed')}": "code of dlsched is .*, planned",
        f"Dask worker {cluster.add(NO_INTERPRETER)}": "no process can be started",
        f"Dask worker {cluster.add(NO_LIBRARY)}": "dlsched is not installed there",
    }
    with caplog.at_level(logging.WARNING, "dlsched"):
        said = failed(on=cluster.address)
    assert "6 runs were not made" in said and rows() == []
    told = caplog.text + said  # the error names some of them
    for who, reason in reasons.items():
        assert re.search(f"{who} is left out: .*{reason}", caplog.text), told
    cluster.add(path=tmp_path / "edited")
    made(on=cluster.address, resume=True)
    assert last_servers() == BY_FIRST


def test_nobody_there(cluster: Cluster, gated: Path) -> None:
    """Without any worker the sweep says so, and Ctrl-C ends the wait."""
    with open("printed", "wb") as printed:
        command = ["bench", "suite.toml", "-o", "other", "--dask", "dask/scheduler.json"]
        sweep = started(MAIN, *command, stdout=printed, stderr=printed)
        while "there is no worker of ClientExecutor" not in Path("printed").read_text():
            assert sweep.poll() is None
            time.sleep(0.1)
        sweep.send_signal(signal.SIGINT)
        assert sweep.wait(PATIENCE) == 130


def test_two_projects(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sweeps at the same time, each with its own module of one name, get their own code.

    Living workers make the runs of an edited file with the edited file.
    """
    folders = [tmp_path / "first", tmp_path / "last"]
    for folder, part in zip(folders, (FIRST, LAST), strict=True):
        enter(folder, monkeypatch, "cluster_mine:f", OWN.replace("PART", part))
        cluster.add()
    command = ["bench", "suite.toml", "-o", "out", "--dask", cluster.address, "-q"]
    sweeps = [started(MAIN, *command, cwd=folder) for folder in folders]
    assert [process.wait() for process in sweeps] == [0, 0]
    assert [last_servers(folder / "out") for folder in folders] == [BY_FIRST, BY_LAST]
    for part, answers in ((LAST, BY_LAST), (FIRST, BY_FIRST)):
        enter(folders[0], monkeypatch, "cluster_mine:f", OWN.replace("PART", part) + "# again\n")
        made(on=cluster.address, resume=True)
        assert last_servers() == answers


def test_memory_limit(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's limit is the runs' limit; a run killed there is made again with --resume."""
    file = tmp_path / "open"
    enter(tmp_path / "project", monkeypatch, "cluster_mine:f", LARGE.format(file=str(file)))
    for _ in range(3):
        cluster.add(limit="1GB")
    made(on=cluster.address, retries=0)
    assert [row["status"] for row in rows()] == ["killed"] * RUNS
    assert all("above 0.84 GiB" in row["reason"] for row in rows())
    for process in cluster.processes[1:]:
        process.kill()
    file.touch()
    cluster.add()
    assert [row["status"] for row in made(on=cluster.address, resume=True)] == ["feasible"] * RUNS


def test_what_names_a_cluster(unplanned: Path) -> None:
    """A cluster object, a client, which stays open, its executor, and a file do."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            client.write_scheduler_file("scheduler.json")
            made(out="client", on=client)
            made(out="executor", on=client.get_executor())
            assert client.status == "running"
        made(out="cluster", on=cluster)
        made(out="file", on="scheduler.json")
    assert settled("cluster") == settled("client") == settled("executor") == settled("file")
    assert {row["status"] for row in rows("file")} == {"feasible"}
