"""Shards: equal to one sweep, whatever happens to them and whoever makes them."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

import dlsched
from calls import FIG5, MAIN, PATIENCE, data, refusal, run, started, suite_text
from dlsched.sweeps import Plan, Shards, run_suite
from sweeps import (
    Rows,
    age_plan,
    contents,
    copied,
    edit,
    keys,
    merged,
    plan,
    plan_file,
    row,
    rows,
    settled,
    shard,
    shard_arguments,
    shard_files,
    state,
)

RUNS = 20


def test_shards_give_the_rows_of_one_sweep(sharded: Path, shards: Path) -> None:
    """Three shards, merged, are one sweep, though the user's modules were edited and deleted.

    The second merge changes nothing, and neither does one without the files.
    """
    for expected in ((RUNS, RUNS, 0, 0, 0), (RUNS, 0, 0, 0, 0)):
        assert merged(shards) == expected
        assert settled(shards) == settled(sharded / "one")
        assert contents(shards) == contents(sharded / "one")
    for file in shard_files(shards):
        file.unlink()
    assert merged(shards).runs == RUNS and settled(shards) == settled(sharded / "one")


def test_resumes_itself(shards: Path) -> None:
    """A shard that is whole makes nothing; one that lost a file makes what was in it."""
    before = shard_files(shards)
    made = run(*shard_arguments("1/3", shards)).stdout
    assert made.startswith("shard 1/3: 0 runs made") and shard_files(shards) == before
    assert (state(shards).indices, state(shards).missing) == ("", 0)
    for file in shard_files(shards, 1):
        file.unlink()
    assert (state(shards).indices, state(shards).missing) == ("1", 7)
    assert run("status", shards, "--missing", status=1).stdout == "1\n"
    assert "runs are left in the shards 1" in run("status", shards, status=1).stdout
    told = data("merge", shards, status=1)
    assert told["runs"] == RUNS - 7 and len(told["missing"]) == 7
    assert "missing: " in run("merge", shards, status=1).stdout
    made = run(*shard_arguments("1/3", shards)).stdout
    assert made.startswith("shard 1/3: 7 runs made, 0 of them failed")
    assert state(shards).missing == 0 and sum(state(shards).made.values()) == RUNS


def test_another_number_of_shards_goes_on(shards: Path) -> None:
    """What three shards have made, two shards need not make again."""
    for file in shard_files(shards, 0):
        file.unlink()
    for k in range(2):
        shard(k, 2, shards)
    assert "has no one number of shards (of 2 and of 3)" in refusal("status", shards)
    told = data("status", shards, "--of", 3)
    assert [part["planned"] for part in told["shards"]] == [7, 7, 6] and told["missing"] == ""
    assert sum(node["made"] for node in told["nodes"].values()) == RUNS
    assert merged(shards) == (RUNS, RUNS, 0, 0, 0)
    with pytest.raises(dlsched.OptionError, match="n=0 must be at least 1"):
        state(shards, 0)


def test_same_shard_twice_at_once(shards: Path, sharded: Path) -> None:
    """Two processes with one shard's number write a file each; their rows agree, and count once."""
    (file,) = shard_files(shards, 2)
    shutil.copy(file, file.with_name(f"another-{file.name}"))
    assert merged(shards) == (RUNS, RUNS, 6, 0, 0)
    assert settled(shards) == settled(sharded / "one")


MACHINE = """
import os, signal, time

def f(instance, rng):
    machine, many = os.environ["MACHINE"], len(instance.servers)
    if machine == "slow" and many == 5:
        time.sleep(60)
    if machine == "slow" and many == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    wrong = machine == "wrong" and many == 7
    return {"returned": [s.id for s in instance.servers][wrong : instance.demand + wrong]}
"""


