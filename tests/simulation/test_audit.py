"""The auditor refuses what is wrong in a log, each by its own kind, and accepts the log itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from simulation_cases import RandomPolicy, random_case

from dlsched.simulation import simulate
from dlsched.simulation.audit import KINDS, audit
from dlsched.simulation.log import Log
from dlsched.simulation.measures import metrics

SEEDS = range(24)


@cache
def original(seed: int) -> Log:
    """Return the log of a random simulation."""
    workload, cluster = random_case(seed)
    options: dict[str, Any] = [{}, {"interval": 15}][seed % 2]
    return simulate(workload, cluster, RandomPolicy(**options), seed=seed).log


def copy(log: Log) -> Log:
    """Return a copy that may be changed."""
    other = Log()
    log.database.backup(other.database)
    return other


def kinds(log: Log) -> set[str]:
    """Return the kinds of violations that the auditor finds."""
    return {violation.kind for violation in audit(log, metrics.summary).violations}


LONG = "end > start"
FIRST = f"rowid = (SELECT min(rowid) FROM segments WHERE {LONG})"
LAST = "rowid = (SELECT max(rowid) FROM segments WHERE ending = 'completed' AND end > start)"
ALONE = (
    "rowid = (SELECT min(rowid) FROM decisions WHERE waiting > 0 AND "
    "time IN (SELECT time FROM decisions GROUP BY time HAVING count(*) = 1))"
)

STATEMENTS: dict[str, str] = {
    "unreadable": f"UPDATE segments SET work = 'much' WHERE {FIRST}",
    "incomplete": "DELETE FROM meta WHERE key = 'end'",
    "end": "UPDATE meta SET value = value + 1 WHERE key = 'end'",
    "unknown_job": f"UPDATE segments SET job = 99 WHERE {FIRST}",
    "unknown_server": f"UPDATE segments SET shares = replace(shares, '\"s', '\"t') WHERE {FIRST}",
    "not_lent": "DELETE FROM loans WHERE lent = 1 AND EXISTS (SELECT * FROM segments "
    "WHERE start >= time AND end > start AND instr(shares, '\"' || server || '\"'))",
    "loan": "INSERT INTO loans SELECT * FROM loans WHERE rowid = 1",
    "shares": f"UPDATE segments SET gpus = gpus + 1 WHERE {FIRST}",
    "backwards": f"UPDATE segments SET start = end, end = start WHERE {FIRST}",
    "overlap": "UPDATE segments SET start = start - 1 WHERE rowid = (SELECT s.rowid FROM segments "
    "s JOIN segments p ON p.job = s.job AND p.end = s.start AND p.end > p.start)",
    "early": "UPDATE segments SET start = -1 WHERE rowid = 1",
    "after_end": "UPDATE completions SET time = time - 1 WHERE rowid = 2",
    "undecided": "DELETE FROM starts WHERE rowid = 1",
    "unstarted": "INSERT INTO starts SELECT d.rowid - 1, job, overhead, speed FROM starts, "
    "decisions d WHERE starts.rowid = 1 ORDER BY d.rowid DESC LIMIT 1",
    "ending": f"UPDATE segments SET ending = 'changed' WHERE {LAST}",
    "overhead": f"UPDATE segments SET overhead = overhead + 1 WHERE {FIRST}",
    "speed": f"UPDATE segments SET speed = '7/9' WHERE {FIRST}",
    "work": f"UPDATE segments SET work = work + 1 WHERE {FIRST}",
    "lost": f"UPDATE segments SET lost = lost + 1 WHERE {FIRST}",
    "late": f"UPDATE segments SET end = end + 1000000 WHERE {LAST}",
    "unfinished": f"UPDATE segments SET end = end - 1000, overhead = max(0, overhead - 500) "
    f"WHERE {LAST} AND work > 5000",
    "not_completed": "DELETE FROM completions WHERE rowid = 3",
    "completed_twice": "INSERT INTO completions SELECT * FROM completions WHERE rowid = 3",
    "completion": "UPDATE completions SET time = time + 1 WHERE rowid = 4",
    "unchanged": f"INSERT INTO segments SELECT job, start, start, gpus, shares, sharing, speed, 0, "
    f"0, 0, 'changed' FROM segments WHERE {FIRST}",
    "order": "UPDATE decisions SET time = 0 WHERE rowid = 5 AND time > 0",
    "cause": "UPDATE decisions SET cause = 'wake' WHERE rowid = 1",
    "waiting": f"UPDATE decisions SET waiting = waiting + 1 WHERE {ALONE}",
    "running": f"UPDATE decisions SET running = running + 1, waiting = waiting - 1 WHERE {ALONE}",
    "started": "UPDATE decisions SET started = started + 1 WHERE rowid = 3",
    "preempted": "UPDATE decisions SET preempted = preempted + 1 WHERE rowid = 3",
    "metric": "DELETE FROM timings WHERE rowid = 1",
}
"""By kind of violation a change to a log, in SQL; it changes nothing in some logs."""


def hold(server: str, gpus: int, *amounts: int) -> str:
    """Return a change to the first stretch: what it holds."""
    shares = json.dumps([[server, gpus, *amounts]])
    return f"UPDATE segments SET gpus = {gpus}, shares = '{shares}' WHERE {FIRST}"


def another_place(log: Log) -> str | None:
    """Return a change that moves one member of a group to other GPUs; None without a group."""
    row = log.database.execute(
        "SELECT a.rowid, a.shares FROM segments a JOIN segments b ON a.sharing = b.sharing "
        "AND a.job <> b.job AND a.start < b.end AND b.start < a.end AND a.end > a.start "
        "AND b.end > b.start"
    ).fetchone()
    if row is None:
        return None
    number, shares = row
    other = json.loads(shares)
    other[0][0] = "s0" if other[0][0] != "s0" else "s1"
    if len({share[0] for share in other}) < len(other):
        return None
    return f"UPDATE segments SET shares = '{json.dumps(other)}' WHERE rowid = {number}"


def no_loan(log: Log) -> str | None:
    """Return a change to the schedule: nothing is lent; None if nothing was."""
    if not any(lent for *_, lent in log.rows("loans")):
        return None
    cluster = log.meta()["cluster"]
    for entry in cluster["loans"]:
        entry["servers"] = 0
    return f"UPDATE meta SET value = '{json.dumps(cluster)}' WHERE key = 'cluster'"


def change_job(log: Log, **fields: Any) -> str:
    """Return a change to the workload: the job of the first stretch has other fields."""
    workload = log.meta()["workload"]
    job = log.database.execute(f"SELECT job FROM segments WHERE {FIRST}").fetchone()[0]
    workload["jobs"][job] |= fields
    return f"UPDATE meta SET value = '{json.dumps(workload)}' WHERE key = 'workload'"


def not_for_loans(log: Log) -> str | None:
    """Return a change after which nobody may use the loan pool; None if nobody did."""
    lent = [f'"{server["id"]}"' for server in log.meta()["cluster"]["servers"] if "pool" in server]
    if not any(server in row[4] for row in log.rows("segments") for server in lent):
        return None
    workload = log.meta()["workload"]
    for job in workload["jobs"]:
        job |= {"fungible": False, "heterogeneous": False}
    return f"UPDATE meta SET value = '{json.dumps(workload)}' WHERE key = 'workload'"


BY_HAND: dict[str, Callable[[Log], str | None]] = {
    "gpus": lambda log: hold("s0", log.meta()["cluster"]["servers"][0]["gpus"] + 1),
    "cpus": lambda log: hold("s0", 1, 13, 1) if has_cpus(log) else None,
    "memory": lambda log: hold("s0", 1, 1, 251) if has_cpus(log) else None,
    "gang": lambda log: hold("s0", 99),
    "group": another_place,
    "over_loan": no_loan,
    "worker": lambda log: change_job(log, gpus_per_worker=3) if first_gpus(log) % 3 else None,
    "pool": not_for_loans,
}


def first_gpus(log: Log) -> int:
    """Return the GPUs of the first share of the first stretch."""
    row = log.database.execute(f"SELECT shares FROM segments WHERE {FIRST}").fetchone()
    return int(json.loads(row[0])[0][1])


def has_cpus(log: Log) -> bool:
    """Return whether the servers have CPUs and memory."""
    return "cpus" in log.meta()["cluster"]["servers"][0]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_changed_log_is_refused_by_its_kind(kind: str) -> None:
    """Of the logs that the change applies to, at least two, all are refused by its kind."""
    refused = 0
    for seed in SEEDS:
        log = copy(original(seed))
        statement = BY_HAND[kind](log) if kind in BY_HAND else STATEMENTS[kind]
        if statement is None or not log.database.execute(statement).rowcount:
            continue
        assert kind in kinds(log), (seed, statement)
        refused += 1
        if refused == 4:
            break
    assert refused >= 2


@pytest.mark.parametrize("seed", SEEDS)
def test_the_log_itself_is_clean(seed: int) -> None:
    """The logs that the other tests change have no violation, and the report says what it saw."""
    report = audit(original(seed), metrics.summary)
    assert report.violations == ()
    assert report
    assert report.details["jobs"] == 8
    assert report.details["segments"] >= 8


NUMBERS = {
    "segments": ("job", "start", "end", "gpus", "overhead", "work", "lost"),
    "completions": ("job", "time"),
    "decisions": ("waiting", "running", "started", "preempted"),
    "starts": ("decision", "job"),
}


@pytest.mark.parametrize("seed", SEEDS[:4])
@pytest.mark.parametrize(
    ("table", "column"), [(t, c) for t, names in NUMBERS.items() for c in names]
)
def test_every_number_counts(table: str, column: str, seed: int) -> None:
    """A number that is one too large is noticed in whatever row it is."""
    rows = len(original(seed).rows(table))
    for row in sorted({1, 2, rows // 3, rows // 2, rows}):
        log = copy(original(seed))
        change = f"UPDATE {table} SET {column} = {column} + 1 WHERE rowid = ?"
        assert log.database.execute(change, (row,)).rowcount == 1
        assert not audit(log, metrics.summary), (row, table, column)


def test_a_report_counts_what_it_leaves_out() -> None:
    """Of one kind a hundred violations are listed, and all are counted."""
    log = copy(original(0))
    log.database.executemany("INSERT INTO completions VALUES (99, ?)", [(i,) for i in range(150)])
    report = audit(log)
    assert sum(violation.kind == "unknown_job" for violation in report.violations) == 100
    assert report.details["violations"] >= 150


def test_a_header_that_cannot_be_read_is_one_violation() -> None:
    """Without a workload nothing can be recomputed."""
    log = copy(original(0))
    log.database.execute("DELETE FROM meta WHERE key = 'workload'")
    assert [violation.kind for violation in audit(log).violations] == ["unreadable"]
