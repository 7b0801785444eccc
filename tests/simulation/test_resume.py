"""An interrupted simulation that goes on ends with the log of one that was not interrupted."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
import simulation_child
from simulation_cases import RandomPolicy, random_case

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.engine import engine
from dlsched.simulation.log import COMPARED, Log, LogError

CHILD = Path(simulation_child.__file__)
QUICK, LARGE = 300, 5000


def tables(log: Log) -> dict[str, list[Any]]:
    """Return what two runs of the same simulation have in common."""
    return {name: log.rows(name) for name in COMPARED} | {"end": [log.meta()["end"]]}


def stop(path: Path, arguments: list[Any], sign: int, last: Callable[[int, str], bool]) -> None:
    """Simulate in another process, and end it by a signal.

    Parameters
    ----------
    last
        Whether to do so, by the number of a line that the process writes, and the line.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(CHILD.parent), *sys.path])}
    command = [sys.executable, str(CHILD), str(path), *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as child:
        assert child.stdout is not None
        assert any(last(i, line) for i, line in enumerate(child.stdout))
        child.send_signal(sign)
        assert child.wait() != 0, "it ended before it was stopped"
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        completed = database.execute("SELECT count(*) FROM completions").fetchone()[0]
        assert 0 < completed < int(arguments[1])


def check_resumed(path: Path, policy: str, count: int) -> None:
    """Go on with a simulation, and compare its log with that of an undisturbed one."""
    resumed = simulation_child.run(str(path), policy, count)
    undisturbed = simulation_child.run(None, policy, count)
    assert tables(resumed.log) == tables(undisturbed.log)
    assert resumed.audit()


def test_killed_and_resumed(tmp_path: Path) -> None:
    """Killed before decision 200, with rows that are not written."""
    path = tmp_path / "log"
    stop(path, ["random", QUICK, 200], signal.SIGKILL, lambda _, line: line == "waiting\n")
    check_resumed(path, "random", QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["random", "srtf", "las"])
def test_5000_jobs_killed_and_resumed(tmp_path: Path, policy: str) -> None:
    """The same with 5,000 jobs, stopped five times wherever it is after some commits."""
    path = tmp_path / "log"
    signs = [signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGKILL, signal.SIGINT]
    for commits, sign in zip([5, 30, 60, 3, 90], signs, strict=True):
        stop(path, [policy, LARGE], sign, lambda i, _, last=commits: i == last)  # type: ignore[misc]
    check_resumed(path, policy, LARGE)


class Interrupted(KeyboardInterrupt):
    """Raised in the middle of a simulation, as by Ctrl-C."""


class Fragile(RandomPolicy):
    """Fails at some decisions, the first time that they are made; remembers how many it made."""

    failing: ClassVar[set[int]] = set()

    def decide(self, state: Any) -> Any:
        """Return a random decision, which depends on the number of decisions remembered."""
        if state.number in self.failing:
            self.failing.remove(state.number)
            raise Interrupted
        count = self.memory["count"] = self.memory.get("count", 0) + 1
        assert count == state.number + 1
        return super().decide(state)


@pytest.mark.parametrize("seed", range(8))
def test_ctrl_c_loses_no_more_than_the_last_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Interruptions, each at a decision, between commits of ten rows; with loans, CPUs, groups."""
    monkeypatch.setattr(engine, "COMMIT_ROWS", 10)
    workload, cluster = random_case(seed)
    monkeypatch.setattr(Fragile, "failing", set())
    expected = tables(simulate(workload, cluster, Fragile(interval=20), seed=1).log)
    monkeypatch.setattr(Fragile, "failing", set(range(0, 150, 4)))
    path, tries = tmp_path / "log", 0
    while tries < 100:
        try:
            run = simulate(workload, cluster, Fragile(interval=20), seed=1, log=path, resume=True)
            break
        except Interrupted:
            tries += 1
    assert tries >= 2
    assert tables(run.log) == expected
    assert run.audit()


def test_memory_that_became_empty_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy that begins with something to remember, and forgets it, does not get it back."""

    class Forgetful(RandomPolicy):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.memory = {"fresh": True}

        def decide(self, state: Any) -> Any:
            assert bool(self.memory) == (state.number == 0)
            self.memory = {}
            return super().decide(state)

    monkeypatch.setattr(engine, "COMMIT_ROWS", 10)
    workload, cluster = simulation_child.workload(30), simulation_child.CLUSTER

    def interrupt(*_: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        simulate(workload, cluster, Forgetful(), log=tmp_path / "log", on_progress=interrupt)
    assert simulate(workload, cluster, Forgetful(), log=tmp_path / "log", resume=True).complete


def small(**changes: Any) -> dict[str, Any]:
    """Return the arguments of a small simulation."""
    jobs = [{"id": f"j{i}", "submit": i, "gpus": 1, "work": 5} for i in range(4)]
    plain = {
        "workload": Workload.parse({"name": "small", "jobs": jobs}, "small"),
        "cluster": Cluster.uniform(servers=1, gpus=2),
        "policy": "srtf",
    }
    return plain | changes


OTHER: dict[str, dict[str, Any]] = {
    "policy": {"policy": "fifo"},
    "seed": {"seed": 1},
    "cluster": {"cluster": Cluster.uniform(servers=2, gpus=2)},
    "method": {"policy": "mast", "method": "exact"},
}


@pytest.mark.parametrize("key", OTHER)
def test_another_simulation_is_not_resumed(tmp_path: Path, key: str) -> None:
    """The error names what differs; the log stays as it was."""
    path = tmp_path / "log"
    simulate(**small(policy="mast" if key == "method" else "srtf"), log=path).log.close()
    before = path.read_bytes()
    with pytest.raises(LogError, match=f"another simulation: {key} differs"):
        simulate(**small(**OTHER[key]), log=path, resume=True)
    assert path.read_bytes() == before


def test_a_policy_object_with_other_options_is_not_resumed(tmp_path: Path) -> None:
    """The options of a policy that the caller made count as well."""
    path = tmp_path / "log"
    simulate(**small(policy=RandomPolicy(interval=5)), log=path)
    with pytest.raises(LogError, match="options differs"):
        simulate(**small(policy=RandomPolicy(interval=6)), log=path, resume=True)


def test_a_log_of_another_version_is_not_resumed(tmp_path: Path) -> None:
    """A version that this one does not write is refused."""
    path = tmp_path / "log"
    simulate(**small(), log=path).log.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '0' WHERE key = 'version'")
    with pytest.raises(LogError, match="version differs"):
        simulate(**small(), log=path, resume=True)


def test_a_complete_log_is_returned(tmp_path: Path) -> None:
    """Nothing is simulated again, and nothing is written."""
    path = tmp_path / "log"
    first = simulate(**small(), log=path).summary
    before = path.read_bytes()
    assert simulate(**small(), log=path, resume=True).summary == first
    assert path.read_bytes() == before


def test_a_log_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    """Without resume the file must be new."""
    path = tmp_path / "log"
    simulate(**small(), log=path)
    with pytest.raises(LogError, match="is there already"):
        simulate(**small(), log=path)


def test_other_files_are_no_logs(tmp_path: Path) -> None:
    """A text file and a database of something else are refused, and stay as they are."""
    text = tmp_path / "text"
    text.write_text("no database, but long enough that it could be one" * 9, encoding="utf-8")
    other = tmp_path / "other"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE cats (name)")
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(LogError, match="cannot be used as a log"):
            simulate(**small(), log=path, resume=True)
        assert path.read_bytes() == before


def test_a_header_that_is_no_json_is_one_error(tmp_path: Path) -> None:
    """The error names the file and what is wrong with it."""
    path = tmp_path / "log"
    simulate(**small(), log=path).log.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '{' WHERE key = 'seed'")
    with pytest.raises(LogError, match="log: its header cannot be read"):
        simulate(**small(), log=path, resume=True)


def test_a_full_disk_leaves_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says that the log cannot be written; with room again the simulation goes on."""
    monkeypatch.setattr(engine, "COMMIT_ROWS", 10)
    path = tmp_path / "log"

    def fill(log: Log) -> None:
        pages = log.database.execute("PRAGMA page_count").fetchone()[0]
        log.database.execute(f"PRAGMA max_page_count = {pages + 1}")

    commit, made = Log.commit, []

    def limited(log: Log, **meta: Any) -> None:
        if not made:
            made.append(fill(log))
        commit(log, **meta)

    case = {"workload": simulation_child.workload(200), "cluster": simulation_child.CLUSTER,
            "policy": "srtf"}  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(Log, "commit", limited)
        with pytest.raises(LogError, match=r"log: cannot be written .*full\); .* then resume"):
            simulate(**case, log=path)
    resumed = simulate(**case, log=path, resume=True)
    assert tables(resumed.log) == tables(simulate(**case).log)


def test_a_simulation_stopped_before_its_first_commit_starts_anew(tmp_path: Path) -> None:
    """Rows without a state to go on from are not counted."""
    path = tmp_path / "log"
    simulate(**small(), log=path).log.close()
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM meta WHERE key IN ('end', 'state')")
    run = simulate(**small(), log=path, resume=True)
    assert len(run.log.rows("completions")) == 4
    assert run.audit()
