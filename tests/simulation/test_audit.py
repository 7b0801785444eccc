"""The auditor finds what is wrong in a log, and nothing else: changed_logs.txt has its reports.

There a line has a simulation of `base` and changes to its log; the lines below it are the report.
"""

import copy
import random
import re
import sqlite3
from functools import cache
from pathlib import Path

import pytest
from simulation_cases import (
    COMPARED,
    ONE,
    RandomPolicy,
    audited,
    changed,
    entries,
    random_case,
    rows,
    runs,
)

from dlsched.simulation import Simulation, Workload
from refused_calls import reports

CHANGES = reports(Path(__file__).with_name("changed_logs.txt"))


@cache
def base(name: str) -> Simulation:
    """Return a simulation by hand whose log has no violation."""
    (run,) = runs(next(case for case in entries("by_hand") if case.get("name") == name))
    return run


def sql(change: str) -> str:
    """Return a change in SQL: to a row, counted from 0, to the header, or a row more or less."""
    head, _, rest = change.partition(" ")
    if head == "insert":
        table, _, values = rest.partition(" ")
        return f"INSERT INTO {table} VALUES {values}"
    if head == "delete":
        table, row = rest.split()
        place = f"key = {row}" if table == "meta" else f"rowid = {int(row) + 1}"
        return f"DELETE FROM {table} WHERE {place}"
    if head == "rotate":
        return f"UPDATE {rest} SET rowid = -1 WHERE rowid = (SELECT max(rowid) FROM {rest})"
    if head == "meta":
        key, path, value = re.fullmatch(r"(\w+)(\S*) = (.*)", rest).groups()
        new = f"json_set(value, '${path}', json('{value}'))" if path else f"'{value}'"
        return f"UPDATE meta SET value = {new} WHERE key = '{key}'"
    row, values = rest.split(": ", 1)
    return f"UPDATE {head} SET {values} WHERE rowid = {int(row) + 1}"


def report(case: str) -> list[str]:
    """Return what the auditor says of a changed log."""
    name, _, changes = case.partition(": ")
    run = changed(base(name), *(sql(change) for change in changes.split("; ")))
    return [f"{v.kind} {v.where}: {v.message} [{v.amount}]" for v in run.audit().violations]


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_log_has_these_violations(case: str) -> None:
    """Each by kind, place, message and amount; a change that does no harm has none."""
    expected, found = CHANGES[case], report(case)
    if expected[-1:] == ["..."]:
        assert set(expected[:-1]) < set(found)
    else:
        assert sorted(found) == sorted(expected)


UNREADABLE = [case for case in CHANGES if "is not what its column holds" in str(CHANGES[case])]


@pytest.mark.parametrize("case", UNREADABLE)
def test_the_tables_refuse_what_cannot_be_read(case: str) -> None:
    """A value that its column does not hold cannot be written into a log."""
    name, _, changes = case.partition(": ")
    database = copy.deepcopy(base(name)).log.database
    with pytest.raises(sqlite3.IntegrityError):
        for change in changes.split("; "):
            database.execute(sql(change))


@pytest.mark.parametrize("name", ["pools", "group", "sized", "at once"])
def test_a_report_counts_what_it_saw(name: str) -> None:
    """A log as it was written has no violation; the report has the numbers of its rows."""
    run = base(name)
    details = {"jobs": len(run.workload.jobs), "violations": 0}
    details |= {table: len(rows(run, table)) for table in ("segments", "decisions")}
    found = run.audit()
    assert (found.violations, found.objective, found.details) == ((), None, details)


def test_a_hundred_violations_of_a_kind_are_listed() -> None:
    """The others are counted, and what is of other kinds is listed as well."""
    more = [f"INSERT INTO completions VALUES (99, {i})" for i in range(150)]
    found = changed(base("pools"), *more, sql("starts 0: job = 9")).audit()
    listed = [violation.where for violation in found.violations if violation.kind == "unknown_job"]
    assert listed == [f"completions[{i}]" for i in range(3, 103)]
    assert found.details["violations"] == len(found.violations) + 51
    assert changed(base("pools"), sql("delete meta 'workload'")).audit().details == {
        "violations": 1
    }


def test_metrics_are_recomputed() -> None:
    """Percentiles of 100 jobs are those at positions 95 and 99; without a row they differ."""
    jobs = [{"id": f"j{n}", "submit": 0, "gpus": 1, "work": 1} for n in range(100)]
    run = audited(Workload.parse({"name": "hundred", "jobs": jobs}, "hundred"), ONE, "fifo")
    assert (run.summary["p95_jct"], run.summary["p99_jct"]) == (96, 100)
    (found,) = changed(run, "DELETE FROM timings WHERE rowid = 1").audit().violations
    assert (found.kind, found.where) == ("metric", "summary.decisions")


NUMBERS = {
    "segments": ("job", "start", "end", "gpus", "overhead", "work", "lost"),
    "completions": ("job", "time"),
    "decisions": ("waiting", "running", "started", "preempted"),
    "starts": ("decision", "job"),
}


@cache
def drawn(seed: int) -> Simulation:
    """Return a random simulation."""
    return audited(*random_case(seed), RandomPolicy(**[{}, {"interval": 15}][seed % 2]), seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_every_number_counts(seed: int) -> None:
    """A number that is one too large or too small is noticed in whatever row it is."""
    run, rng = drawn(seed), random.Random(seed)
    for table, names in NUMBERS.items():
        for name in names:
            row = rng.randint(1, len(rows(run, table)))
            for step in (1, -1):
                change = f"UPDATE {table} SET {name} = {name} + {step} WHERE rowid = {row}"
                assert not changed(run, change).audit(), (row, table, name)


VALUES = (
    None, "", "x", -1, 0, 7, 2**62, 1e308, float("inf"), -0.5, b"\xff", "[]", "{}", "{", "null",
    '[["s0"]]', '[["s0", 1, null, null, 5]]', '[["s0", 1, 1e400, NaN]]', '[{"a": 1}]', "1/0",
    "9" * 5000, "1e999999", "nan", "changed", "s0", "[" * 3000, '"priority"', '"x"', "1e999", "5",
)  # fmt: skip
"""What a cell of a changed log may have."""


@pytest.mark.parametrize("seed", range(4))
def test_any_value_anywhere_is_a_finding_or_nothing(seed: int) -> None:
    """Whatever one cell, row or table of a log is changed to, the audit ends with a report."""
    rng, refused = random.Random(seed), 0
    for _ in range(25):
        run = drawn(rng.randrange(4))
        table = rng.choice([*COMPARED, "timings", "meta", "meta"])
        there = rows(run, table)
        name, value = rng.choice(list(there[0]) if there else ["time"]), rng.choice(VALUES)
        row = f"(SELECT rowid FROM {table} LIMIT 1 OFFSET {rng.randrange(len(there) or 1)})"
        change, values = f"UPDATE {table} SET {name} = ? WHERE rowid = {row}", [value]
        if rng.random() < 0.2:
            change = rng.choice([f"DROP TABLE {table}", f"DELETE FROM {table} WHERE rowid = {row}"])
            values = []
        found = changed(run, change, values=values).audit()
        assert all(str(violation) for violation in found.violations), change
        refused += not found
    assert refused > 10
