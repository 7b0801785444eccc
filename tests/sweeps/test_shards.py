"""Shards: equal to one sweep, whatever happens to them and whoever makes them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from sharded_sweep import RUNS, keys, write_suite

import dlsched
from calls import MAIN, PATIENCE, data, refusal, run, started
from dlsched.sweeps import (
    Plan,
    Shards,
    Store,
    merge,
    run_suite,
    shard_file,
    sweep_state,
    write_plan,
)
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.shard_file import ShardFile, read_file, shards_of
from dlsched.sweeps.status import ranges
from sweeps import TIMES, Rows, settled

pytestmark = pytest.mark.usefixtures("shared_workers")


def test_shards_give_the_rows_of_one_sweep(sharded: Path, shards: Path) -> None:
    """Three shards, merged, are one sweep, though the user's modules were edited and deleted."""
    merged = merge(shards)
    assert (merged.runs, merged.added, merged.repeated, merged.missing) == (RUNS, RUNS, 0, ())
    assert settled(shards) == settled(sharded / "one")
    with Store(shards) as store, Store(sharded / "one") as one:
        for row in store.rows():
            assert store.content(row) == one.content(row)
    assert not (shards / "solutions").exists()


def test_resumes_itself(shards: Path) -> None:
    """A shard that is whole makes nothing; one that lost a file makes what was in it."""
    write_suite(shards.parent)
    before = len(list(shards.rglob("*.rows")))
    assert run("bench", "--planned", shards, "--shard", "1/3").stdout.startswith(
        "shard 1/3: 0 runs made"
    )
    assert len(list(shards.rglob("*.rows"))) == before
    for file in shards_of(shards)[1, 3]:
        file.unlink()
    assert sweep_state(shards).indices == "1"
    said = run("bench", "--planned", shards, "--shard", "1/3").stdout
    assert said.startswith("shard 1/3: 7 runs made, 0 of them failed")
    assert sweep_state(shards).missing == () and set(keys(shards).values()) == {1}


def test_another_number_of_shards_goes_on(shards: Path) -> None:
    """What three shards have made, two shards need not make again."""
    for file in shards_of(shards)[0, 3]:
        file.unlink()
    for k in range(2):
        run_suite(Plan(shards), shards, on=Shards(k, 2))
    assert set(keys(shards).values()) == {1} and merge(shards).runs == RUNS
    assert "has no one number of shards (of 2 and of 3)" in refusal("status", shards)
    assert data("status", shards, "--of", 3)["missing"] == ""


def test_same_shard_twice_at_once(shards: Path, sharded: Path) -> None:
    """Two processes with one shard's number write a file each, and their rows agree."""
    for file in shards_of(shards)[2, 3]:
        copy = file.with_name("another-1-0.rows")
        copy.write_bytes(file.read_bytes())
    merged = merge(shards)
    assert merged.repeated == 6 and merged.runs == merged.added == RUNS
    assert settled(shards) == settled(sharded / "one")


