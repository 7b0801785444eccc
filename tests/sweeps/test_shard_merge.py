"""Merging shards: which of two rows counts, what is missing, and what writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sharded_sweep import RUNS, add

import dlsched
from calls import data, run
from dlsched.sweeps import Store, merge, sweep_state
from dlsched.sweeps.merge import Disagreement
from dlsched.sweeps.shard_file import shards_of
from sweeps import settled

pytestmark = pytest.mark.usefixtures("shared_workers")


def test_merging_twice(shards: Path) -> None:
    """The second merge changes nothing, and neither does one without the files."""
    merge(shards)
    rows = settled(shards)
    again = merge(shards)
    assert (again.runs, again.added, again.repeated) == (RUNS, 0, 0) and settled(shards) == rows
    for file in shards.rglob("*.rows"):
        file.unlink()
    assert merge(shards).runs == RUNS and settled(shards) == rows


def test_rows_that_disagree(shards: Path) -> None:
    """Two answers of one run refuse the merge, which names both files, and nothing is written."""
    merge(shards)
    before = settled(shards)
    add(shards, 0, {"objective": '{"preempted": 77}'})
    with pytest.raises(Disagreement, match=r"1 runs .*objective is .*77.* in .*0-of-3") as caught:
        merge(shards)
    assert str(caught.value).count(".rows") == 2 and settled(shards) == before
    ran = run("merge", shards, status=1)
    assert ran.stderr.startswith("error: 1 runs have rows that disagree")


def test_limits_and_deaths_do_not_disagree(shards: Path) -> None:
    """A run that a limit or a death ended gives way to one that ended by itself."""
    killed = add(shards, 0, {"status": "killed", "objective": None, "solution_sha256": None})
    late = add(shards, 1, {"termination": "time_limit", "objective": '{"preempted": 99}'})
    merge(shards)
    with Store(shards) as store:
        rows = {row["key"]: row for row in store.rows()}
    assert rows[killed]["status"] == "feasible" and "99" not in rows[late]["objective"]


def test_clock_that_is_off(shards: Path, sharded: Path) -> None:
    """A node whose clock is an hour off changes nothing but what its rows say of the time."""
    for k in range(3):
        add(shards, k, {"started": "2001-01-01T00:00:00.000+00:00"})
    merge(shards)
    assert settled(shards) == settled(sharded / "one")


def test_rows_of_another_plan(shards: Path) -> None:
    """Rows of another plan are counted and left out, by a merge and by the status."""
    before = sweep_state(shards)
    add(shards, 0, {"key": "0" * 64})
    assert sweep_state(shards).nodes == before.nodes
    merged = merge(shards)
    assert (merged.runs, merged.added, merged.foreign) == (RUNS, RUNS, 1)
    with Store(shards) as store:
        assert store.row("0" * 64) is None
    assert "1 rows are of other plans, and left out" in run("merge", shards).stdout
    with pytest.raises(dlsched.OptionError, match="n=0 must be at least 1"):
        sweep_state(shards, 0)


def test_missing_runs_are_listed(shards: Path) -> None:
    """A merge with runs missing writes the others, names the missing ones, and says so."""
    for file in shards_of(shards)[1, 3]:
        file.unlink()
    told = data("merge", shards, status=1)
    assert told["runs"] == RUNS - 7 and len(told["missing"]) == 7
    assert "missing: " in run("merge", shards, status=1).stdout


def test_full_disk_at_merge(shards: Path, sharded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk a merge writes nothing; the same merge, with room, is whole."""
    for file in shards_of(shards)[1, 3]:
        file.rename(file.with_suffix(".later"))
    merge(shards)
    before = settled(shards)
    for file in shards.rglob("*.later"):
        file.rename(file.with_suffix(".rows"))
    plan = Store._plan

    def full(self: Store, *arguments: Any) -> None:
        self.base.execute("PRAGMA max_page_count = 1")  # no more pages than there are
        plan(self, *arguments)

    monkeypatch.setattr(Store, "_plan", full)
    with pytest.raises(dlsched.InstanceError, match=r"results\.sqlite.*full.*kept") as told:
        merge(shards)
    assert "dlsched merge" in str(told.value)
    monkeypatch.undo()
    assert settled(shards) == before
    assert merge(shards).runs == RUNS and settled(shards) == settled(sharded / "one")
