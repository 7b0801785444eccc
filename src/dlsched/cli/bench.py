"""``dlsched bench``: a suite of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.flags import Json
from dlsched.cli.output import put_json, put_line
from dlsched.cli.sweep import put_sweep, run_shown
from dlsched.cli.verdict import status_of


def bench(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A .toml file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go.")
    ],
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Runs at a time.", min=1)
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="A Dask scheduler whose workers run it."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Run only what is missing, was killed or has changed.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="A new process for every run.")] = False,
    as_json: Json = False,
) -> None:
    """Run a suite, each run in a process with limits; what has finished is never lost."""
    from dlsched.bench import Store, read_suite
    from dlsched.bench.execution import FAILED

    run_shown(read_suite(suite), output, jobs=jobs, dask=dask, resume=resume, fresh=fresh)
    with Store(output) as store:
        rows = store.rows()
    if as_json:
        put_json([{name: v for name, v in row.items() if name != "record"} for row in rows])
    else:
        put_sweep(rows)
        put_line(f"results in {output}; dlsched report {output} writes a page of them")
    raise typer.Exit(status_of([row["status"] for row in rows if row["status"] in FAILED]))
