"""``dlsched bench``, ``status``, ``merge`` and ``report``: the runs of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from dlsched.cli.exits import Exit
from dlsched.cli.output import Answer, put_line, put_lines
from dlsched.cli.progress import count, note, say
from dlsched.cli.tables import put_table
from dlsched.cli.verdict import put_summary, status_of
from dlsched.display.page import in_text
from dlsched.display.table import Row
from dlsched.errors import OptionError
from dlsched.results.status import FAILED
from dlsched.run import Stage
from dlsched.sweeps import Store, Suite, SweepState, read_suite, run_suite
from dlsched.sweeps import merge as merge_shards
from dlsched.sweeps import status as sweep_state
from dlsched.sweeps.merge import shard_of
from dlsched.sweeps.report import findings, write_report
from dlsched.sweeps.run import RETRIES, frozen_imports
from dlsched.sweeps.simulation_report import METRIC, policy_rows
from dlsched.sweeps.simulations import simulation_rows
from dlsched.sweeps.specs import BOUND
from dlsched.sweeps.stored_runs import evaluate_rows

if TYPE_CHECKING:
    import pandas

_MOST_NAMED = 10
MOST_LINES = 20
_POLICIES = [
    *("policy", "method<1", "options<2", "runs>9", "failed>3", f"{METRIC}>", "saved>5", "better>7"),
    *("p_holm>8", "p99_jct>11", "makespan>12", "mean_queueing>13", "utilization>10", "gap>1"),
    "seconds>6",
]
"""Columns of the tables of simulations; see `put_table`."""


def bench(
    *,
    suite: Path = Argument(metavar="SUITE", help="A .toml file."),
    output: Path = Option("--output", "-o", metavar="DIR", help="The folder for the results."),
    shard: str | None = Option(None, metavar="K/N", help="Only part K, from 0, of N."),
    jobs: int | None = Option(
        None,
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        help="Number of runs at a time; 1, or for a shard the CPUs that it was given.",
    ),
    dask: str | None = Option(
        None, metavar="ADDRESS", help="A Dask scheduler that runs it, or its file."
    ),
    retries: int = Option(
        RETRIES, metavar="N", min=0, help="For runs that are killed from outside."
    ),
    resume: bool = Option(False, "--resume", help="Make only missing, killed or changed runs."),
    many_runs: bool = Option(
        False, "--many-runs", help="Allow a suite of more than a million runs."
    ),
) -> Answer:
    """Run a suite, each run in a process of its own with limits; finished runs are kept."""
    if dask is not None and jobs is not None:
        raise OptionError("--dask and --jobs exclude each other: a cluster has its own workers")
    with frozen_imports(output if shard else None):
        chosen = read_suite(suite, many_runs=many_runs)
    options = {"on": dask, "jobs": jobs, "shard": shard, "retries": retries, "resume": resume}
    made, failed = run_shown(chosen, output, **options)
    if shard is not None:
        return _of_shard(shard, output, made, failed)
    say(Stage.LOADING, f"the results in {output}")
    with Store(output) as store:
        runs = evaluate_rows(store.rows())
        simulated = simulation_rows(store.simulations())

    def put() -> None:
        put_sweep(runs)
        put_simulations(simulated)
        put_line(f"results in {output}")
        put_line(f"dlsched report {output} writes a page of them")

    status = status_of([*runs, *simulated])
    return Answer(runs + simulated, put, status)


def _of_shard(shard: str, folder: Path, made: int, failed: int) -> Answer:
    """Say what a shard has made: runs, and how many of them failed."""

    def put() -> None:
        put_line(f"shard {shard}: {made:,} runs made, {failed:,} of them failed")
        put_line(f"dlsched status {folder} says how far all are, dlsched merge {folder} joins them")

    k, n = shard_of(shard)
    data = {"shard": k, "of": n, "made": made, "failed": failed}
    return Answer(data, put, Exit.NEGATIVE if failed else Exit.OK)


def status(
    folder: Path = Argument(metavar="DIR", help="What dlsched bench wrote."),
    of: int | None = Option(
        None, metavar="N", min=1, help="Shards; by default those that were begun."
    ),
    missing: bool = Option(
        False, "--missing", help="Only the shards with runs left, for sbatch --array=."
    ),
) -> Answer:
    """Show how far a sweep is, by shard, by node and by what makes its runs."""
    state = sweep_state(folder, of)
    put = partial(put_line, state.indices) if missing else partial(_put_state, state)
    return Answer(_state_data(state), put, Exit.NEGATIVE if state.missing else Exit.OK)


def _state_data(state: SweepState) -> dict[str, object]:
    return {
        "shards": [
            row | {"nodes": row["nodes"].split(", ") if row["nodes"] else []}
            for row in state.shards.reset_index().to_dict("records")
        ],
        "nodes": state.nodes.to_dict("index"),
        "engines": state.engines.to_dict("index"),
        "missing": state.indices,
        "keys": list(state.missing),
    }


def _put_state(state: SweepState) -> None:
    """Write a table of the shards, those with runs left first, and one of the nodes."""
    shards = state.shards.assign(whole=state.shards["missing"] == 0)
    ordered = shards.sort_values("whole", kind="stable").drop(columns="whole")
    heads = ["shard>", "planned>", "done>", "failed>", "missing>", "attempts>1", "nodes<2"]
    _put_counts(heads, ordered[:MOST_LINES], f"{len(shards)} shards")
    if len(ordered) > MOST_LINES:
        put_line(f"and {len(ordered) - MOST_LINES} more shards; --json has all")
    for name, counts in (("node", state.nodes), ("engine", state.engines)):
        _put_counts([name, "made>", "failed>"], counts, f"{name}s")
    done, planned = shards["done"].sum(), shards["planned"].sum()
    put_line(f"{done:,} of {planned:,} runs are made")
    if state.missing:
        put_line(f"runs are left in the shards {state.indices}")


def _put_counts(heads: list[str], counts: pandas.DataFrame, title: str) -> None:
    """Write a table in which a count of 0 is left out, but for the first two."""
    rows = ([*row[:2], *(cell or None for cell in row[2:])] for row in counts.itertuples())
    put_table(heads, map(list, rows), title=title)


def merge(
    folder: Path = Argument(metavar="DIR", help="What dlsched bench wrote."),
) -> Answer:
    """Join the rows of all shards; refuse rows that disagree, and list what is missing."""
    say(Stage.LOADING, f"the shards in {folder}")
    merged = merge_shards(folder)
    data = {
        "runs": merged.runs,
        "added": merged.added,
        "repeated": merged.repeated,
        "missing": list(merged.missing),
        "foreign": merged.foreign,
    }
    again = f", {merged.repeated:,} were made more than once and agree" if merged.repeated else ""

    def put() -> None:
        put_line(f"{merged.runs:,} runs in {folder}, {merged.added:,} of them new{again}")
        if merged.foreign:
            put_line(f"{merged.foreign:,} rows are of other sweeps, and left out")
        for key in merged.missing[:_MOST_NAMED]:
            put_line(f"missing: {key}")
        if len(merged.missing) > _MOST_NAMED:
            put_line(f"and {len(merged.missing) - _MOST_NAMED:,} more are missing")
        if merged.missing:
            put_line(f"dlsched status {folder} --missing says which shards to submit again")
        put_line(f"dlsched report {folder} writes a page of them")

    return Answer(data, put, Exit.NEGATIVE if merged.missing else Exit.OK)


def report(
    folder: Path = Argument(metavar="DIR", help="What dlsched bench wrote."),
    output: Path | None = Option(
        None, "--output", "-o", metavar="DIR", help="Where to write; by default DIR/report."
    ),
) -> Answer:
    """Write the statistics of a sweep: a self-contained HTML page, CSV, Parquet and SVG."""
    written = write_report(folder, output, on_part=partial(say, Stage.BUILDING))

    def put() -> None:
        if not any(file.suffix == ".parquet" for file in written):
            put_line("no Parquet file, as pyarrow is not installed: pip install 'dlsched[report]'")
        put_line(f"report in {written[-1]}")

    return Answer([str(file) for file in written], put)


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
    put_lines(findings(rows)[:MOST_LINES])


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
