"""``dlsched bench``: run a suite."""

from __future__ import annotations

from pathlib import Path

import typer

from dlsched.cli.exits import Exit
from dlsched.cli.output import Answer, put_line
from dlsched.cli.progress import say
from dlsched.cli.sweep import put_simulations, put_sweep, run_shown
from dlsched.cli.verdict import status_of
from dlsched.errors import OptionError
from dlsched.run import Stage
from dlsched.sweeps import Dask, Local, Plan, Shards, Store, read_suite, write_plan
from dlsched.sweeps.places import RETRIES
from dlsched.sweeps.simulation_rows import simulation_rows
from dlsched.sweeps.statistics import evaluate_rows, run_rows


def bench(
    *,
    suite: Path | None = typer.Argument(
        None, metavar="SUITE", help="A .toml file; none with --planned."
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="DIR", help="The folder for the results."
    ),
    plan: bool = typer.Option(
        False, "--plan", help="Only write the plan: tasks, digests, your modules."
    ),
    planned: Path | None = typer.Option(None, metavar="DIR", help="Run the plan in this folder."),
    shard: str | None = typer.Option(
        None, metavar="K/N", help="Only part K, from 0, of N; with --planned."
    ),
    jobs: int | None = typer.Option(
        None,
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        help="Number of runs at a time; 1, or for a shard the CPUs that it was given.",
    ),
    dask: str | None = typer.Option(
        None, metavar="ADDRESS", help="A Dask scheduler that runs it, or its file."
    ),
    retries: int = typer.Option(
        RETRIES, metavar="N", min=0, help="For runs that are killed from outside."
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Make only missing, killed or changed runs."
    ),
    fresh: bool = typer.Option(False, "--fresh", help="A new process for every run."),
    many_runs: bool = typer.Option(
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

    status = status_of([*(run.row for run in runs), *simulated])
    return Answer(run_rows(runs) + simulated, put, status)


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
