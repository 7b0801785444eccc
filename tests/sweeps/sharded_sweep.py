"""The sweep of twenty runs that tests of shards make in three of them, and what is in its files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from calls import FIG5, suite_text
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.shard_file import ShardFile, read_file, shards_of

SUITE = suite_text(
    [FIG5, 'generate = "reclaiming"; seeds = [1, 2]; grid = { servers = [5, 6] }'],
    "lyra",
    "random; seeds = [0, 1]",
    "shard_mine:f",
    wall_limit=100,
)
RUNS = 20
OWN = "import shard_other\n\ndef f(instance, rng):\n    return shard_other.first(instance)\n"
OTHER = """
def first(instance):
    return {"returned": [server.id for server in instance.servers][: instance.demand]}
"""


def write_suite(folder: Path) -> None:
    """Write a suite of twenty runs, with a method in two modules."""
    (folder / "suite.toml").write_text(SUITE)
    (folder / "shard_mine.py").write_text(OWN)
    (folder / "shard_other.py").write_text(OTHER)


def keys(folder: Path) -> Counter[str]:
    """Return how often each key is in the files of shards."""
    return Counter(
        entry.about["key"]
        for files in shards_of(folder).values()
        for file in files
        for entry in read_file(file)[1]
    )


def add(out: Path, k: int, changes: dict[str, Any], solution: bytes | None = None) -> str:
    """Add a file of shard `k` with its first row changed; return the row's key."""
    first = next(read_file(shards_of(out)[k, 3][0])[1])
    outcome = first.read()
    with ShardFile(out, k, 3) as file:
        file.add(Outcome(outcome.row | changes, solution or outcome.solution))
    return str(outcome.row["key"])
