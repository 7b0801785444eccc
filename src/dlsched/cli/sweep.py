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
from dlsched.sweeps.simulation_report import METRIC, spread_rows
from dlsched.sweeps.simulations import table_rows
from dlsched.sweeps.specs import BOUND

MOST_LINES = 20
_LABELS = ["policy", "method<1", "options<2"]
_METRICS = ["mean_jct>", "p99_jct>5", "makespan>6", "mean_queueing>7", "utilization>8"]
_SIMULATIONS = [*_LABELS, "seed>3", *_METRICS, "bound>4", "gap>1", "seconds>9", "status<1"]
_SPREAD = [*_LABELS, "runs>4", "failed>3", f"{METRIC}>", "saved>5", "better>7", "p_holm>8", "gap>1"]
"""Columns of tables of simulations; see `put_table`."""


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
    """Write a table for each workload, of several seeds one with their spread; then the failed."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        if row["method"] != BOUND:
            families.setdefault(row.get("family") or row["instance"], []).append(row)
    for name, group in families.items():
        instances = dict.fromkeys(row["instance"] for row in group)
        if len(instances) > 1:
            put_table(_SPREAD, map(in_text, spread_rows(group)), title=name)
        else:
            lines = table_rows(group)
            seeds = len({line["seed"] for line in lines}) > 1
            shown = [c for c in _SIMULATIONS if seeds or c != "seed>3"]
            put_table(shown, map(in_text, lines), title=next(iter(instances)))
    put_failed(rows)


def put_failed(rows: Sequence[Row]) -> None:
    """Write the reasons of the runs that failed."""
    failed = [row for row in rows if row["status"] in FAILED]
    for row in failed[:MOST_LINES]:
        put_line(f"{row['instance']} {row['method']}: {row['status']}: {row['reason']}")
    if len(failed) > MOST_LINES:
        put_line(f"and {len(failed) - MOST_LINES} more failed runs")
