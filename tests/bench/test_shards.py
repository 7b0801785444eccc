"""Plans, shards, status and merge: equal to one sweep, whatever happens to the shards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sweeps import TIMES, Rows, settled

import dlsched
from calls import FIG5, MAIN, data, refusal, run, started, suite_text
from dlsched.bench import Plan, Shards, Store, merge, run_suite, shard_file, sweep_state, write_plan
from dlsched.bench.execution import Outcome
from dlsched.bench.merge import Disagreement
from dlsched.bench.shard_file import ShardFile, read_file, shards_of
from dlsched.bench.status import ranges

SUITE = suite_text(
    [FIG5, 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 6] }'],
    "lyra",
    "random; seeds = [0, 1]",
    "shard_mine:f",
    wall_limit=100,
)
RUNS = 20
pytestmark = pytest.mark.usefixtures("shared_workers")
OWN = "import shard_other\n\ndef f(instance, rng):\n    return shard_other.first(instance)\n"
OTHER = """
def first(instance):
    return {"returned": [server.id for server in instance.servers][: instance.demand]}
"""


def write_suite(folder: Path) -> None:
    """Write a suite of twenty runs, with a method in two modules."""
    (folder / "suite.toml").write_text(SUITE)
    (folder / "shard_mine.py").write_text(OWN)
    (folder / "shard_other.py").write_text(OTHER)


@pytest.fixture
def place(workdir: Path) -> Path:
    """Give a working directory with the suite."""
    write_suite(workdir)
    return workdir


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, shared: type[Any]) -> Path:
    """Give the folder of the plan whose three shards are made, not merged; ``one`` beside it is
    the same suite in one sweep."""
    folder = tmp_path_factory.mktemp("shards")
    write_suite(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("dlsched.bench.local_crew.WorkerProcess", shared)
        run_suite("suite.toml", "one")
        write_plan("suite.toml", "out")
        (folder / "shard_other.py").write_text(OTHER.replace("[: i", "[1 : 1 + i"))
        (folder / "shard_mine.py").unlink()
        for k in range(3):
            run_suite(Plan("out"), "out", on=Shards(k, 3))
    return folder


@pytest.fixture
def out(made: Path, workdir: Path) -> Path:
    """Give a copy of the folder with the shards that are made."""
    shutil.copytree(made / "out", workdir / "out")
    return workdir / "out"


def keys(folder: Path) -> Counter[str]:
    """Return how often each key is in the files of shards."""
    return Counter(
        entry.about["key"]
        for files in shards_of(folder).values()
        for file in files
        for entry in read_file(file)[1]
    )


def test_shards_give_the_rows_of_one_sweep(made: Path, out: Path) -> None:
    """Three shards, merged, are one sweep, though the user's modules were edited and deleted."""
    merged = merge(out)
    assert (merged.runs, merged.added, merged.repeated, merged.missing) == (RUNS, RUNS, 0, ())
    assert settled(out) == settled(made / "one")
    with Store(out) as store, Store(made / "one") as one:
        for row in store.rows():
            assert store.content(row) == one.content(row)
    assert not (out / "solutions").exists()


def test_plan_is_frozen(made: Path) -> None:
    """The plan has versions, the library's digest, and a copy of all modules of the user."""
    about = json.loads((made / "out/plan/plan.json").read_text())
    assert about["runs"] == RUNS and set(about["library"]) == {"reclaiming"}
    assert set(about["modules"]) == {"module shard_mine", "module shard_other"}
    assert (made / "out/plan/code/shard_other.py").read_text() == OTHER


def test_parts_are_equal_and_whole(made: Path) -> None:
    """Each task is in one shard, whatever their number; shards differ by a chunk at most."""
    plan = Plan(made / "out")
    for n in (1, 3, 7, 30):
        parts = [[task.key for task in plan.tasks(k, n)] for k in range(n)]
        assert sorted(key for part in parts for key in part) == sorted(plan.keys)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        shard_of = plan.shard_of(n)
        assert all(shard_of[key] == k for k, part in enumerate(parts) for key in part)


