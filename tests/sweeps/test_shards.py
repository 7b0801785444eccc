"""Shards: equal to one sweep, whatever happens to them and whoever makes them."""

import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dlsched
import sweeps
from calls import FIG5, MAIN, PATIENCE, data, refusal, run, started, suite_text
from sweeps import Rows

RUNS = 20


def test_shards_give_the_rows_of_one_sweep(sharded: Path, shards: Path, whole: Rows) -> None:
    """Three shards, merged, are one sweep, though the user's modules were edited and deleted.

    Two processes with one shard's number write a file each; their rows agree, and count once. The
    second merge changes nothing, and neither does one without the files.
    """
    (file,) = sweeps.shard_files(shards, 2)
    shutil.copy(file, file.with_name(f"another-{file.name}"))
    again = sweeps.state(shards).done[2]
    for expected in ((RUNS, RUNS, again, 0, 0), (RUNS, 0, again, 0, 0)):
        assert sweeps.merged(shards) == expected
        assert sweeps.settled(shards) == whole
        assert sweeps.contents(shards) == sweeps.contents(sharded / "one")
    for file in sweeps.shard_files(shards):
        file.unlink()
    assert sweeps.merged(shards)[0] == RUNS and sweeps.settled(shards) == whole


def test_resumes_itself(shards: Path) -> None:
    """A shard that is whole makes nothing; one that lost a file makes what was in it."""
    before = sweeps.shard_files(shards)
    made = run(*sweeps.shard_arguments("1/3", shards)).stdout
    assert made.startswith("shard 1/3: 0 runs made") and sweeps.shard_files(shards) == before
    assert sweeps.state(shards)[:2] == (0, "")
    lost = sweeps.state(shards).done[1]
    for file in sweeps.shard_files(shards, 1):
        file.unlink()
    assert sweeps.state(shards)[:2] == (lost, "1")
    assert run("status", shards, "--missing", status=1).stdout == "1\n"
    assert "runs are left in the shards 1" in run("status", shards, status=1).stdout
    told = data("merge", shards, status=1)
    assert told["runs"] == RUNS - lost and len(told["missing"]) == lost
    assert "missing: " in run("merge", shards, status=1).stdout
    made = run(*sweeps.shard_arguments("1/3", shards)).stdout
    assert made.startswith(f"shard 1/3: {lost} runs made, 0 of them failed")
    assert sweeps.state(shards).missing == 0 and sweeps.state(shards).made == RUNS
    # What three shards have made, two need not make again, nor what was merged.
    for file in sweeps.shard_files(shards, 0):
        file.unlink()
    for k in range(2):
        sweeps.shard(k, 2, shards)
    assert sweeps.shard_files(shards, 0) == [] and sweeps.state(shards, 2).missing == 0
    told = data("status", shards, "--of", 3)
    assert sum(part["planned"] for part in told["shards"]) == RUNS and told["missing"] == ""
    for where in ("nodes", "engines"):
        assert sum(counts["made"] for counts in told[where].values()) == RUNS
    for k in range(2):
        sweeps.shard(k, 2, "new")
    sweeps.copied(shards / "shards", Path("new/shards"))
    assert "has no one number of shards (of 2 and of 3)" in refusal("status", "new")


def test_rows_that_were_merged_before(shards: Path, whole: Rows) -> None:
    """A clock that is off changes nothing; a row that disagrees with a merged one is refused."""
    sweeps.merged(shards)
    for key in sweeps.keys_of():
        sweeps.edit(shards, key, started="2001-01-01T00:00:00.000+00:00")
    assert sweeps.merged(shards) == (RUNS, 0, 0, 0, 0) and sweeps.settled(shards) == whole
    killed, late, wrong = sweeps.keys_of()[:3]
    sweeps.edit(shards, killed, status="killed", objective=None, solution_sha256=None)
    sweeps.edit(shards, late, termination="time_limit", objective='{"preempted": 99}')
    assert sweeps.merged(shards)[0] == RUNS and sweeps.settled(shards) == whole
    sweeps.edit(shards, wrong, objective='{"preempted": 77}')
    with pytest.raises(dlsched.DlschedError, match=r"1 runs .*objective is .*77.* in the store"):
        sweeps.merged(shards)
    assert "77" in sweeps.row(shards, key=wrong)["objective"]


