"""``dlsched bench``, ``status``, ``merge`` and ``report``: the runs of a suite."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

from typer import Argument, Option

from dlsched.cli.exits import Exit
from dlsched.cli.output import Answer, put_line
from dlsched.cli.progress import say
from dlsched.cli.sweep import MOST_LINES, put_simulations, put_sweep, run_shown
from dlsched.cli.tables import put_table
from dlsched.cli.verdict import status_of
from dlsched.errors import OptionError
from dlsched.run import Stage
from dlsched.sweeps import Dask, Local, Plan, Shards, Store, read_suite, sweep_state, write_plan
from dlsched.sweeps import merge as merge_shards
from dlsched.sweeps.places import RETRIES
from dlsched.sweeps.report import write_report
from dlsched.sweeps.simulation_rows import simulation_rows
from dlsched.sweeps.stored_runs import evaluate_rows
from dlsched.sweeps.status import ShardState, SweepState

_MOST_NAMED = 10


def bench(
    *,
    suite: Path | None = Argument(None, metavar="SUITE", help="A .toml file; none with --planned."),
    output: Path | None = Option(
        None, "--output", "-o", metavar="DIR", help="The folder for the results."
    ),
    plan: bool = Option(False, "--plan", help="Only write the plan: tasks, digests, your modules."),
    planned: Path | None = Option(None, metavar="DIR", help="Run the plan in this folder."),
    shard: str | None = Option(
        None, metavar="K/N", help="Only part K, from 0, of N; with --planned."
    ),
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
    fresh: bool = Option(False, "--fresh", help="A new process for every run."),
    many_runs: bool = Option(
        False, "--many-runs", help="Allow a suite of more than a million runs."
    ),
) -> Answer:
    """Run a suite, each run in a worker process with limits; finished runs are kept."""
    folder = _folder(suite, output, planned)
    if plan:
        if suite is None or shard or dask:
            raise OptionError("--plan takes a suite and -o DIR, and runs nothing")
        return _planned(write_plan(read_suite(suite, many_runs=many_runs), folder))
    if shard is not None and (planned is None or dask):
        raise OptionError("--shard is a part of a plan on this machine; write --planned DIR")
    if dask is not None and jobs is not None:
        raise OptionError("--dask and --jobs exclude each other: a cluster has its own workers")
    if shard is not None:
        place: Local | Dask | Shards = Shards.parse(shard, jobs)
    else:
        place = Local(jobs or 1) if dask is None else Dask(dask)
    chosen = Plan(folder) if suite is None else read_suite(suite, many_runs=many_runs)
    made, failed = run_shown(chosen, folder, on=place, retries=retries, resume=resume, fresh=fresh)
    if isinstance(place, Shards):
        return _of_shard(place, folder, made, failed)
    say(Stage.LOADING, f"the results in {folder}")
    with Store(folder) as store:
        runs = evaluate_rows(store.rows())
        simulated = simulation_rows(store.simulations())

    def put() -> None:
        put_sweep(runs)
        put_simulations(simulated)
        put_line(f"results in {folder}")
        put_line(f"dlsched report {folder} writes a page of them")

    status = status_of([*runs, *simulated])
    return Answer(runs + simulated, put, status)


def _folder(suite: Path | None, output: Path | None, planned: Path | None) -> Path:
    """Return the folder of the sweep."""
    if planned is not None:
        if suite is not None or output is not None:
            raise OptionError("--planned DIR has the suite and the folder; leave out the others")
        return planned
    if suite is None or output is None:
        raise OptionError("name a suite and a folder, SUITE -o DIR, or a plan, --planned DIR")
    return output


def _planned(written: Plan) -> Answer:
    """Say what a plan has."""
    runs, folder = written.about["runs"], written.folder

    def put() -> None:
        put_line(f"{int(runs):,} runs planned in {folder}")
        put_line(f"dlsched bench --planned {folder} --shard K/N makes a part of them")

    return Answer({"folder": str(folder), "suite": written.about["suite"], "runs": runs}, put)


def _of_shard(shard: Shards, folder: Path, made: int, failed: int) -> Answer:
    """Say what a shard has made: runs, and how many of them failed."""

    def put() -> None:
        put_line(f"shard {shard.k}/{shard.n}: {made:,} runs made, {failed:,} of them failed")
        put_line(f"dlsched status {folder} says how far all are, dlsched merge {folder} joins them")

    data = {"shard": shard.k, "of": shard.n, "made": made, "failed": failed}
    return Answer(data, put, Exit.NEGATIVE if failed else Exit.OK)


def status(
    folder: Path = Argument(metavar="DIR", help="The folder with the plan."),
    of: int | None = Option(
        None, metavar="N", min=1, help="Shards; by default those that were begun."
    ),
    missing: bool = Option(
        False, "--missing", help="Only the shards with runs left, for sbatch --array=."
    ),
) -> Answer:
    """Show how far the shards of a planned sweep are, by shard and by node."""
    state = sweep_state(folder, of)
    put = partial(put_line, state.indices) if missing else partial(_put_state, state)
    return Answer(_state_data(state), put, Exit.NEGATIVE if state.missing else Exit.OK)


def _state_data(state: SweepState) -> dict[str, object]:
    return {
        "shards": [asdict(shard) for shard in state.shards],
        "nodes": {
            node: {"made": made, "failed": failed} for node, (made, failed) in state.nodes.items()
        },
        "missing": state.indices,
        "keys": list(state.missing),
    }


def _put_state(state: SweepState) -> None:
    """Write a table of the shards, those with runs left first, and one of the nodes."""
    ordered = sorted(state.shards, key=lambda shard: (not shard.missing, shard.shard))
    numbers = ["shard>", "planned>", "done>", "failed>", "missing>"]
    put_table(
        [*numbers, "attempts>1", "nodes<2"],
        map(_shard_cells, ordered[:MOST_LINES]),
        title=f"{state.n} shards",
    )
    if len(ordered) > MOST_LINES:
        put_line(f"and {len(ordered) - MOST_LINES} more shards; --json has all")
    if state.nodes:
        put_table(
            ["node", "made>", "failed>"],
            ([node, made, failed or None] for node, (made, failed) in state.nodes.items()),
            title="nodes",
        )
    planned = sum(shard.planned for shard in state.shards)
    done = sum(shard.done for shard in state.shards)
    put_line(f"{done:,} of {planned:,} runs are made")
    if state.missing:
        put_line(f"runs are left in the shards {state.indices}")


def _shard_cells(shard: ShardState) -> list[object]:
    counts = [shard.planned, shard.done, shard.failed or None, shard.missing or None]
    return [shard.shard, *counts, shard.attempts or None, ", ".join(shard.nodes)]


def merge(
    folder: Path = Argument(metavar="DIR", help="The folder with the plan."),
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
            put_line(f"{merged.foreign:,} rows are of other plans, and left out")
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
