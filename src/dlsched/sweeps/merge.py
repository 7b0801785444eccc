"""Shards: their rows in one store, as one sweep would have written it; and how far a sweep is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dlsched.display.table import Row
from dlsched.errors import DlschedError, OptionError
from dlsched.results.status import FAILED
from dlsched.sweeps.run import finished, is_of, shard_files, write_table
from dlsched.sweeps.store import AGAIN, Store
from dlsched.sweeps.work import Outcome

COMPARED = ("status", "objective", "bound", "solution_sha256")
"""What two rows with one key must have in common."""
COMPARED_THREADS = ("status", "objective")
"""The same if runs have several threads, which may find another of several best solutions."""
_LIMITS = ("time_limit", "memory_limit", "interrupted")
"""Terminations that depend on how fast the machine was."""
_STOPPED = ("wall_timeout", "memory")
"""Statuses that do."""
_MOST_NAMED = 5
_REMEDY = "the files of the shards are kept: remove the cause, then dlsched merge again"


class Disagreement(DlschedError):
    """Rows of the same run that differ, though nothing but the machine differed."""


@dataclass(frozen=True)
class Merged:
    """What `merge` did.

    Attributes
    ----------
    runs
        Runs of the sweep that the store has now.
    added
        Those of them that it had not before.
    repeated
        Rows that another attempt had made as well, and that agree.
    missing
        Keys of the runs that nobody has made, or that were killed from outside.
    foreign
        Rows of other sweeps among the files, which were left out.
    """

    runs: int
    added: int
    repeated: int
    missing: tuple[str, ...]
    foreign: int = 0


def merge(out: str | Path) -> Merged:
    """Write the rows of all shards, and their solutions, into the folder's store.

    It may be called at any time, also while shards are running, and as often as one likes: rows
    that are there already are left as they are.

    Raises
    ------
    Disagreement
        If two attempts at a run gave different answers though both ended by themselves; the store
        is left as it was.
    InstanceError
        If there is no sweep, or a file is damaged or cannot be written.
    """
    with Store(out):
        pass  # it is there: merging makes none
    with Store(out, write=True, remedy=_REMEDY) as store:
        keys = store.statuses()
        one = store.about.get("threads", "1") == "1"
        tally = _Tally(store, COMPARED if one else COMPARED_THREADS, frozenset(keys))
        files = [file for files in shard_files(Path(out)).values() for file in files]
        store.fill(tally.chosen(files))
        write_table(store)
        done = finished(store)
    missing = tuple(key for key in keys if key not in done)
    return Merged(len(done), tally.added, tally.repeated, missing, tally.foreign)


class _Tally:
    """Chooses, among the attempts at a run, the row that is kept."""

    def __init__(self, store: Store, compared: Sequence[str], planned: frozenset[str]) -> None:
        self.store, self.compared, self.planned = store, compared, planned
        self.added, self.repeated, self.foreign = 0, 0, 0
        self.origin: dict[str, Path] = {}
        """The file of each key's row that is kept, or that agrees with the row of the store."""
        self.seen: set[str] = set()
        self.differing: list[tuple[str, str]] = []
        """Keys, and what two rows of each say."""

    def chosen(self, files: Iterable[Path]) -> Iterator[Outcome]:
        """Yield the rows that are new or better than those in the store.

        Raises
        ------
        Disagreement
            After the last file, if rows disagree.
        """
        for file in files:
            with Store(file, remedy="remove the file, and submit its shard again") as shard:
                for outcome in shard.outcomes():
                    if self._is_kept(outcome.row, file):
                        yield outcome
        if self.differing:
            told = [f"{t} {self.origin.get(k, 'the store')}" for k, t in self.differing]
            more = len(told) - _MOST_NAMED
            named = "; ".join(told[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
            raise Disagreement(
                f"{len(told)} runs have rows that disagree ({named}): nothing was merged; "
                "find out which machine is wrong, remove its files, and merge again"
            )

    def _is_kept(self, row: Row, file: Path) -> bool:
        """Whether a row replaces what the store has of its run."""
        key, again = row["key"], row["status"] in AGAIN
        if key not in self.planned:
            self.foreign += 1
            return False
        known = self.store.row(key)
        if known is None or (known["status"] in AGAIN and not again):
            self.added += not again
            self.origin[key] = file
            self.seen.add(key)
            return True
        if again:
            return False
        self.repeated += key in self.seen
        self.seen.add(key)
        if _by_limit(known) or _by_limit(row):
            return not _by_limit(row)
        name = next((name for name in self.compared if row[name] != known[name]), None)
        if name is None:
            self.origin.setdefault(key, file)
        else:
            run = f"{row['instance']} {row['method']} seed {row['seed']}: {name} is"
            told = f"{run} {str(row[name])[:60]} in {file}, {str(known[name])[:60]} in"
            self.differing.append((key, told))
        return False


def _by_limit(row: Row) -> bool:
    """Whether a run ended at a limit, so that another machine may get further."""
    return row["status"] in _STOPPED or row.get("termination") in _LIMITS


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
    """How far a sweep is.

    Attributes
    ----------
    n
        Number of shards; 1 of a sweep without shards.
    shards
        Their states, in order.
    nodes, engines
        By node, and by what made them: runs, and those of them that failed or were killed.
    missing
        Keys of the runs that are to be made, in the order of the sweep.
    """

    n: int
    shards: tuple[ShardState, ...]
    nodes: dict[str, tuple[int, int]]
    engines: dict[str, tuple[int, int]]
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


def status(out: str | Path, n: int | None = None) -> SweepState:
    """Return how far a sweep is. It may be running.

    Parameters
    ----------
    out
        The sweep's folder.
    n
        Number of shards; by default that of the shards that were begun, or 1 if none was.

    Raises
    ------
    InstanceError
        If there is no sweep, or a file cannot be read.
    OptionError
        If shards of different numbers were begun, and `n` does not say which, or it is below 1.
    """
    begun = shard_files(Path(out))
    numbers = sorted({of for _, of in begun}) or [1]
    if n is not None and n < 1:
        raise OptionError(f"n={n} must be at least 1")
    if n is None and len(numbers) != 1:
        what = f"of {' and of '.join(map(str, numbers))}"
        raise OptionError(f"{out} has no one number of shards ({what}); add --of N")
    n = n or numbers[0]
    counts: dict[str, Counter[tuple[str, bool]]] = {"node": Counter(), "engine": Counter()}
    nodes: dict[tuple[int, int], set[str]] = {}
    with Store(out) as store:
        statuses, merged = store.statuses(), list(store.counted())
    made: list[Row] = []
    for shard, files in begun.items():
        for file in files:
            with Store(file) as store:
                nodes.setdefault(shard, set()).add(store.about.get("node", "unknown"))
                made += store.counted()
    known = {row["key"] for row in made}
    made += [row for row in merged if row["key"] not in known]
    for row in made:
        if row["key"] not in statuses:  # of another sweep
            continue
        for name, counter in counts.items():
            counter[str(row[name]), row["status"] in FAILED] += 1
        if (statuses[row["key"]] or AGAIN[0]) in AGAIN:
            statuses[row["key"]] = row["status"]
    states = []
    for k in range(n):
        mine = [status for key, status in statuses.items() if is_of(key, k, n)]
        done = [status for status in mine if status and status not in AGAIN]
        failed = sum(status in FAILED for status in done)
        about = tuple(sorted(nodes.get((k, n), ()))), len(begun.get((k, n), ()))
        states.append(ShardState(k, *about, len(mine), len(done), failed, len(mine) - len(done)))
    missing = tuple(k for k, status in statuses.items() if not status or status in AGAIN)
    by_node, by_engine = map(_by_name, counts.values())
    return SweepState(n, tuple(states), by_node, by_engine, missing)


def _by_name(counter: Counter[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    names = sorted({name for name, _ in counter})
    return {n: (counter[n, False] + counter[n, True], counter[n, True]) for n in names}