def test_resumes_itself(out: Path) -> None:
    """A shard that is whole makes nothing; one that lost a file makes what was in it."""
    write_suite(out.parent)
    before = len(list(out.rglob("*.rows")))
    assert run("bench", "--planned", out, "--shard", "1/3").stdout.startswith(
        "shard 1/3: 0 runs made"
    )
    assert len(list(out.rglob("*.rows"))) == before
    for file in shards_of(out)[1, 3]:
        file.unlink()
    assert sweep_state(out).indices == "1"
    said = run("bench", "--planned", out, "--shard", "1/3").stdout
    assert said.startswith("shard 1/3: 7 runs made, 0 of them failed")
    assert sweep_state(out).missing == () and set(keys(out).values()) == {1}


def test_another_number_of_shards_goes_on(out: Path) -> None:
    """What three shards have made, two shards need not make again."""
    for file in shards_of(out)[0, 3]:
        file.unlink()
    for k in range(2):
        run_suite(Plan(out), out, on=Shards(k, 2))
    assert set(keys(out).values()) == {1} and merge(out).runs == RUNS
    assert "has no one number of shards (of 2 and of 3)" in refusal("status", out)
    assert data("status", out, "--of", 3)["missing"] == ""


def test_same_shard_twice_at_once(out: Path, made: Path) -> None:
    """Two processes with one shard's number write a file each, and their rows agree."""
    for file in shards_of(out)[2, 3]:
        copy = file.with_name("another-1-0.rows")
        copy.write_bytes(file.read_bytes())
    merged = merge(out)
    assert merged.repeated == 6 and merged.runs == merged.added == RUNS
    assert settled(out) == settled(made / "one")


def test_merging_twice(out: Path) -> None:
    """The second merge changes nothing, and neither does one without the files."""
    merge(out)
    rows = settled(out)
    again = merge(out)
    assert (again.runs, again.added, again.repeated) == (RUNS, 0, 0) and settled(out) == rows
    for file in out.rglob("*.rows"):
        file.unlink()
    assert merge(out).runs == RUNS and settled(out) == rows


def add(out: Path, k: int, changes: dict[str, Any], solution: bytes | None = None) -> str:
    """Add a file of shard `k` with its first row changed; return the row's key."""
    first = next(read_file(shards_of(out)[k, 3][0])[1])
    outcome = first.read()
    with ShardFile(out, k, 3) as file:
        file.add(Outcome(outcome.row | changes, solution or outcome.solution))
    return str(outcome.row["key"])


def test_rows_that_disagree(out: Path) -> None:
    """Two answers of one run refuse the merge, which names both files, and nothing is written."""
    merge(out)
    before = settled(out)
    add(out, 0, {"objective": '{"preempted": 77}'})
    with pytest.raises(Disagreement, match=r"1 runs .*objective is .*77.* in .*0-of-3") as caught:
        merge(out)
    assert str(caught.value).count(".rows") == 2 and settled(out) == before
    ran = run("merge", out, status=1)
    assert ran.stderr.startswith("error: 1 runs have rows that disagree")


def test_limits_and_deaths_do_not_disagree(out: Path) -> None:
    """A run that a limit or a death ended gives way to one that ended by itself."""
    killed = add(out, 0, {"status": "killed", "objective": None, "solution_sha256": None})
    late = add(out, 1, {"termination": "time_limit", "objective": '{"preempted": 99}'})
    merge(out)
    with Store(out) as store:
        rows = {row["key"]: row for row in store.rows()}
    assert rows[killed]["status"] == "feasible" and "99" not in rows[late]["objective"]


def test_clock_that_is_off(out: Path, made: Path) -> None:
    """A node whose clock is an hour off changes nothing but what its rows say of the time."""
    for k in range(3):
        add(out, k, {"started": "2001-01-01T00:00:00.000+00:00"})
    merge(out)
    assert settled(out) == settled(made / "one")


def test_incomplete_and_damaged_files(out: Path) -> None:
    """Of a file that is cut off or damaged what is complete counts, and the rest is missing."""
    file = shards_of(out)[0, 3][0]
    entries = list(read_file(file)[1])
    content = file.read_bytes()
    for end in (entries[-1].offset + 5, entries[-1].offset + 200, len(content) - 1):
        file.write_bytes(content[:end])
        assert len(list(read_file(file)[1])) == len(entries) - 1
    assert len(sweep_state(out).missing) == 1
    middle = entries[2].offset
    file.write_bytes(content[: middle + 3] + b"\x00\x01" + content[middle + 5 :])
    found = [entry.about["key"] for entry in read_file(file)[1]]
    assert found == [entry.about["key"] for i, entry in enumerate(entries) if i != 2]
    file.write_bytes(content[:-9] + bytes(9))
    with pytest.raises(dlsched.InstanceError, match=r"is damaged .*submit its shard again"):
        merge(out)


