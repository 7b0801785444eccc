"""The log's file: interrupted simulations go on, and files of others stay as they are."""

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from simulation_cases import (
    RandomPolicy,
    audited,
    by_hand,
    profiled_case,
    random_case,
    random_workload,
    rows,
    tables,
)

from dlsched import InstanceError, OptionError
from dlsched.simulation import Cluster, Decision, PolicyError, Simulation, Workload, simulate

FOUR = Cluster.uniform(servers=4, gpus=4)


def hurry() -> Any:
    """Return a clock on which three seconds pass whenever it is read: the log is written often."""
    return itertools.count(0, 3).__next__


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the log be written after every 20 decisions or so."""
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", hurry())
        yield


def small(**changes: Any) -> dict[str, Any]:
    """Return the arguments of a small simulation."""
    jobs = by_hand(*({"submit": i, "work": 5} for i in range(4)))
    return {"workload": jobs, "cluster": Cluster.uniform(1, 2), "policy": "srtf"} | changes


def many(count: int) -> Workload:
    """Return jobs of all kinds, arriving about as fast as four servers can run them."""
    few = random_workload(random.Random(7), FOUR, count)
    jobs = [job.model_copy(update={"submit": 12 * i}) for i, job in enumerate(few.jobs)]
    return Workload.parse({"name": "many", "jobs": [j.model_dump() for j in jobs]}, "many")


class Fragile(RandomPolicy):
    """Fails at some decisions, the first time that they are made; remembers how many it made.

    What it remembers at the beginning it forgets, and does not get back when it goes on. It is
    interrupted, or its process is killed.
    """

    failing: ClassVar[set[int]] = set()
    kills: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.memory = {"fresh": True}

    def decide(self, state: Any) -> Decision:
        """Return a random decision, which depends on the number of decisions remembered."""
        if state.number in self.failing:
            self.failing.remove(state.number)
            if self.kills:
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt
        assert self.memory.pop("fresh", False) == (state.number == 0)
        count = self.memory["count"] = self.memory.get("count", 0) + 1
        assert count == state.number + 1
        return super().decide(state)


def run_many(path: str | None, policy: str, count: int, **options: Any) -> Simulation:
    """Simulate; go on with the log if it is there."""
    made: Any = Fragile(interval=50) if policy == "random" else policy
    return simulate(many(count), FOUR, made, log=path, resume=True, seed=3, **options)


def die(path: str, policy: str, count: int, number: int) -> None:
    """Be killed at a decision, or after so many times that the log was written: a program."""
    time.monotonic = hurry()
    Fragile.failing, Fragile.kills = {number}, True
    written = itertools.count(1)

    def kill(*_: int) -> None:
        if next(written) == number and policy != "random":
            os.kill(os.getpid(), signal.SIGKILL)

    run_many(path, policy, count, on_progress=kill)


@pytest.mark.parametrize(
    ("policy", "count", "numbers"),
    [
        ("random", 100, [90]),
        pytest.param("random", 5000, [300, 2000, 2100, 5000, 9000], marks=pytest.mark.slow),
        pytest.param("srtf", 5000, [5, 30, 60, 3, 90], marks=pytest.mark.slow),
        pytest.param("las", 5000, [5, 30, 60, 3, 90], marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed(tmp_path: Path, policy: str, count: int, numbers: list[int]) -> None:
    """Killed with rows that are not written, it goes on and ends with the same log."""
    path = tmp_path / "log"
    places = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    for number in numbers:
        code = f"import test_log; test_log.die({str(path)!r}, {policy!r}, {count}, {number})"
        command = [sys.executable, "-c", code]
        ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": places}, check=False)
        assert ended.returncode == -signal.SIGKILL
        with sqlite3.connect(path) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            completed = database.execute("SELECT count(*) FROM completions").fetchone()[0]
        assert 0 < completed < count
    resumed = run_many(str(path), policy, count)
    assert tables(resumed) == tables(run_many(None, policy, count))
    assert resumed.audit()


def finish(*case: Any, **options: Any) -> tuple[Simulation, int]:
    """Go on until a simulation ends; return it with the number of its interruptions."""
    for tries in range(100):
        try:
            return simulate(*case, resume=True, **options), tries
        except KeyboardInterrupt:
            continue
    raise AssertionError("it never ends")


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("seed", range(5))
def test_ctrl_c_loses_no_more_than_the_last_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Interruptions, each at a decision, between writing; with loans, CPUs, groups, memory."""
    case = (*random_case(seed), Fragile(interval=20))
    monkeypatch.setattr(Fragile, "failing", set())
    expected = tables(simulate(*case, seed=1))
    monkeypatch.setattr(Fragile, "failing", set(range(0, 150, 4)))
    run, tries = finish(*case, seed=1, log=tmp_path / "log")
    assert tries >= 2
    assert tables(run) == expected
    assert run.audit()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("policy", ["themis", "lyra", "gavel", "las", "federated", "gandiva"])
