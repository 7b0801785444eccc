"""``dlsched status``: how far the shards of a planned sweep are."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer

from dlsched.cli.exits import Exit
from dlsched.cli.output import Answer, put_line
from dlsched.cli.tables import Column, put_table
from dlsched.sweeps import sweep_state
from dlsched.sweeps.status import ShardState, SweepState

MOST_LINES = 20


def status(
    folder: Path = typer.Argument(metavar="DIR", help="The folder with the plan."),
    of: int | None = typer.Option(
        None, metavar="N", min=1, help="Shards; by default those that were begun."
    ),
    missing: bool = typer.Option(
        False, "--missing", help="Only the shards with runs left, for sbatch --array=."
    ),
) -> Answer:
    """Show how far the shards of a planned sweep are, by shard and by node."""
    state = sweep_state(folder, of)
    put = partial(put_line, state.indices) if missing else partial(_put, state)
    return Answer(_data(state), put, Exit.NEGATIVE if state.missing else Exit.OK)


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
    numbers = ["shard>", "planned>", "done>", "failed>", "missing>"]
    put_table(
        [*numbers, Column("attempts", right=True, drop=1), Column("nodes", drop=2)],
        map(_cells, ordered[:MOST_LINES]),
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


def _cells(shard: ShardState) -> list[object]:
    counts = [shard.planned, shard.done, shard.failed or None, shard.missing or None]
    return [shard.shard, *counts, shard.attempts or None, ", ".join(shard.nodes)]
