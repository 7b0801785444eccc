"""Sweeps small enough for a test, shards of one, and worker processes that tests share."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sharded_sweep import OTHER, write_suite

from calls import suite_text
from dlsched.sweeps import Plan, Shards, local_crew, run_suite, write_plan
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.task import Task
from dlsched.sweeps.worker_process import WorkerProcess
from sweeps import Rows, settled

SWEEP = suite_text(
    'generate = "reclaiming"; seeds = [1, 2, 3, 4]; grid = { servers = [5, 6, 7, 8, 9] }',
    "lyra",
    "gate:waits",
    "random; seeds = [0, 1, 2]",
    name="sweep",
    wall_limit=300,
    memory_limit_gib=2,
)
"""A hundred runs."""
GATE = '''
import os, time
from pathlib import Path

def waits(instance, rng):
    """Wait for the file `open`, in the runs of the last sixty."""
    if len(instance.servers) > 6:
        Path(__file__).with_name(f"waiting-{os.getpid()}").touch()
        while not Path(__file__).with_name("open").exists():
            time.sleep(0.01)
    return {"returned": [server.id for server in instance.servers[: instance.demand]]}
'''


@pytest.fixture
def folder(workdir: Path) -> Path:
    """Give a working directory with a suite of 100 runs, and a method that can block them."""
    _write_sweep(workdir)
    return workdir


def _write_sweep(folder: Path) -> None:
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "gate.py").write_text(GATE)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, shared: type[Any]) -> Rows:
    """Give the settled rows of the 100 runs, undisturbed."""
    place = tmp_path_factory.mktemp("whole")
    _write_sweep(place)
    (place / "open").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(local_crew, "WorkerProcess", shared)
        run_suite("sweep.toml", "out")
        return settled("out")


@pytest.fixture
def shard_suite(workdir: Path) -> Path:
    """Give a working directory with the suite."""
    write_suite(workdir)
    return workdir


@pytest.fixture(scope="session")
def sharded(tmp_path_factory: pytest.TempPathFactory, shared: type[Any]) -> Path:
    """Give the folder of the plan whose three shards are made, not merged; ``one`` beside it is
    the same suite in one sweep."""
    folder = tmp_path_factory.mktemp("shards")
    write_suite(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(local_crew, "WorkerProcess", shared)
        run_suite("suite.toml", "one")
        write_plan("suite.toml", "out")
        (folder / "shard_other.py").write_text(OTHER.replace("[: i", "[1 : 1 + i"))
        (folder / "shard_mine.py").unlink()
        for k in range(3):
            run_suite(Plan("out"), "out", on=Shards(k, 3))
    return folder


@pytest.fixture
def shards(sharded: Path, workdir: Path) -> Path:
    """Give a copy of the folder with the shards that are made."""
    shutil.copytree(sharded / "out", workdir / "out")
    return workdir / "out"


class Shared:
    """A worker process that is kept for the next sweep instead of being closed."""

    idle: ClassVar[list[WorkerProcess]] = []

    def __init__(
        self, stop: threading.Event, memory_bytes: int, fresh: bool = False, name: str = ""
    ) -> None:
        self.name = name
        self.worker = Shared.idle.pop() if Shared.idle else WorkerProcess(stop, memory_bytes)
        self.worker.stop, self.worker.fresh = stop, fresh

    def run(self, task: Task) -> Outcome:
        """Execute a task."""
        return self.worker.run(task)

    def close(self) -> None:
        """Keep the worker process."""
        Shared.idle.append(self.worker)


@pytest.fixture(scope="session")
def shared() -> Iterator[type[Shared]]:
    """Give the class of the shared worker processes, which end with the session."""
    yield Shared
    for worker in Shared.idle:
        worker.close()


@pytest.fixture
def shared_workers(shared: type[Shared], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps use worker processes of earlier tests, which saves their start."""
    monkeypatch.setattr(local_crew, "WorkerProcess", shared)