def test_status_by_shard_and_node(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state counts runs by shard and node; a killed run is missing; the exit status says so."""
    told = data("status", shards)
    assert [shard["planned"] for shard in told["shards"]] == [7, 7, 6]
    assert told["missing"] == "" and sum(n["made"] for n in told["nodes"].values()) == RUNS
    monkeypatch.setattr(shard_file.socket, "gethostname", lambda: "node7.cluster")
    for file in shards_of(shards)[2, 3]:
        file.unlink()
    with ShardFile(shards, 2, 3) as file:
        row = next(read_file(shards_of(shards)[0, 3][0])[1]).read().row
        key = next(iter(k for k, shard in Plan(shards).shard_of(3).items() if shard == 2))
        file.add(Outcome(row | {"key": key, "status": "killed"}))
    state = sweep_state(shards)
    assert state.indices == "2" and state.nodes["node7"] == (1, 1)
    assert run("status", shards, "--missing", status=1).stdout == "2\n"
    assert "runs are left in the shards 2" in run("status", shards, status=1).stdout
    assert ranges([0, 3, 4, 5, 9, 10]) == "0,3-5,9-10" and ranges([]) == ""


def test_incomplete_and_damaged_files(shards: Path) -> None:
    """Of a file that is cut off or damaged what is complete counts, and the rest is missing."""
    file = shards_of(shards)[0, 3][0]
    entries = list(read_file(file)[1])
    content = file.read_bytes()
    for end in (entries[-1].offset + 5, entries[-1].offset + 200, len(content) - 1):
        file.write_bytes(content[:end])
        assert len(list(read_file(file)[1])) == len(entries) - 1
    assert len(sweep_state(shards).missing) == 1
    middle = entries[2].offset
    file.write_bytes(content[: middle + 3] + b"\x00\x01" + content[middle + 5 :])
    found = [entry.about["key"] for entry in read_file(file)[1]]
    assert found == [entry.about["key"] for i, entry in enumerate(entries) if i != 2]
    file.write_bytes(content[:-9] + bytes(9))
    with pytest.raises(dlsched.InstanceError, match=r"is damaged .*submit its shard again"):
        merge(shards)


def test_full_disk(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is one error that says what is kept; the rows before it are whole."""
    file = ShardFile(shards, 0, 3)
    outcome = next(read_file(shards_of(shards)[1, 3][0])[1]).read()
    file.add(outcome)
    write = os.write

    def full(descriptor: int, content: bytes) -> int:
        if descriptor != file.descriptor:
            return write(descriptor, content)
        if len(content) > 100:
            return write(descriptor, content[:50])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shard_file.os, "write", full)
    with pytest.raises(dlsched.InstanceError, match=r"no space left on device.*submit the shard"):
        file.add(outcome)
    monkeypatch.undo()
    file.close()
    assert [entry.read().row for entry in read_file(file.path)[1]] == [outcome.row]


WAITS = """
import os, time
from pathlib import Path

def f(instance, rng):
    folder = Path(os.environ["SHARD_TEST"])
    (folder / f"waiting-{os.getpid()}").touch()
    while len(instance.servers) > 5 and not (folder / "open").exists():
        time.sleep(0.01)
    return {"returned": [server.id for server in instance.servers][: instance.demand]}
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_shard_that_is_ended(number: signal.Signals, shard_suite: Path) -> None:
    """SIGTERM, Ctrl-C and kill -9 keep what is done; the same command makes the rest."""
    (shard_suite / "shard_mine.py").write_text(WAITS)
    write_plan("suite.toml", "out")
    arguments = ["bench", "--planned", "out", "--shard", "0/2", "--quiet"]
    environment = {"SHARD_TEST": str(shard_suite)}
    process = started(MAIN, *arguments, env=environment)
    while not list(shard_suite.glob("waiting-*")) or not sum(keys(shard_suite / "out").values()):
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    expected = {signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGINT: 130}
    assert process.returncode == expected[number], said
    if number == signal.SIGTERM:
        assert "ended by SIGTERM with" in said and said.count("\n") == 1
    before = keys(shard_suite / "out")
    assert before and len(before) < 10
    (shard_suite / "open").touch()
    again = started(MAIN, *arguments, env=environment)
    again.communicate(timeout=PATIENCE)
    after = keys(shard_suite / "out")
    assert again.returncode == 0 and set(after.values()) == {1} and after.keys() > before.keys()
    assert sweep_state("out", 2).indices == "1"


@pytest.mark.slow
def test_shards_equal_a_hundred_runs(folder: Path, whole: Rows) -> None:
    """Four shards of the hundred runs, two of them at a time, are the rows of one sweep."""
    (folder / "open").touch()
    gate = (folder / "gate.py").read_text()
    (folder / "gate.py").write_text(gate.replace("Path(__file__)", f"Path({str(folder)!r}, 'x')"))
    write_plan("sweep.toml", "out")
    for pair in ((0, 1), (2, 3)):
        processes = [
            started(MAIN, "bench", "--planned", "out", "--shard", f"{k}/4", "--quiet") for k in pair
        ]
        assert [process.wait(PATIENCE) for process in processes] == [0, 0]
    merge("out")
    mine, one = settled("out"), whole
    # The method's module was changed here, so that keys of its runs differ, and nothing else.
    for row, other in zip(mine, one, strict=True):
        assert {k: v for k, v in row.items() if k not in {"key", *TIMES}} == {
            k: v for k, v in other.items() if k not in {"key", *TIMES}
        }
