"""A sweep on the terminal: its progress and its summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlsched.cli.output import put_line
from dlsched.cli.progress import count, note, say
from dlsched.cli.tables import Column, put_table
from dlsched.display.table import Row
from dlsched.results.status import FAILED
from dlsched.run import Stage
from dlsched.sweeps import Plan, Suite, run_suite, statistics
from dlsched.sweeps.report import findings, optimum_text
from dlsched.sweeps.simulation_rows import SHOWN, table_rows
from dlsched.sweeps.spread import METRIC, spread_rows
from dlsched.sweeps.statistics import EvaluatedRun, LevelMean
from dlsched.sweeps.workload_spec import BOUND
from dlsched.text.figures import percent, seconds

MOST_LINES = 20
GAPS_EXPLAINED = (
    "at optimum: runs at the best bounds known in all levels. mean gap, worst: to the best bound "
    "known, of each run's first level that is not at it; of a level named, over the runs whose "
    "earlier levels are at their bounds. In brackets how many if not all."
)
_COUNTS = {
    "runs": 6,
    "proven": 9,
    "feasible": 10,
    "bound only": 10,
    "no solution": 10,
    "optimum unknown": 3,
}
"""Columns of counts, and their `Column.drop`; that of failed runs is always shown if there are."""
_METRICS = dict(zip(SHOWN, (0, 5, 6, 7, 8), strict=True))
"""Columns of metrics of simulations, and their `Column.drop`."""


def run_shown(suite: Suite | Plan, out: Path, **options: Any) -> tuple[int, int]:
    """Run a suite and show what is done; see `dlsched.sweeps.run_suite` for the options.

    Return the number of runs made, and how many of them failed.
    """
    done = failed = 0

    def on_row(row: Row, left: int) -> None:
        nonlocal done, failed
        done += 1
        failed += row["status"] in FAILED
        count(done, done + left)

    name = suite.name if isinstance(suite, Suite) else suite.about["suite"]
    say(Stage.LOADING, f"the instances of {name}")
    run_suite(
        suite, out, on_row=on_row, on_plan=lambda total: count(0, total), on_stage=note, **options
    )
    return done, failed


def put_sweep(runs: Sequence[EvaluatedRun]) -> None:
    """Write a row per problem and method, then failed runs and findings."""
    table = statistics.summary(runs)
    by_level = statistics.gaps_by_level(runs)
    for problem in dict.fromkeys(run.row["problem"] for run in runs):
        lines = table[table["problem"] == problem].astype(object).to_dict("records")
        means = statistics.level_means(by_level, problem)
        counts = _COUNTS | ({"failed": 0} if any(line["failed"] for line in lines) else {})
        put_table(
            [
                "method",
                Column("resolved_method", drop=8),
                *(Column(name, right=True, drop=drop) for name, drop in counts.items()),
                "at optimum>",
                "mean gap>",
                Column("p50", right=True, drop=9),
                Column("p90", right=True, drop=12),
                Column("p99", right=True, drop=12),
                Column("worst", right=True, drop=5),
                *(
                    Column(f"mean gap: {level}", right=True, drop=4 if i == 0 else 7)
                    for i, level in enumerate(means)
                ),
                Column("bounds", drop=11),
                Column("seconds", right=True, drop=2),
            ],
            (
                [
                    line["method"],
                    _resolved(line),
                    *(line[name] or None for name in counts),
                    optimum_text(line),
                    LevelMean.of(line).text(),
                    *(percent(_known(line[name])) for name in (*statistics.PERCENTILES, "worst")),
                    *(by_method[line["method"]].text() for by_method in means.values()),
                    line["bounds"],
                    seconds(_known(line["seconds"])),
                ]
                for line in lines
            ),
            title=problem,
        )
    if len(table):
        put_line(GAPS_EXPLAINED)
    put_failed([run.row for run in runs])
    for line in findings(runs)[:MOST_LINES]:
        put_line(line)


def put_simulations(rows: Sequence[Row]) -> None:
    """Write a table for each workload, of several seeds one with their spread; then the failed."""
    families: dict[str, list[Row]] = {}
    for row in rows:
        if row["method"] != BOUND:
            families.setdefault(row.get("family") or row["instance"], []).append(row)
    several = {n for n, group in families.items() if len({r["instance"] for r in group}) > 1}
    for name in several:
        _put_spread(name, families[name])
    for name in dict.fromkeys(
        r["instance"] for n in families if n not in several for r in families[n]
    ):
        lines = table_rows([row for row in rows if row["instance"] == name])
        seeds = len({line["seed"] for line in lines}) > 1
        put_table(
            [
                "policy",
                Column("method", drop=1),
                Column("options", drop=2),
                Column("seed", right=True, drop=3),
                *(Column(metric, right=True, drop=drop) for metric, drop in _METRICS.items()),
                Column("bound", right=True, drop=4),
                Column("gap", right=True, drop=1),
                Column("seconds", right=True, drop=9),
                Column("status", drop=1),
            ],
            (
                [
                    line["policy"],
                    line["method"],
                    line["options"],
                    line["seed"] if seeds else None,
                    *(line[metric] for metric in SHOWN[:-1]),
                    percent(line["utilization"]),
                    line["bound"],
                    percent(line["gap"]),
                    seconds(line["seconds"]),
                    line["status"],
                ]
                for line in lines
            ),
            title=name,
        )
    put_failed(rows)


def _put_spread(name: str, rows: Sequence[Row]) -> None:
    """Write a row per policy with its spread over the seeds of a workload."""
    put_table(
        [
            "policy",
            Column("method", drop=1),
            Column("options", drop=2),
            Column("runs", right=True, drop=4),
            Column("failed", right=True, drop=3),
            Column(METRIC, right=True),
            Column("sd", right=True),
            Column("saved", right=True, drop=5),
            Column("saved_sd", right=True, drop=6),
            Column("better", right=True, drop=7),
            Column("gap", right=True, drop=1),
        ],
        (
            [
                *(line[n] for n in ("policy", "method", "options", "runs", "failed", METRIC, "sd")),
                percent(line["saved"]),
                percent(line["saved_sd"]),
                line["better"],
                percent(line["gap"]),
            ]
            for line in spread_rows(rows)
        ),
        title=name,
    )


def put_failed(rows: Sequence[Row]) -> None:
    """Write the reasons of the runs that failed."""
    failed = [row for row in rows if row["status"] in FAILED]
    for row in failed[:MOST_LINES]:
        put_line(f"{row['instance']} {row['method']}: {row['status']}: {row['reason']}")
    if len(failed) > MOST_LINES:
        put_line(f"and {len(failed) - MOST_LINES} more failed runs")


def _resolved(line: Row) -> str | None:
    """Return the methods that ran, if they differ from the method asked for."""
    resolved = str(line["resolved_method"])
    return None if not resolved or resolved == line["method"].split(" ")[0] else resolved


def _known(value: Any) -> float | None:
    """Return a cell of a data frame, where ``None`` may have become NaN."""
    return None if value is None or math.isnan(value) else float(value)
