"""Sweeps that tests share: one that is finished, shards of one, and one that can be blocked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

import dlsched
from calls import FIG5, suite_text
from dlsched.sweeps.report import write_report
from sweeps import Rows, copied, made, plan, settled, shard

SMALL = 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 10, 20] }'
FINISHED = suite_text(
    [
        FIG5,
        SMALL,
        'generate = "elastic"; grid = { jobs = [4, 6, 8] }',
        'files = "odd.json"',
        'generate = "reclaiming"; grid = { servers = ["many"] }',
    ],
    "exact",
    "lyra",
    'milp; problem = "elastic"',
    'random; seeds = [0, 7]; problem = "reclaiming"',
    'mine_sweep:raises; problem = "reclaiming"',
    name="a <b>small</b> sweep",
    notes="Notes & more.",
    wall_limit=60,
)
RUNS = 9 * 5 + 3 * 3
ODD = '=HYPERLINK("../../../odd/\x00/name")'
"""The name of an instance: a formula for spreadsheets, and a path that leaves the folder."""
OWN = "def raises(instance, rng):\n    raise ValueError('<i>no</i>')\n"

SHARDED = suite_text(
    [FIG5, 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 7] }'],
    "lyra",
    "random; seeds = [0, 1]",
    "shard_mine:f",
    wall_limit=100,
)
"""Twenty runs, a fourth of them by a method in two modules of the user."""
MINE = '''
import os, time
from pathlib import Path
import shard_other

def f(instance, rng):
    """Wait in the last runs for the file `open` in the folder `GATE`, if there is one."""
    folder = Path(os.environ.get("GATE", ""))
    while "GATE" in os.environ and len(instance.servers) == 7 and not (folder / "open").exists():
        (folder / f"waiting-{os.getpid()}").touch()
        time.sleep(0.01)
    return shard_other.first(instance)
'''
OTHER = """
def first(instance):
    return {"returned": [server.id for server in instance.servers][: instance.demand]}
"""


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[], object]) -> Path:
    """Return a folder that one process of this session makes, as its working directory."""
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with filelock.FileLock(place.with_suffix(".lock")), pytest.MonkeyPatch.context() as patch:
        if not place.with_suffix(".made").exists():
            place.mkdir()
            patch.chdir(place)
            make()
            place.with_suffix(".made").touch()
    return place


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the sweep of many kinds of runs, in the folder ``out`` beside its suite."""

    def make() -> None:
        Path("suite.toml").write_text(FINISHED)
        Path("mine_sweep.py").write_text(OWN)
        odd = dlsched.generate("reclaiming", servers=4).to_data() | {"name": ODD}
        Path("odd.json").write_text(json.dumps(odd))
        rows = made("suite.toml", "out", jobs=2)
        assert len({row["key"] for row in rows}) == len(rows) == RUNS
        write_report("out")

    return once(tmp_path_factory, "finished", make)


@pytest.fixture
def finished(finished_once: Path, workdir: Path) -> Path:
    """Give a copy of the finished sweep as the working directory."""
    return copied(finished_once, workdir)


@pytest.fixture(scope="session")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a plan whose three shards are made, not merged, in ``out``.

    ``one`` beside it is the same suite in one sweep. The user's modules were changed and deleted
    after the plan.
    """

    def make() -> None:
        write_sharded(Path())
        made("suite.toml", "one")
        plan("suite.toml", "out")
        Path("shard_other.py").write_text(OTHER.replace("[: i", "[1 : 1 + i"))
        Path("shard_mine.py").unlink()
        for k in range(3):
            shard(k, 3)

    return once(tmp_path_factory, "sharded", make)


def write_sharded(folder: Path) -> Path:
    """Write the suite of twenty runs and its modules."""
    (folder / "suite.toml").write_text(SHARDED)
    (folder / "shard_mine.py").write_text(MINE)
    (folder / "shard_other.py").write_text(OTHER)
    return folder


@pytest.fixture
def unplanned(workdir: Path) -> Path:
    """Give a working directory with the suite of twenty runs."""
    return write_sharded(workdir)


@pytest.fixture
def gated(unplanned: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the same with runs that wait for the file `open`, and say so by a file of their pid."""
    monkeypatch.setenv("GATE", str(unplanned))
    return unplanned


@pytest.fixture
def whole(sharded: Path) -> Rows:
    """Give the settled rows of the twenty runs, undisturbed."""
    return settled(sharded / "one")


@pytest.fixture
def shards(sharded: Path, workdir: Path) -> Path:
    """Give a copy of the folder ``out``, in a working directory that has the suite's modules."""
    copied(sharded / "out", write_sharded(workdir) / "out")
    return workdir / "out"
