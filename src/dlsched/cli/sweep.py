"""A sweep on the terminal: its progress and its summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlsched.cli.output import put_line
from dlsched.cli.progress import count, note, say
from dlsched.cli.tables import put_table
from dlsched.cli.verdict import put_summary
from dlsched.display.page import in_text
from dlsched.display.table import Row
from dlsched.results.status import FAILED
from dlsched.run import Stage
from dlsched.sweeps import Suite, run_suite
from dlsched.sweeps.report import findings
from dlsched.sweeps.simulation_report import METRIC, policy_rows
from dlsched.sweeps.specs import BOUND

MOST_LINES = 20
_POLICIES = [
    *("policy", "method<1", "options<2", "runs>9", "failed>3", f"{METRIC}>", "saved>5", "better>7"),
    *("p_holm>8", "p99_jct>11", "makespan>12", "mean_queueing>13", "utilization>10", "gap>1"),
    "seconds>6",
]
"""Columns of the tables of simulations; see `put_table`."""


def run_shown(suite: Suite, out: Path, **options: Any) -> tuple[int, int]:
    """Run a suite and show what is done; see `dlsched.sweeps.run_suite` for the options.

    Return the number of runs made, and how many of them failed.
    """
    done = failed = 0

    def on_row(row: Row, left: int) -> None:
        nonlocal done, failed
        done += 1
        failed += row["status"] in FAILED
        count(done, done + left)

    say(Stage.LOADING, f"the instances of {suite.name}")
    run_suite(
        suite, out, on_row=on_row, on_plan=lambda total: count(0, total), on_stage=note, **options
    )
    return done, failed


def put_sweep(rows: Sequence[Row]) -> None:
    """Write a row per problem and method, then failed runs and findings."""
    put_summary(rows)
    put_failed(rows)
    for line in findings(rows)[:MOST_LINES]:
        put_line(line)


def put_simulations(rows: Sequence[Row]) -> None:
    """Write a table for each workload, over its seeds; then the failed."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        if row["method"] != BOUND:
            families.setdefault(row.get("family") or row["instance"], []).append(row)
    for name, group in families.items():
        put_table(_POLICIES, map(in_text, policy_rows(group)), title=name)
    put_failed(rows)


def put_failed(rows: Sequence[Row]) -> None:
    """Write the reasons of the runs that failed."""
    failed = [row for row in rows if row["status"] in FAILED]
    for row in failed[:MOST_LINES]:
        put_line(f"{row['instance']} {row['method']}: {row['status']}: {row['reason']}")
    if len(failed) > MOST_LINES:
        put_line(f"and {len(failed) - MOST_LINES} more failed runs")