def test_damaged_plan(place: Path) -> None:
    """A plan with a damaged page, or with tasks that are not those of its keys, is refused."""
    write_plan("suite.toml", "out")
    file = place / "out" / "plan" / "tasks.sqlite"
    whole = file.read_bytes()
    with closing(sqlite3.connect(file)) as base, base:
        first, second = (row[0] for row in base.execute("SELECT content FROM chunks LIMIT 2"))
        base.execute("UPDATE chunks SET content = ? WHERE content = ?", (second, first))
    with pytest.raises(dlsched.InstanceError, match=r"is damaged .*the runs of chunk 0 are others"):
        run_suite(Plan("out"), "out", on=Shards(0, 1))
    page = len(whole) // 2
    file.write_bytes(whole[:page] + bytes(b ^ 0x5A for b in whole[page:]))
    for arguments in (["bench", "--planned", "out", "--shard", "0/1"], ["status", "out", "--of=2"]):
        assert "is damaged" in refusal(*arguments)
    assert not list(place.rglob("*.rows"))


def test_two_plans_at_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is second with another suite is told so, and with the same one gets the first's plan."""
    write_plan("suite.toml", "out")
    monkeypatch.setattr(Path, "exists", first_says_no(Path.exists))
    assert write_plan("suite.toml", "out").keys == Plan("out").keys
    (place / "other.toml").write_text(suite_text(FIG5, "lyra"))
    monkeypatch.setattr(Path, "exists", first_says_no(Path.exists))
    with pytest.raises(dlsched.InstanceError, match="has a plan of other runs"):
        write_plan("other.toml", "out")
    assert [entry.name for entry in (place / "out").iterdir()] == ["plan"]


def first_says_no(exists: Any) -> Any:
    """Return a method that says of the first folder of a plan that it is not there."""
    asked: list[Path] = []

    def answer(path: Path) -> bool:
        first = path.name == "plan" and not asked
        asked.extend([path] if first else [])
        return not first and exists(path)

    return answer


def test_rows_of_another_plan(out: Path) -> None:
    """Rows of another plan are counted and left out, by a merge and by the status."""
    before = sweep_state(out)
    add(out, 0, {"key": "0" * 64})
    assert sweep_state(out).nodes == before.nodes
    merged = merge(out)
    assert (merged.runs, merged.added, merged.foreign) == (RUNS, RUNS, 1)
    with Store(out) as store:
        assert store.row("0" * 64) is None
    assert "1 rows are of other plans, and left out" in run("merge", out).stdout
    with pytest.raises(dlsched.OptionError, match="n=0 must be at least 1"):
        sweep_state(out, 0)


