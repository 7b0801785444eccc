"""``dlsched bench``: run a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched.bench import Store, read_suite
from dlsched.bench.simulations import simulation_rows
from dlsched.bench.statistics import evaluate_rows, run_rows
from dlsched.cli.flags import Json
from dlsched.cli.output import put_json, put_line
from dlsched.cli.progress import say
from dlsched.cli.sweep import put_simulations, put_sweep, run_shown
from dlsched.cli.verdict import status_of
from dlsched.run import Stage


def bench(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A .toml file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder for the results.")
    ],
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Number of runs at a time.", min=1)
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="A Dask scheduler that runs it."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Make only missing, killed or changed runs."),
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="A new process for every run.")] = False,
    as_json: Json = False,
) -> None:
    """Run a suite, each run in a worker process with limits; finished runs are kept."""
    run_shown(read_suite(suite), output, jobs=jobs, dask=dask, resume=resume, fresh=fresh)
    say(Stage.LOADING, f"the results in {output}")
    with Store(output) as store:
        runs = evaluate_rows(store.rows())
        simulated = simulation_rows(store.simulations())
    if as_json:
        put_json(run_rows(runs) + simulated)
    else:
        put_sweep(runs)
        put_simulations(simulated)
        put_line(f"results in {output}")
        put_line(f"dlsched report {output} writes a page of them")
    raise typer.Exit(status_of([*(run.row for run in runs), *simulated]))
