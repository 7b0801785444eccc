"""What happens to a folder of results from outside: one clear error, and what is kept."""

from __future__ import annotations

import csv
import errno
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import dlsched
from calls import refusal, suite_text
from dlsched.sweeps import Store, read_suite, run_suite, statistics, store
from dlsched.sweeps.instance_spec import Changed, InstanceSpec
from sweeps import stored

SUITE = suite_text(
    'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 6] }',
    "lyra",
    "random; seeds = [0, 1, 2, 3, 4]",
)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Give the files of a finished sweep of 24 runs, by name."""
    place = tmp_path_factory.mktemp("made")
    (place / "suite.toml").write_text(SUITE)
    run_suite(place / "suite.toml", place / "out")
    files = [file for file in place.rglob("*") if file.is_file()]
    return {str(file.relative_to(place)): file.read_bytes() for file in files}


@pytest.fixture(autouse=True)
def place(
    workdir: Path,
    made: dict[str, bytes],
    shared_workers: None,
) -> Path:
    """Give a working directory with the finished sweep."""
    for name, content in made.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content)
    return workdir


def overwrite(begin: float, end: float) -> None:
    """Overwrite a part of the database."""
    content = bytearray(Path("out/results.sqlite").read_bytes())
    first, last = int(begin * len(content)), int(end * len(content))
    content[first:last] = b"\xa5" * (last - first)
    Path("out/results.sqlite").write_bytes(content)


@pytest.mark.parametrize("command", ["bench", "report"])
@pytest.mark.parametrize("part", [(0.4, 0.6), (0.0, 0.001), (0.05, 1.0)])
def test_damaged_database(part: tuple[float, float], command: str) -> None:
    """A damaged database is one line that names the file, with 2, whoever reads it."""
    overwrite(*part)
    more = ["suite.toml", "-o", "out", "--resume"] if command == "bench" else ["out"]
    said = refusal(command, *more)
    assert "out/results.sqlite" in said and "another folder" in said


def test_what_can_be_read_is_kept() -> None:
    """The rows on both sides of the damage are in a CSV file; a cut-off sweep is not shorter."""
    overwrite(0.45, 0.55)
    with pytest.raises(dlsched.InstanceError, match=r"is damaged .*rows in out/salvaged\.csv"):
        run_suite("suite.toml", "out", resume=True)
    rows = list(csv.DictReader(Path("out/salvaged.csv").read_text().splitlines()))
    assert 2 <= len(rows) <= 24 and len({row["key"] for row in rows}) == len(rows)
    assert {row["status"] for row in rows} == {"feasible"}
    content = Path("out/results.sqlite").read_bytes()
    Path("out/results.sqlite").write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(dlsched.InstanceError, match="is damaged"):
        run_suite("suite.toml", "out", resume=True)


def test_damage_in_the_middle_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that fails half-way ends the sweep with one error; solutions are kept."""
    true, seen = Store.add, []

    def failing(self: Store, outcome: Any) -> None:
        if len(seen) == 5:
            self.base.close()
            self.base = sqlite3.connect(":memory:")  # there is no table in it
        seen.append(outcome)
        true(self, outcome)

    monkeypatch.setattr(Store, "add", failing)
    with pytest.raises(dlsched.InstanceError, match=r"cannot be used .*finished runs are kept"):
        run_suite("suite.toml", "again")
    assert len(stored("again")) == 5
    monkeypatch.undo()


LATER = [pytest.param(f"results.{end}", marks=pytest.mark.slow) for end in ("csv", "sqlite")]


@pytest.mark.parametrize("full", ["solutions", *LATER])
def test_full_disk(full: str) -> None:
    """On a full disk the error names the folder and --resume; what was finished is kept."""
    true, written, seen = store.replace_file, [], []

    def failing(path: Path, content: bytes) -> None:
        written.append(path)
        if full in str(path) and (full == "results.csv" or len(written) > 5):
            raise OSError(errno.ENOSPC, "No space left on device")
        true(path, content)

    def enlarge(row: dict[str, Any], left: int) -> None:
        seen.append(row)
        if full == "results.sqlite":
            patch.setattr(Store, "_insert", insert_much)

    def insert_much(self: Store, row: dict[str, Any]) -> None:
        self.base.execute("PRAGMA max_page_count = 1")  # no more pages than there are
        insert(self, {**row, "reason": "x" * 10**6})

    insert = Store._insert
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "replace_file", failing)
        with pytest.raises(dlsched.InstanceError, match=rf"^again/{full}.*(full|no space)") as told:
            run_suite("suite.toml", "again", on_row=enlarge)
    assert "finished runs are kept" in str(told.value) and "--resume" in str(told.value)
    assert len(stored("again")) == len(seen) > 0
    assert set(run_suite("suite.toml", "again", resume=True)["status"]) == {"feasible"}


def test_damaged_record() -> None:
    """A row whose record is no result is one error that names the run."""
    with sqlite3.connect("out/results.sqlite") as base:
        base.execute("UPDATE runs SET record = '{\"problem\": 1' WHERE method = 'lyra'")
    base.close()
    with pytest.raises(dlsched.InstanceError, match="the run of lyra on"):
        statistics.evaluate_rows(stored("out"))


def test_instance_changed_after_the_plan() -> None:
    """An instance's file that changes on the way is a row that says so, and is made again."""
    first, second = (dlsched.generate("reclaiming", seed, servers=4) for seed in (1, 2))
    dlsched.save(first, "mine.json")
    Path("files.toml").write_text(suite_text('files = "mine.json"', "lyra"))
    suite = read_suite("files.toml")
    dlsched.save(second, "mine.json")
    frame = run_suite(suite, "files")
    assert list(frame["status"]) == ["changed"]
    assert first.sha256[:12] in frame["reason"][0] and second.sha256[:12] in frame["reason"][0]
    Path("mine.json").unlink()
    frame = run_suite(suite, "files", resume=True)
    assert list(frame["status"]) == ["changed"] and "cannot be read" in frame["reason"][0]
    dlsched.save(first, "mine.json")
    assert list(run_suite("files.toml", "files", resume=True)["status"]) == ["feasible"]


def test_digest_is_compared_in_the_worker() -> None:
    """A specification refuses an instance with another digest than the planned one."""
    planned = InstanceSpec.given(dlsched.generate("reclaiming", 1, servers=4))
    other = dlsched.generate("reclaiming", 2, servers=4)
    wrong = InstanceSpec.given(other).recipe
    with pytest.raises(Changed, match="not the instance that the sweep was planned with"):
        InstanceSpec(planned.problem, "x", "x", "x", wrong, planned.sha256).make()