def test_status_by_shard_and_node(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state counts runs by shard and node; a killed run is missing; the exit status says so."""
    told = data("status", out)
    assert [shard["planned"] for shard in told["shards"]] == [7, 7, 6]
    assert told["missing"] == "" and sum(n["made"] for n in told["nodes"].values()) == RUNS
    monkeypatch.setattr(shard_file.socket, "gethostname", lambda: "node7.cluster")
    for file in shards_of(out)[2, 3]:
        file.unlink()
    with ShardFile(out, 2, 3) as file:
        row = next(read_file(shards_of(out)[0, 3][0])[1]).read().row
        key = next(iter(k for k, shard in Plan(out).shard_of(3).items() if shard == 2))
        file.add(Outcome(row | {"key": key, "status": "killed"}))
    state = sweep_state(out)
    assert state.indices == "2" and state.nodes["node7"] == (1, 1)
    assert run("status", out, "--missing", status=1).stdout == "2\n"
    assert "runs are left in the shards 2" in run("status", out, status=1).stdout
    assert ranges([0, 3, 4, 5, 9, 10]) == "0,3-5,9-10" and ranges([]) == ""


def test_missing_runs_are_listed(out: Path) -> None:
    """A merge with runs missing writes the others, names the missing ones, and says so."""
    for file in shards_of(out)[1, 3]:
        file.unlink()
    told = data("merge", out, status=1)
    assert told["runs"] == RUNS - 7 and len(told["missing"]) == 7
    assert "missing: " in run("merge", out, status=1).stdout


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["suite.toml"], "name a suite and a folder"),
        (["--planned", "out"], "out: has no plan"),
        (["suite.toml", "-o", "out", "--shard", "0/2"], "write --planned DIR"),
        (["--planned", "out", "--shard", "2/2"], "the first is 0, the last 1"),
        (["--planned", "out", "--shard", "one"], "write k/n"),
        (["suite.toml", "--planned", "out"], "leave out the others"),
        (["suite.toml", "-o", "out", "--dask", "a", "--jobs", "2"], "exclude each other"),
    ],
)
def test_unusable_arguments(arguments: list[str], said: str, place: Path) -> None:
    """What contradicts itself or is not there is one line."""
    assert said in refusal("bench", *arguments)


def test_plan_twice_and_for_others(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is not replaced, and not run by other versions, nor with another suite."""
    write_plan("suite.toml", "out")
    assert "has a plan; continue it" in refusal("bench", "suite.toml", "-o", "out", "--plan")
    other = suite_text(FIG5, "lyra")
    (place / "other.toml").write_text(other)
    with pytest.raises(dlsched.InstanceError, match="has a plan of other runs"):
        run_suite("other.toml", "out", on=Shards(0, 2))
    monkeypatch.setattr("dlsched.bench.plan.versions", lambda: {"dlsched": "0.0.9"})
    told = refusal("bench", "--planned", "out", "--shard", "0/2")
    assert "dlsched is 0.0.9, planned is 0.1.0" in told
    assert not list(place.rglob("*.rows"))


def test_full_disk(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is one error that says what is kept; the rows before it are whole."""
    file = ShardFile(out, 0, 3)
    outcome = next(read_file(shards_of(out)[1, 3][0])[1]).read()
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


def test_full_disk_at_merge(out: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk a merge writes nothing; the same merge, with room, is whole."""
    for file in shards_of(out)[1, 3]:
        file.rename(file.with_suffix(".later"))
    merge(out)
    before = settled(out)
    for file in out.rglob("*.later"):
        file.rename(file.with_suffix(".rows"))
    plan = Store._plan

    def full(self: Store, *arguments: Any) -> None:
        self.base.execute("PRAGMA max_page_count = 1")  # no more pages than there are
        plan(self, *arguments)

    monkeypatch.setattr(Store, "_plan", full)
    with pytest.raises(dlsched.InstanceError, match=r"results\.sqlite.*full.*kept") as told:
        merge(out)
    assert "dlsched merge" in str(told.value)
    monkeypatch.undo()
    assert settled(out) == before
    assert merge(out).runs == RUNS and settled(out) == settled(made / "one")


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
def test_shard_that_is_ended(number: signal.Signals, place: Path) -> None:
    """SIGTERM, Ctrl-C and kill -9 keep what is done; the same command makes the rest."""
    (place / "shard_mine.py").write_text(WAITS)
    write_plan("suite.toml", "out")
    arguments = ["bench", "--planned", "out", "--shard", "0/2", "--quiet"]
    environment = {"SHARD_TEST": str(place)}
    process = started(MAIN, *arguments, env=environment)
    while not list(place.glob("waiting-*")) or not sum(keys(place / "out").values()):
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    expected = {signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGINT: 130}
    assert process.returncode == expected[number], said
    if number == signal.SIGTERM:
        assert "ended by SIGTERM with" in said and said.count("\n") == 1
    before = keys(place / "out")
    assert before and len(before) < 10
    (place / "open").touch()
    again = started(MAIN, *arguments, env=environment)
    again.communicate(timeout=120)
    after = keys(place / "out")
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
        assert [process.wait(200) for process in processes] == [0, 0]
    merge("out")
    mine, one = settled("out"), whole
    # The method's module was changed here, so that keys of its runs differ, and nothing else.
    for row, other in zip(mine, one, strict=True):
        assert {k: v for k, v in row.items() if k not in {"key", *TIMES}} == {
            k: v for k, v in other.items() if k not in {"key", *TIMES}
        }
