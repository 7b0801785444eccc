"""A sweep on the terminal: its progress, and its summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.cli.output import Column, progress, put_line, put_table
from dlsched.figures import percent, seconds

if TYPE_CHECKING:
    from dlsched.bench.suite import Suite

MOST_LINES = 20
_COUNTS = {"runs": 0, "proven": 2, "feasible": 3, "bound only": 7, "no solution": 6, "failed": 0}
"""What is counted, and which of it a narrow terminal leaves out first: the highest."""


def run_shown(suite: Suite, out: Path, **how: Any) -> None:
    """Run a suite with a progress bar; see `dlsched.bench.run_suite`."""
    from dlsched.bench import run_suite

    with progress() as bar:
        if bar is None:
            run_suite(suite, out, **how)
            return
        task = bar.add_task(suite.name, total=None)
        made = 0

        def note(row: dict[str, Any], left: int) -> None:
            nonlocal made
            made += 1
            said = f"{row['instance']} {row['method']}"
            bar.update(task, completed=made, total=made + left, description=said)

        run_suite(suite, out, on_row=note, **how)


def put_sweep(rows: Sequence[dict[str, Any]]) -> None:
    """Write a row per problem and method, then what failed and what looks wrong."""
    from dlsched.bench import statistics
    from dlsched.bench.execution import FAILED
    from dlsched.bench.report import findings

    judged = statistics.judge_rows(rows)
    table = statistics.summary(judged)
    for problem in dict.fromkeys(row["problem"] for row in rows):
        lines = table[table["problem"] == problem].astype(object).to_dict("records")
        put_table(
            [
                "method",
                Column("ran", drop=4),
                *(Column(name, right=True, drop=drop) for name, drop in _COUNTS.items()),
                "mean gap>",
                Column("median", right=True, drop=5),
                "worst>",
                Column("bounds", drop=8),
                Column("seconds", right=True, drop=1),
            ],
            (
                [
                    line["method"],
                    _ran(line),
                    *(line[name] or None for name in _COUNTS),
                    *(percent(_known(line[name])) for name in ("mean", "median", "worst")),
                    line["bounds"],
                    seconds(_known(line["seconds"])),
                ]
                for line in lines
            ),
            title=problem,
        )
    failed = [row for row in rows if row["status"] in FAILED]
    for row in failed[:MOST_LINES]:
        put_line(f"{row['instance']} {row['method']}: {row['status']}: {row['reason']}")
    if len(failed) > MOST_LINES:
        put_line(f"and {len(failed) - MOST_LINES} more failed runs")
    for line in findings(judged)[:MOST_LINES]:
        put_line(line)


def _ran(line: dict[str, Any]) -> str | None:
    """Return the methods that ran, if they are not the one that was asked for."""
    ran = str(line["resolved_method"])
    return None if not ran or ran == line["method"].split(" ")[0] else ran


def _known(value: Any) -> float | None:
    """Return a cell of a data frame, whose ``None`` may have become NaN."""
    return None if value is None or math.isnan(value) else float(value)
