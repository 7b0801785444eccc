"""``dlsched report``: the report of a sweep."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.flags import Json
from dlsched.cli.output import put_json, put_line
from dlsched.cli.progress import say
from dlsched.run import Stage
from dlsched.sweeps.report import write_report


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What dlsched bench wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where to write; by default DIR/report."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the statistics of a sweep: a self-contained HTML page, CSV, Parquet and SVG."""
    written = write_report(folder, output, on_part=partial(say, Stage.BUILDING))
    if as_json:
        put_json([str(file) for file in written])
        return
    if not any(file.suffix == ".parquet" for file in written):
        put_line("no Parquet file, as pyarrow is not installed: pip install 'dlsched[report]'")
    put_line(f"report in {written[-1]}")
