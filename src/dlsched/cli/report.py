"""``dlsched report``: the report of a sweep."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from dlsched.cli.output import Answer, put_line
from dlsched.cli.progress import say
from dlsched.run import Stage
from dlsched.sweeps.report import write_report


def report(
    folder: Path = typer.Argument(metavar="DIR", help="What dlsched bench wrote."),
    output: Path | None = typer.Option(
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
