"""How far the shards of a planned sweep are: by shard and by node, from their files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dlsched.errors import OptionError
from dlsched.results.status import FAILED
from dlsched.sweeps.plan import Plan
from dlsched.sweeps.shard_file import read_file, shards_of
from dlsched.sweeps.store import AGAIN


@dataclass(frozen=True)
class ShardState:
    """How far a shard is.

    Attributes
    ----------
    shard
        Its number, from 0.
    nodes
        The nodes that have made runs of it.
    attempts
        The processes that have begun it.
    planned, done, failed, missing
        Numbers of runs: all, those that are made, those of these that failed, and those that are
        to be made, because they were killed from outside or not begun.
    """

    shard: int
    nodes: tuple[str, ...]
    attempts: int
    planned: int
    done: int
    failed: int
    missing: int


@dataclass(frozen=True)
class SweepState:
    """How far a planned sweep is.

    Attributes
    ----------
    n
        Number of shards.
    shards
        Their states, in order.
    nodes
        By node: runs made there, and those of them that failed or were killed.
    missing
        Keys of the runs that are to be made, in the order of the plan.
    """

    n: int
    shards: tuple[ShardState, ...]
    nodes: dict[str, tuple[int, int]]
    missing: tuple[str, ...] = field(repr=False)

    @property
    def indices(self) -> str:
        """The shards with missing runs as ``sbatch --array=`` takes them: ``0,3-5``."""
        return ranges(state.shard for state in self.shards if state.missing)


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as a text, neighbouring ones as a range: ``0,3-5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def sweep_state(folder: str | Path, n: int | None = None) -> SweepState:
    """Return how far a planned sweep is. Shards may be running.

    Parameters
    ----------
    folder
        The sweep's folder.
    n
        Number of shards; by default that of the shards that were begun.

    Raises
    ------
    InstanceError
        If there is no plan, or a file cannot be read.
    OptionError
        If no shard was begun, or shards of different numbers were, and `n` does not say which, or
        it is below 1.
    """
    plan = Plan(folder)
    begun = shards_of(Path(folder))
    known = sorted({of for _, of in begun})
    if n is not None and n < 1:
        raise OptionError(f"n={n} must be at least 1")
    if n is None:
        if len(known) != 1:
            what = f"of {' and of '.join(map(str, known))}" if known else "none was begun"
            raise OptionError(f"{folder} has no one number of shards ({what}); add --of N")
        n = known[0]
    shard_of = plan.shard_of(n)
    statuses: dict[str, str] = {}
    nodes: dict[tuple[int, int], set[str]] = {}
    made: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for shard, files in begun.items():
        for file in files:
            head, entries = read_file(file)
            node = str(head.get("node", "unknown"))
            nodes.setdefault(shard, set()).add(node)
            for entry in entries:
                key, status = entry.about["key"], entry.about["status"]
                if key not in shard_of:  # a file of another plan
                    continue
                made[node] += 1
                failed[node] += status in FAILED
                if statuses.get(key, AGAIN[0]) in AGAIN:
                    statuses[key] = status
    counts: dict[int, Counter[str]] = {k: Counter() for k in range(n)}
    missing = []
    for key, k in shard_of.items():
        status = statuses.get(key)
        counts[k]["planned"] += 1
        if status is None or status in AGAIN:
            counts[k]["missing"] += 1
            missing.append(key)
        else:
            counts[k]["done"] += 1
            counts[k]["failed"] += status in FAILED
    states = [
        ShardState(
            k,
            tuple(sorted(nodes.get((k, n), ()))),
            len(begun.get((k, n), ())),
            *(counts[k][name] for name in ("planned", "done", "failed", "missing")),
        )
        for k in range(n)
    ]
    by_node = {node: (made[node], failed[node]) for node in sorted(made)}
    return SweepState(n, tuple(states), by_node, tuple(missing))
