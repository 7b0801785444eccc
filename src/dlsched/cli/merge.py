"""``dlsched merge``: the results of all shards in one store."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from dlsched.cli.exits import Exit
from dlsched.cli.output import Answer, put_line
from dlsched.cli.progress import say
from dlsched.run import Stage
from dlsched.sweeps import merge as merge_shards
from dlsched.sweeps.merge import Merged

_MOST_NAMED = 10


def merge(
    folder: Path = typer.Argument(metavar="DIR", help="The folder with the plan."),
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
    status = Exit.NEGATIVE if merged.missing else Exit.OK
    return Answer(data, partial(_put, folder, merged), status)


def _put(folder: Path, merged: Merged) -> None:
    again = f", {merged.repeated:,} were made more than once and agree" if merged.repeated else ""
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
