"""``dlsched status``: how far the shards of a planned sweep are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.flags import Json
from dlsched.cli.output import Column, put_json, put_line, put_table
from dlsched.sweeps import sweep_state
from dlsched.sweeps.status import ShardState, SweepState

MOST_LINES = 20


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder with the plan.")],
    of: Annotated[
        int | None,
        typer.Option("--of", metavar="N", min=1, help="Shards; by default those that were begun."),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option("--missing", help="Only the shards with runs left, for sbatch --array=."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how far the shards of a planned sweep are, by shard and by node."""
    state = sweep_state(folder, of)
    if as_json:
        put_json(_data(state))
    elif missing:
        put_line(state.indices)
    else:
        _put(state)
    raise typer.Exit(1 if state.missing else 0)


def _data(state: SweepState) -> dict[str, object]:
    return {
        "shards": [asdict(shard) for shard in state.shards],
        "nodes": {
            node: {"made": made, "failed": failed} for node, (made, failed) in state.nodes.items()
        },
        "missing": state.indices,
        "keys": list(state.missing),
    }


def _put(state: SweepState) -> None:
    """Write a table of the shards, those with runs left first, and one of the nodes."""
    ordered = sorted(state.shards, key=lambda shard: (not shard.missing, shard.shard))
    put_table(
        [
            Column("shard", right=True),
            Column("planned", right=True),
            Column("done", right=True),
            Column("failed", right=True),
            Column("missing", right=True),
            Column("attempts", right=True, drop=1),
            Column("nodes", drop=2),
        ],
        ([*_cells(shard)] for shard in ordered[:MOST_LINES]),
        title=f"{state.n} shards",
    )
    if len(ordered) > MOST_LINES:
        put_line(f"and {len(ordered) - MOST_LINES} more shards; --json has all")
    if state.nodes:
        put_table(
            ["node", Column("made", right=True), Column("failed", right=True)],
            ([node, made, failed or None] for node, (made, failed) in state.nodes.items()),
            title="nodes",
        )
    planned = sum(shard.planned for shard in state.shards)
    done = sum(shard.done for shard in state.shards)
    put_line(f"{done:,} of {planned:,} runs are made")
    if state.missing:
        put_line(f"runs are left in the shards {state.indices}")


def _cells(shard: ShardState) -> list[object]:
    counts = [shard.planned, shard.done, shard.failed or None, shard.missing or None]
    return [shard.shard, *counts, shard.attempts or None, ", ".join(shard.nodes)]
