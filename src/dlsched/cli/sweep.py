"""A sweep on the terminal: its progress and its summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlsched.cli.output import put_line
from dlsched.cli.progress import count, note, say
from dlsched.cli.tables import put_table
from dlsched.display.table import Row
from dlsched.results.status import FAILED
from dlsched.run import Stage
from dlsched.sweeps import Suite, run_suite, statistics
from dlsched.sweeps.report import findings, optimum_text
from dlsched.sweeps.simulation_rows import table_rows
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
    "failed": 0,
}
"""Columns of counts, of which those that are not 0 are shown, and their `Column.drop`."""
_LABELS = ["policy", "method<1", "options<2"]
_METRICS = ["mean_jct>", "p99_jct>5", "makespan>6", "mean_queueing>7", "utilization>8"]
_SIMULATIONS = [*_LABELS, "seed>3", *_METRICS, "bound>4", "gap>1", "seconds>9", "status<1"]
_SAVED = ["saved>5", "saved_sd>6", "better>7"]
_SPREAD = [*_LABELS, "runs>4", "failed>3", f"{METRIC}>", "sd>", *_SAVED, "gap>1"]
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


def put_sweep(runs: Sequence[EvaluatedRun]) -> None:
    """Write a row per problem and method, then failed runs and findings."""
    table = statistics.summary(runs)
    by_level = statistics.gaps_by_level(runs)
    for problem in dict.fromkeys(run.row["problem"] for run in runs):
        lines = table[table["problem"] == problem].astype(object).to_dict("records")
        means = statistics.level_means(by_level, problem)
        counts = [name for name in _COUNTS if any(line[name] for line in lines)]
        put_table(
            [
                "method",
                "resolved_method<8",
                *(f"{name}>{_COUNTS[name]}" for name in counts),
                "at optimum>",
                "mean gap>",
                "p50>9",
                "p90>12",
                "p99>12",
                "worst>5",
                *(f"mean gap: {level}>{4 if i == 0 else 7}" for i, level in enumerate(means)),
                "bounds<11",
                "seconds>2",
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
    for name, group in families.items():
        instances = dict.fromkeys(row["instance"] for row in group)
        if len(instances) > 1:
            put_table(_SPREAD, map(_in_words, spread_rows(group)), title=name)
        else:
            lines = table_rows(group)
            seeds = len({line["seed"] for line in lines}) > 1
            shown = [c for c in _SIMULATIONS if seeds or c != "seed>3"]
            put_table(shown, map(_in_words, lines), title=next(iter(instances)))
    put_failed(rows)


def _in_words(line: Row) -> Row:
    """Return a row of a table of simulations with its shares and seconds as text."""
    shares = {n: percent(line[n]) for n in ("utilization", "gap", "saved", "saved_sd") if n in line}
    return line | shares | {"seconds": seconds(line.get("seconds"))}


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
