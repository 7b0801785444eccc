"""Logs that others write, foreign files, changed logs: one clear end, and nothing written."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from simulation_cases import RandomPolicy, random_case
from test_audit import copy
from test_resume import small, tables

from dlsched import InstanceError
from dlsched.simulation import (
    Allocation,
    BasePolicy,
    Cluster,
    Decision,
    PolicyError,
    Share,
    Workload,
    simulate,
)
from dlsched.simulation.audit import audit
from dlsched.simulation.log import TABLES, Log, LogError
from dlsched.simulation.measures.metrics import summary

HOLD = """
import sys
from dlsched.simulation.log import Log
log = Log(sys.argv[1]); log.lock(); print("locked", flush=True); sys.stdin.read()
"""


def test_a_log_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    """The error names the file and says what to do; afterwards the simulation goes on."""
    path = tmp_path / "log"
    simulate(**small(), log=path).log.close()
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM meta WHERE key IN ('end', 'state')")
    database.close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(LogError, match=r"log: is in use .*wait until it ends, or name another"):
            simulate(**small(), log=path, resume=True)
        other.communicate()
    assert tables(simulate(**small(), log=path, resume=True).log) == tables(simulate(**small()).log)


def test_a_simulation_keeps_its_log_for_itself(tmp_path: Path) -> None:
    """Nobody can write or read it until the simulation ends; then everybody can read it."""
    path, refused = tmp_path / "log", []

    def look(*_: object) -> None:
        with pytest.raises(LogError, match="in use"):
            simulate(**small(), log=path, resume=True)
        refused.append(True)

    class Looking(RandomPolicy):
        def decide(self, state: Any) -> Decision:
            if not refused:
                look()
            return super().decide(state)

    run = simulate(**small(policy=Looking()), log=path)
    assert refused
    assert len(Log(path).rows("completions")) == 4
    assert run.audit()


FOREIGN = {
    "a table of its own": "CREATE TABLE cats (name)",
    "a table with the name of ours": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
    "columns of its own": "CREATE TABLE meta (name, value)",
    "the mark of another application": "PRAGMA application_id = 77",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_database_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    """It is refused before anything is written to it."""
    path = tmp_path / "other"
    with sqlite3.connect(path) as database:
        database.execute(FOREIGN[kind])
    database.close()
    before = path.read_bytes()
    with pytest.raises(LogError, match=r"cannot be used as a log .*something else"):
        simulate(**small(), log=path, resume=True)
    assert path.read_bytes() == before


class Stating(BasePolicy):
    """Starts each job at once, with fields of its own in share and allocation."""

    def __init__(self, share: dict[str, Any], **fields: Any) -> None:
        super().__init__()
        self._share, self._fields = share, fields

    def decide(self, state: Any) -> Decision:
        """Return the start of the first job that waits."""
        free = next((name for name, gpus in state.free_gpus.items() if gpus), None)
        if free is None or not state.waiting:
            return Decision()
        share = Share(free, 1, **self._share)
        return Decision({state.waiting[0].id: Allocation((share,), **self._fields)})


def test_what_cannot_be_simulated_leaves_no_file(tmp_path: Path) -> None:
    """Errors at the start and at the first decision: the same call with another policy begins."""
    wide = [{"id": "a", "submit": 0, "gpus": 3, "work": 5}]
    wrong: list[dict[str, Any]] = [
        {"workload": Workload.parse({"name": "wide", "jobs": wide}, "wide")},
        {"policy": Stating({"cpus": -1})},
        {"policy": Stating({}, speed=-1)},
    ]
    for changes in wrong:
        with pytest.raises((PolicyError, InstanceError)):
            simulate(**small(**changes), log=tmp_path / "log")
        assert not list(tmp_path.iterdir())


EXTREME = {
    "speed of 1e-400": ({"speed": 1 / Fraction(10) ** 400}, {}),
    "speed of 1e400": ({"speed": Fraction(10) ** 400}, {}),
    "speed of many digits": (
        {"speed": 1 + Fraction(1, 3**4000)},
        {},
    ),
    "memory of 1e400": ({}, {"memory": Fraction(10) ** 400}),
}


@pytest.mark.parametrize("name", EXTREME)
def test_numbers_out_of_range_are_one_error(name: str) -> None:
    """The message names the job and what to write."""
    fields, share = EXTREME[name]
    with pytest.raises(PolicyError, match=r"job j0: (speed|GB) is .*(range|round it)"):
        simulate(**small(policy=Stating(share, **fields)))


def test_an_end_beyond_the_clock_is_one_error() -> None:
    """A speed that is allowed, but at which a job takes longer than a double can say."""
    least = Fraction(1, 10**300)
    jobs = [{"id": "a", "submit": 0, "gpus": 1, "work": 10**11}]
    workload = Workload.parse({"name": "long", "jobs": jobs}, "long")
    with pytest.raises(PolicyError, match="next event is at more than 1e308 s; the clock ends"):
        simulate(workload, Cluster.uniform(1, 1), Stating({}, speed=least))


def test_hadare_refuses_a_gang_that_fits_no_node(tmp_path: Path) -> None:
    """It is known before the first round that no copy of the job can ever run."""
    jobs = [{"id": "wide", "submit": 0, "gpus": 6, "work": 5}]
    workload = Workload.parse({"name": "wide", "jobs": jobs}, "wide")
    with pytest.raises(PolicyError, match=r"copy of job wide needs 6 GPUs .*largest .* has 4; "):
        simulate(workload, Cluster.uniform(2, 4), "forked", log=tmp_path / "log")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("policy", "one_type"), [("las", False), ("tiresias", True)])
def test_a_gang_larger_than_its_pool_or_type_is_refused(policy: str, one_type: bool) -> None:
    """It would wait for ever, through thousands of rounds: for loans, or for a type of GPU."""
    jobs = [{"id": "wide", "submit": 0, "gpus": 6, "work": 5}]
    workload = Workload.parse({"name": "wide", "jobs": jobs}, "wide")
    second = {"gpu_type": "k80"} if one_type else {"pool": "loan"}
    cluster = Cluster.of([{"gpus": 4}, {"gpus": 4} | second])
    options = {"one_type": True} if one_type else {}
    with pytest.raises(PolicyError, match=rf"policy {policy}: job wide asks for 6 GPUs.* 4; leave"):
        simulate(workload, cluster, policy, **options)


VALUES = (
    None, "", "x", -1, 0, 7, 2**62, 1e308, float("inf"), -0.5, b"\xff", "[]", "{}", "{", "null",
    '[["s0"]]', '[["s0", 1, null, null, 5]]', '[["s0", 1, 1e400, NaN]]', '[{"a": 1}]', "1/0",
    "9" * 5000, "1e999999", "nan", "changed", "s0", "[" * 3000, '"priority"', '"x"', "1e999",
)  # fmt: skip
"""What a cell of a changed log may have."""


def test_changed_logs_are_violations() -> None:
    """Whatever one cell, row or table of a log is changed to, the audit ends with a report."""
    workload, cluster = random_case(1)
    original = simulate(workload, cluster, RandomPolicy(interval=20), seed=1).log
    rng = random.Random(5)
    refused = 0
    for _ in range(60):
        log = copy(original)
        table = rng.choice([*TABLES, "meta", "meta"])
        columns = TABLES.get(table, ("key", "value"))
        column, value = rng.choice(columns), rng.choice(VALUES)
        count = log.database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if rng.random() < 0.1:
            log.database.execute(f"DROP TABLE {table}")
        elif count and rng.random() < 0.1:
            log.database.execute(f"DELETE FROM {table} WHERE rowid = ?", (rng.randint(1, count),))
        elif count:
            change = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
            log.database.execute(change, (value, rng.randint(1, count)))
        report = audit(log, summary)
        refused += not report
    assert refused > 25


def test_a_log_in_floats_is_refused(tmp_path: Path) -> None:
    """A log of a published simulator, as version 0.1 wrote it, is not read as microseconds."""
    path = tmp_path / "log"
    simulate(**small(), log=path).log.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '\"float seconds\"' WHERE key = 'clock'")
    with pytest.raises(LogError, match="of a published simulator"):
        Log(path)
