"""Changes to a log that an earlier auditor accepted, and what may be changed without harm."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pytest
from simulation_cases import RandomPolicy, random_case

from dlsched.simulation import simulate
from dlsched.simulation.audit import audit
from dlsched.simulation.log import TABLES, Log
from dlsched.simulation.measures import metrics


@cache
def original(seed: int) -> Log:
    """Return the log of a random simulation."""
    workload, cluster = random_case(seed)
    options: dict[str, Any] = [{}, {"interval": 15}][seed % 2]
    return simulate(workload, cluster, RandomPolicy(**options), seed=seed).log


def changed(log: Log, *statements: str) -> Log | None:
    """Return a copy of a log after statements in SQL; None if they change nothing."""
    other = Log()
    log.database.backup(other.database)
    rows = sum(other.database.execute(statement).rowcount for statement in statements)
    return other if rows else None


def kinds(log: Log) -> set[str]:
    """Return the kinds of violations that the auditor finds."""
    return {violation.kind for violation in audit(log, metrics.summary).violations}


SPLIT = "speed = '1' AND overhead = 0 AND sharing IS NULL AND end - start > 10 AND lost = 0"

SLIPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "a stretch is split in two": (
        "unchanged",
        (
            "INSERT INTO segments SELECT job, start + 5, end, gpus, shares, sharing, speed, 0, "
            f"work - 5, 0, ending FROM segments WHERE {SPLIT} LIMIT 1",
            "UPDATE segments SET end = start + 5, work = 5, ending = 'changed' WHERE rowid = "
            f"(SELECT min(rowid) FROM segments WHERE {SPLIT})",
        ),
    ),
    "a stretch of no length": (
        "unchanged",
        (
            "INSERT INTO segments SELECT job, start, start, gpus, shares, sharing, speed, 0, 0, 0, "
            "'changed' FROM segments WHERE rowid = 2",
        ),
    ),
    "stretches in another order": (
        "order",
        ("UPDATE segments SET rowid = -1 WHERE rowid = (SELECT max(rowid) FROM segments)",),
    ),
    "completions in another order": (
        "order", ("UPDATE completions SET rowid = -1 WHERE rowid = 8",)),
    "a cause that there is not": (
        "cause", ("UPDATE decisions SET cause = cause || '+nonsense' WHERE rowid = 3",)),
    "no cause": ("cause", ("UPDATE decisions SET cause = '' WHERE rowid = 3",)),
    "causes in another order": (
        "cause",
        ("UPDATE decisions SET cause = 'round+arrival' WHERE cause = 'arrival+round'",),
    ),
    "a decision twice": (
        "cause",
        (
            "INSERT INTO decisions SELECT time, cause, waiting, running, 0, 0, solved FROM "
            "decisions WHERE cause <> 'completion' ORDER BY rowid DESC LIMIT 1",
            "UPDATE decisions SET rowid = (SELECT max(rowid) + 1 FROM decisions) WHERE cause = 'x'",
        ),
    ),
    "what was solved is no JSON": (
        "unreadable", ("UPDATE decisions SET solved = 'optimal' WHERE rowid = 3",)),
    "a server comes a moment late": (
        "loan", ("UPDATE loans SET time = time + 1 WHERE lent = 1 AND rowid = 1",)),
    "a server comes twice as much": ("unreadable", ("UPDATE loans SET lent = 2 WHERE rowid = 1",)),
    "a server goes when nothing happens": (
        "loan",
        ("INSERT INTO loans SELECT (SELECT max(time) + 1 FROM decisions), server, 0 FROM loans "
         "ORDER BY rowid DESC LIMIT 1",),
    ),
    "another version": ("unreadable", ("UPDATE meta SET value = '7' WHERE key = 'version'",)),
    "another variant": (
        "unreadable", ("UPDATE meta SET value = '\"published\"' WHERE key = 'variant'",)),
    "another clock": (
        "unreadable", ("UPDATE meta SET value = '\"float seconds\"' WHERE key = 'clock'",)),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIPS)
def test_what_was_accepted_is_refused(name: str) -> None:
    """Of the logs that the change applies to, at least two, all are refused by its kind."""
    kind, statements = SLIPS[name]
    refused = 0
    for seed in range(30):
        log = changed(original(seed), *statements)
        if log is None:
            continue
        assert kind in kinds(log), seed
        refused += 1
        if refused == 3:
            break
    assert refused >= 2


def _any_value(rng: random.Random) -> str:
    values = ["NULL", "'text'", "''", "-1", "1.5", "1e300", "9e18", "x'00ff'", "'{}'", "'[1]'",
              "'null'", "'1/0'", "'NaN'", "'[[\"s0\", 1, 1e999]]'", "'[[]]'", "-0.0"]  # fmt: skip
    return rng.choice(values)


@pytest.mark.parametrize("seed", range(60))
def test_any_value_anywhere_is_a_finding_or_nothing(seed: int) -> None:
    """The auditor never fails, whatever is in a column or in the header."""
    rng = random.Random(seed)
    log = original(seed % 6)
    if rng.random() < 0.3:
        key = rng.choice(sorted(log.meta()))
        value = json.dumps(rng.choice([None, 5, -1.5, "text", [], {}, [1], {"jobs": []}, 1e300]))
        statement = f"UPDATE meta SET value = '{value}' WHERE key = '{key}'"
        if rng.random() < 0.2:
            statement = f"DELETE FROM meta WHERE key = '{key}'"
    else:
        table = rng.choice(sorted(TABLES))
        column = rng.choice(TABLES[table])
        where = rng.choice(["", f" WHERE rowid = {rng.randint(1, 9)}"])
        statement = f"UPDATE {table} SET {column} = {_any_value(rng)}{where}"
    other = Log()
    log.database.backup(other.database)
    other.database.execute(statement)
    found = audit(other, metrics.summary)
    assert all(str(violation) for violation in found.violations), statement