def test_what_a_policy_remembers_is_in_the_log(tmp_path: Path, policy: str) -> None:
    """Interrupted when the log was written, three times, it decides as if it had not been."""
    left = iter(range(3))

    def interrupt(*_: int) -> None:
        if next(left, None) is not None:
            raise KeyboardInterrupt

    case = (*profiled_case(7), policy)
    run, tries = finish(*case, log=tmp_path / "log", on_progress=interrupt)
    assert tries >= 1
    assert tables(run) == tables(simulate(*case))


@pytest.mark.usefixtures("hurried")
def test_a_full_disk_leaves_what_was_written(tmp_path: Path) -> None:
    """The error says that the log cannot be written; with room again the simulation goes on."""
    resource = pytest.importorskip("resource")
    path, case = tmp_path / "log", (many(400), FOUR, "srtf")
    whole = simulate(*case, log=tmp_path / "whole")
    size = (tmp_path / "whole").stat().st_size * 3 // 4
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with pytest.raises(OptionError, match=r"log: cannot be written .*; .* then resume"):
            simulate(*case, log=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM completions").fetchone()[0]
    assert tables(simulate(*case, log=path, resume=True)) == tables(whole)


def test_a_simulation_keeps_its_log_for_itself(tmp_path: Path) -> None:
    """Nobody can write or read it until the simulation ends; then everybody can read it."""
    path, refused = tmp_path / "log", []

    class Looking(RandomPolicy):
        def decide(self, state: Any) -> Decision:
            if not refused:
                with pytest.raises(OptionError, match=r"is in use .*wait until it ends, or name"):
                    simulate(**small(), log=path, resume=True)
                refused.append(True)
            return super().decide(state)

    run = audited(**small(policy=Looking()), log=path)
    assert refused
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM completions").fetchone() == (4,)
    assert run.complete


def test_what_cannot_be_simulated_leaves_no_file(tmp_path: Path) -> None:
    """Errors at the start and at the first decision: the same call with another policy begins."""

    class Wrong(RandomPolicy):
        def decide(self, state: Any) -> Decision:
            raise ValueError

    for changes in ({"workload": by_hand({"gpus": 3})}, {"policy": Wrong()}):
        with pytest.raises((PolicyError, InstanceError)):
            simulate(**small(**changes), log=tmp_path / "log")
        assert not list(tmp_path.iterdir())


SEED, CLOCK, VERSION = (f"WHERE key = '{key}'" for key in ("seed", "clock", "version"))
# What is done to a complete log, or instead of it; the simulation that is to go on; what is said.
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no log": ("no database, but long enough " * 20, {}, "cannot be used as a log"),
    "cats": ("new: CREATE TABLE cats (name)", {}, r"cannot be used as a log .*something else"),
    "no rows": ("new: CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)", {}, "something else"),
    "other columns": ("new: CREATE TABLE meta (name, value)", {}, "something else"),
    "a number": ("new: PRAGMA application_id = 77", {}, "something else"),
    "header": (f"UPDATE meta SET value = '{{' {SEED}", {}, "log: its header cannot be read"),
    "version": (f"UPDATE meta SET value = '0' {VERSION}", {}, "version differs"),
    "clock": (f"UPDATE meta SET value = '\"float seconds\"' {CLOCK}", {}, "a published simulator"),
    "seed": ("", {"seed": 1}, "another simulation: seed differs"),
    "cluster": ("", {"cluster": Cluster.uniform(2, 2)}, "another simulation: cluster differs"),
    "workload": ("", {"workload": by_hand(*[{}] * 4)}, "another simulation: workload differs"),
    "method": ("", {"method": "exact"}, "another simulation: method differs"),
    "options": ("", {"interval": 6}, "another simulation: options differs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_resumed_stays_as_it_is(tmp_path: Path, name: str) -> None:
    """Other files, headers that cannot be used and logs of other simulations are one error."""
    path, (change, other, said) = tmp_path / "log", REFUSED[name]
    stated = small(policy="mast", interval=5)
    if change.startswith("no database"):
        path.write_text(change)
    else:
        if not change.startswith("new: "):
            simulate(**stated, log=path).log.close()
        with sqlite3.connect(path) as database:
            database.executescript(change.removeprefix("new: "))
    before = path.read_bytes()
    with pytest.raises(OptionError, match=said):
        simulate(**stated | other, log=path, resume=True)
    assert path.read_bytes() == before


def test_a_simulation_stopped_before_its_log_was_written_starts_anew(tmp_path: Path) -> None:
    """Rows without a state to go on from are not counted."""
    path = tmp_path / "log"
    simulate(**small(), log=path).log.close()
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM meta WHERE key IN ('end', 'state')")
    assert len(rows(audited(**small(), log=path, resume=True), "completions")) == 4
