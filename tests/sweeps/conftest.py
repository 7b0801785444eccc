"""Sweeps that tests share: one that is finished, shards of one, and one that can be blocked."""

import json
from pathlib import Path

import pytest
from shared_suites import FINISHED, ODD, OTHER, OWN, RUNS, once, write_sharded

import dlsched
from dlsched.sweeps.report import write_report
from sweeps import Rows, copied, made, settled, shard


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
    """Give the folder of a sweep whose three shards are made, not merged, in ``out``.

    ``one`` beside it is the same suite in one sweep. The user's modules were changed and deleted
    after the first shard.
    """

    def make() -> None:
        write_sharded(Path())
        made("suite.toml", "one")
        shard(0, 3)
        Path("shard_other.py").write_text(OTHER.replace("[: i", "[1 : 1 + i"))
        Path("shard_mine.py").unlink()
        for k in range(1, 3):
            shard(k, 3)

    return once(tmp_path_factory, "sharded", make)


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
