"""``dlsched bench``: run a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.flags import Json
from dlsched.cli.output import put_json, put_line
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
    suite: Annotated[
        Path | None, typer.Argument(metavar="SUITE", help="A .toml file; none with --planned.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="The folder for the results."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only write the plan: tasks, digests, your modules.")
    ] = False,
    planned: Annotated[
        Path | None,
        typer.Option("--planned", metavar="DIR", help="Run the plan in this folder."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option("--shard", metavar="K/N", help="Only part K, from 0, of N; with --planned."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            help="Number of runs at a time; 1, or for a shard the CPUs that it was given.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", metavar="ADDRESS", help="A Dask scheduler that runs it, or its file."
        ),
    ] = None,
    retries: Annotated[
        int,
        typer.Option(
            "--retries", metavar="N", min=0, help="For runs that are killed from outside."
        ),
    ] = RETRIES,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Make only missing, killed or changed runs."),
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="A new process for every run.")] = False,
    many_runs: Annotated[
        bool, typer.Option("--many-runs", help="Allow a suite of more than a million runs.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a suite, each run in a worker process with limits; finished runs are kept."""
    folder = _folder(suite, output, planned)
    if plan:
        if suite is None or shard or dask:
            raise OptionError("--plan takes a suite and -o DIR, and runs nothing")
        _put_plan(write_plan(read_suite(suite, many_runs=many_runs), folder), as_json)
        return
    if shard is not None and (planned is None or dask):
        raise OptionError("--shard is a part of a plan on this machine; write --planned DIR")
    if dask is not None and jobs is not None:
        raise OptionError("--dask and --jobs exclude each other: a cluster has its own workers")
    if shard is not None:
        place: Local | Dask | Shards = Shards.parse(shard, jobs)
    else:
        place = Local(jobs or 1) if dask is None else Dask(dask)
    chosen = Plan(folder) if suite is None else read_suite(suite, many_runs=many_runs)
    failed = run_shown(chosen, folder, on=place, retries=retries, resume=resume, fresh=fresh)
    if isinstance(place, Shards):
        _put_shard(place, folder, failed, as_json)
        raise typer.Exit(1 if failed[1] else 0)
    say(Stage.LOADING, f"the results in {folder}")
    with Store(folder) as store:
        runs = evaluate_rows(store.rows())
        simulated = simulation_rows(store.simulations())
    if as_json:
        put_json(run_rows(runs) + simulated)
    else:
        put_sweep(runs)
        put_simulations(simulated)
        put_line(f"results in {folder}")
        put_line(f"dlsched report {folder} writes a page of them")
    raise typer.Exit(status_of([*(run.row for run in runs), *simulated]))


def _folder(suite: Path | None, output: Path | None, planned: Path | None) -> Path:
    """Return the folder of the sweep."""
    if planned is not None:
        if suite is not None or output is not None:
            raise OptionError("--planned DIR has the suite and the folder; leave out the others")
        return planned
    if suite is None or output is None:
        raise OptionError("name a suite and a folder, SUITE -o DIR, or a plan, --planned DIR")
    return output


def _put_plan(written: Plan, as_json: bool) -> None:
    about = written.about
    if as_json:
        put_json({"folder": str(written.folder), "suite": about["suite"], "runs": about["runs"]})
        return
    put_line(f"{int(about['runs']):,} runs planned in {written.folder}")
    put_line(f"dlsched bench --planned {written.folder} --shard K/N makes a part of them")


def _put_shard(shard: Shards, folder: Path, made: tuple[int, int], as_json: bool) -> None:
    """Say what a shard has made: runs, and how many of them failed."""
    runs, failed = made
    if as_json:
        put_json({"shard": shard.k, "of": shard.n, "made": runs, "failed": failed})
        return
    put_line(f"shard {shard.k}/{shard.n}: {runs:,} runs made, {failed:,} of them failed")
    put_line(f"dlsched status {folder} says how far all are, dlsched merge {folder} joins them")
