"""Plans of sweeps: whole, frozen, and made by nobody else."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sharded_sweep import OTHER, RUNS

import dlsched
from calls import FIG5, refusal, suite_text
from dlsched.sweeps import Plan, Shards, run_suite, write_plan

pytestmark = pytest.mark.usefixtures("shared_workers")


def test_plan_is_frozen(sharded: Path) -> None:
    """The plan has versions, the library's digest, and a copy of all modules of the user."""
    about = json.loads((sharded / "out/plan/plan.json").read_text())
    assert about["runs"] == RUNS and set(about["library"]) == {"reclaiming"}
    assert set(about["modules"]) == {"module shard_mine", "module shard_other"}
    assert (sharded / "out/plan/code/shard_other.py").read_text() == OTHER


def test_parts_are_equal_and_whole(sharded: Path) -> None:
    """Each task is in one shard, whatever their number; shards differ by a chunk at most."""
    plan = Plan(sharded / "out")
    for n in (1, 3, 7, 30):
        parts = [[task.key for task in plan.tasks(k, n)] for k in range(n)]
        assert sorted(key for part in parts for key in part) == sorted(plan.keys)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        shard_of = plan.shard_of(n)
        assert all(shard_of[key] == k for k, part in enumerate(parts) for key in part)


def test_damaged_plan(shard_suite: Path) -> None:
    """A plan with a damaged page, or with tasks that are not those of its keys, is refused."""
    write_plan("suite.toml", "out")
    file = shard_suite / "out" / "plan" / "tasks.sqlite"
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
    assert not list(shard_suite.rglob("*.rows"))


def test_two_plans_at_once(shard_suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is second with another suite is told so, and with the same one gets the first's plan."""
    write_plan("suite.toml", "out")
    monkeypatch.setattr(Path, "exists", first_says_no(Path.exists))
    assert write_plan("suite.toml", "out").keys == Plan("out").keys
    (shard_suite / "other.toml").write_text(suite_text(FIG5, "lyra"))
    monkeypatch.setattr(Path, "exists", first_says_no(Path.exists))
    with pytest.raises(dlsched.InstanceError, match="has a plan of other runs"):
        write_plan("other.toml", "out")
    assert [entry.name for entry in (shard_suite / "out").iterdir()] == ["plan"]


def first_says_no(exists: Any) -> Any:
    """Return a method that says of the first folder of a plan that it is not there."""
    asked: list[Path] = []

    def answer(path: Path) -> bool:
        first = path.name == "plan" and not asked
        asked.extend([path] if first else [])
        return not first and exists(path)

    return answer


def test_plan_twice_and_for_others(shard_suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is not replaced, and not run by other versions, nor with another suite."""
    write_plan("suite.toml", "out")
    assert "has a plan; continue it" in refusal("bench", "suite.toml", "-o", "out", "--plan")
    other = suite_text(FIG5, "lyra")
    (shard_suite / "other.toml").write_text(other)
    with pytest.raises(dlsched.InstanceError, match="has a plan of other runs"):
        run_suite("other.toml", "out", on=Shards(0, 2))
    monkeypatch.setattr("dlsched.sweeps.plan.versions", lambda: {"dlsched": "0.0.9"})
    told = refusal("bench", "--planned", "out", "--shard", "0/2")
    assert "dlsched is 0.0.9, planned is 0.1.0" in told
    assert not list(shard_suite.rglob("*.rows"))


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
def test_unusable_arguments(arguments: list[str], said: str, shard_suite: Path) -> None:
    """What contradicts itself or is not there is one line."""
    assert said in refusal("bench", *arguments)