def test_incomplete_and_damaged_files(shards: Path) -> None:
    """An empty file is no attempt yet; one that is damaged is named, with the remedy."""
    (file,) = sweeps.shard_files(shards, 0)
    content = file.read_bytes()
    file.with_name("empty.sqlite").touch()
    assert sweeps.state(shards).missing == 0
    for damaged in (content[: len(content) // 2], b"no database" + content[11:]):
        file.write_bytes(damaged)
        with pytest.raises(dlsched.InstanceError, match=str(file)):
            sweeps.merged(shards)
    file.unlink()
    assert sweeps.state(shards).missing > 0


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["suite.toml", "-o", "out", "--shard", "2/2"], "the first is 0, the last 1"),
        (["suite.toml", "-o", "out", "--shard", "0/0"], "there is no shard 0/0"),
        (["suite.toml", "-o", "out", "--shard", "one"], "write k/n"),
        (["suite.toml", "-o", "out", "--dask", "a", "--jobs", "2"], "exclude each other"),
    ],
)
def test_unusable_arguments(arguments: list[str], said: str, unplanned: Path) -> None:
    """What contradicts itself or is not there is one line."""
    assert said in refusal("bench", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_shard_that_is_ended(number: signal.Signals, gated: Path, whole: Rows) -> None:
    """SIGTERM, Ctrl-C and kill -9 keep what is done; the same command makes the rest."""
    process = started(MAIN, *sweeps.shard_arguments("0/1"), "--quiet")
    while not list(gated.glob("waiting-*")):
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    expected = {signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGINT: 130}
    assert process.returncode == expected[number], said
    if number == signal.SIGTERM:
        assert "ended by SIGTERM with" in said and said.count("\n") == 1
    assert 12 <= sweeps.state().done[0] < RUNS
    (gated / "open").touch()
    assert started(MAIN, *sweeps.shard_arguments("0/1"), "--quiet").wait(PATIENCE) == 0
    assert sweeps.state().done == [RUNS]
    assert sweeps.merged() == (RUNS, RUNS, 0, 0, 0) and sweeps.settled() == whole


def test_sweeps_of_other_runs(unplanned: Path) -> None:
    """A sweep in shards is not continued with another suite, nor if its store is damaged."""
    sweeps.begin()
    Path("other.toml").write_text(suite_text(FIG5, "lyra"))
    with pytest.raises(dlsched.InstanceError, match="has a sweep of other runs"):
        sweeps.shard(0, 2, suite="other.toml")
    whole = sweeps.database().read_bytes()
    sweeps.database().write_bytes(whole[:100] + bytes(b ^ 0x5A for b in whole[100:]))
    for arguments in (sweeps.shard_arguments("0/1"), ["status", "out", "--of=2"]):
        assert "is damaged" in refusal(*arguments)
    assert sweeps.shard_files() == []


MACHINE = """
import os

def f(instance, rng):
    wrong = os.environ["MACHINE"] == "wrong"
    return {"returned": [s.id for s in instance.servers][wrong : instance.demand + wrong]}
"""


def test_machines_that_disagree(
    workdir: Path, sharded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two whole runs must agree, else nothing is merged, and both files are named.

    Rows of other sweeps are left out.
    """
    Path("mine_machine.py").write_text(MACHINE)
    entry = 'generate = "reclaiming"; grid = { servers = [7], demand = [2] }'
    Path("suite.toml").write_text(suite_text(entry, "mine_machine:f", wall_limit=100))
    sweeps.begin()
    sweeps.copied(Path("out"), Path("other"))
    for machine, out in (("good", "out"), ("wrong", "other")):
        monkeypatch.setenv("MACHINE", machine)
        sweeps.shard(0, 1, out)
    sweeps.copied(sharded / "out" / "shards", Path("out/shards"))
    assert sweeps.merged()[3] == RUNS
    assert f"{RUNS} rows are of other sweeps, and left out" in run("merge", "out").stdout
    before = sweeps.settled()
    sweeps.copied(Path("other/shards"), Path("out/shards"))
    ran = run("merge", "out", status=1)
    assert ran.stderr.startswith("error: 1 runs have rows that disagree")
    assert ran.stderr.count(".sqlite") == 2 and sweeps.settled() == before


def test_two_suites_at_once(unplanned: Path) -> None:
    """Whoever is first, the sweep is of one of both suites, and the other is told so."""
    Path("other.toml").write_text(suite_text(FIG5, "lyra"))
    barrier = threading.Barrier(2)

    def begin(suite: str) -> list[str]:
        barrier.wait()
        sweeps.shard(0, 1, suite=suite)
        return sweeps.keys_of(suite)

    with ThreadPoolExecutor(2) as pool:
        ended = [pool.submit(begin, suite) for suite in ("suite.toml", "other.toml")]
    (said,) = filter(None, [future.exception() for future in ended])
    (keys,) = [future.result() for future in ended if not future.exception()]
    assert "has a sweep of other runs" in str(said)
    assert sweeps.merged()[0] == len(keys) and [row["key"] for row in sweeps.rows()] == keys