@pytest.mark.slow
def test_machines_that_differ(
    workdir: Path, sharded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a limit or a death ended gives way to a whole run; two whole ones must agree.

    If they do not nothing is merged, and both files are named. Other plans' rows are left out.
    """
    Path("mine_machine.py").write_text(MACHINE)
    entry = 'generate = "reclaiming"; grid = { servers = [5, 6, 7], demand = [2] }'
    Path("suite.toml").write_text(suite_text(entry, "mine_machine:f", wall_limit=1))
    plan("suite.toml", "out")
    for machine in ("slow", "good", "wrong"):
        monkeypatch.setenv("MACHINE", machine)
        copied(Path("out/plan"), Path(machine, "plan"))
        run_suite(Plan(machine), machine, on=Shards(0, 1), retries=0)
        if machine == "slow":
            assert state(machine).indices == "0"
            assert merged(machine) == (2, 2, 0, 0, 1)
            statuses = ["wall_timeout", "killed", "feasible"]
            assert [kept["status"] for kept in rows(machine)] == statuses
        copied(Path(machine, "shards"), Path("out/shards"))
        if machine == "good":
            assert merged() == (3, 3, 2, 0, 0)
            assert {kept["status"] for kept in rows()} == {"feasible"}
    before = settled()
    copied(sharded / "out" / "shards", Path("out/shards"))
    ran = run("merge", "out", status=1)
    assert ran.stderr.startswith("error: 1 runs have rows that disagree")
    assert ran.stderr.count(".rows") == 2 and settled() == before
    for file in shard_files():
        if file.read_bytes() == shard_files("wrong")[0].read_bytes():
            file.unlink()
    assert merged().foreign == RUNS and settled() == before
    assert f"{RUNS} rows are of other plans, and left out" in run("merge", "out").stdout
    assert sum(state("out", 1).made.values()) == 6


def test_rows_that_were_merged_before(shards: Path, sharded: Path) -> None:
    """A clock that is off changes nothing; a row that disagrees with a merged one is refused."""
    merged(shards)
    before = settled(shards)
    for key in keys():
        edit(shards, key, started="2001-01-01T00:00:00.000+00:00")
    assert merged(shards) == (RUNS, 0, 0, 0, 0) and settled(shards) == before
    killed, late, wrong = keys()[:3]
    edit(shards, killed, status="killed", objective=None, solution_sha256=None)
    edit(shards, late, termination="time_limit", objective='{"preempted": 99}')
    assert merged(shards).runs == RUNS and settled(shards) == settled(sharded / "one")
    edit(shards, wrong, objective='{"preempted": 77}')
    with pytest.raises(dlsched.DlschedError, match=r"1 runs .*objective is .*77.* in the store"):
        merged(shards)
    assert "77" in row(shards, key=wrong)["objective"]


def test_incomplete_and_damaged_files(shards: Path) -> None:
    """Of a file that is cut off or damaged what is complete counts, and the rest is missing."""
    (file,) = shard_files(shards, 0)
    content = file.read_bytes()
    for cut in (1, 100, 200):
        file.write_bytes(content[:-cut])
        assert state(shards).missing == 1
    middle = len(content) // 2
    file.write_bytes(content[:middle] + b"\x5a" * 9 + content[middle + 9 :])
    assert state(shards).missing <= 2
    file.write_bytes(content[:-9] + bytes(9))
    with pytest.raises(dlsched.InstanceError, match=r"is damaged .*submit its shard again"):
        merged(shards)
    file.unlink()
    shard(0, 3, shards)
    assert merged(shards) == (RUNS, RUNS, 0, 0, 0)


def test_plans(unplanned: Path) -> None:
    """A plan is not replaced, nor run with another suite or version, nor if it is damaged."""
    plan()
    Path("other.toml").write_text(suite_text(FIG5, "lyra"))
    assert "has a plan; continue it" in refusal("bench", "suite.toml", "-o", "out", "--plan")
    with pytest.raises(dlsched.InstanceError, match="has a plan of other runs"):
        run_suite("other.toml", "out", on=Shards(0, 2))
    whole = plan_file().read_bytes()
    age_plan("out", "0.0.9")
    said = f"dlsched is {dlsched.__version__}, planned is 0.0.9"
    assert said in refusal(*shard_arguments("0/2"))
    page = len(whole) // 2
    plan_file().write_bytes(whole[:page] + bytes(b ^ 0x5A for b in whole[page:]))
    for arguments in (shard_arguments("0/1"), ["status", "out", "--of=2"]):
        assert "is damaged" in refusal(*arguments)
    assert shard_files() == []


def test_two_plans_at_once(unplanned: Path) -> None:
    """Whoever is first, the plan is one of both, and the other is told so."""
    Path("other.toml").write_text(suite_text(FIG5, "lyra"))
    barrier, said, planned = threading.Barrier(2), list[str](), list[list[str]]()

    def write(suite: str) -> None:
        barrier.wait()
        try:
            planned.append(plan(suite))
        except dlsched.InstanceError as error:
            said.append(str(error))

    threads = [threading.Thread(target=write, args=[s]) for s in ("suite.toml", "other.toml")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(planned) == len(said) == 1 and "has a plan" in said[0]
    assert planned[0] in (keys(), keys("other.toml")) and planned[0] == list(Plan("out").keys)
    assert [entry.name for entry in Path("out").iterdir()] == ["plan"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["suite.toml"], "name a suite and a folder"),
        (["--planned", "out"], "out: has no plan"),
        (["suite.toml", "-o", "out", "--shard", "0/2"], "write --planned DIR"),
        (["--planned", "out", "--shard", "2/2"], "the first is 0, the last 1"),
        (["--planned", "out", "--shard", "0/0"], "n=0 must be at least 1"),
        (["--planned", "out", "--shard", "one"], "write k/n"),
        (["suite.toml", "--planned", "out"], "leave out the others"),
        (["suite.toml", "-o", "out", "--dask", "a", "--jobs", "2"], "exclude each other"),
        (["suite.toml", "-o", "out", "--plan", "--dask", "a"], "and runs nothing"),
    ],
)
def test_unusable_arguments(arguments: list[str], said: str, unplanned: Path) -> None:
    """What contradicts itself or is not there is one line."""
    assert said in refusal("bench", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_shard_that_is_ended(number: signal.Signals, gated: Path, whole: Rows) -> None:
    """SIGTERM, Ctrl-C and kill -9 keep what is done; the same command makes the rest.

    With the other shard, at the same time, the rows are those of one sweep.
    """
    plan()
    process = started(MAIN, *shard_arguments("0/2"), "--quiet")
    while not list(gated.glob("waiting-*")) or not sum(state("out", 2).made.values()):
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    expected = {signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGINT: 130}
    assert process.returncode == expected[number], said
    if number == signal.SIGTERM:
        assert "ended by SIGTERM with" in said and said.count("\n") == 1
    assert 0 < sum(state("out", 2).made.values()) < 50
    (gated / "open").touch()
    both = [started(MAIN, *shard_arguments(f"{k}/2"), "--quiet") for k in range(2)]
    assert [process.wait(PATIENCE) for process in both] == [0, 0]
    assert sum(state().made.values()) == 100 and merged().runs == 100
    assert settled() == whole
