"""Shards: their rows in one store, as one sweep would have written it; and how far a sweep is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.display.table import Row
from dlsched.errors import DlschedError, OptionError, spelled
from dlsched.execution.executors import whole_number
from dlsched.results.status import FAILED
from dlsched.sweeps.store import AGAIN, Store, is_empty
from dlsched.sweeps.stored_runs import write_table
from dlsched.sweeps.work import Outcome

if TYPE_CHECKING:
    import pandas

SHARDS = "shards"
"""The folder of their files in a sweep's."""
_SHARD = re.compile(r"(\d+)/(\d+)")
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


def shard_of(text: str) -> tuple[int, int]:
    """Return the part and the number of parts that a text as ``3/200`` names.

    Raises
    ------
    OptionError
        If the text has another form, or there is no such shard.
    """
    match = _SHARD.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        what = f"shard={spelled(text)} names no shard"
        raise OptionError(f"{what}; write k/n, as 0/4 for the first of 4")
    k, n = int(match[1]), int(match[2])
    if k >= n:
        what = f"there is no shard {k}/{n}"
        raise OptionError(f"{what}; of {n} shards the first is 0, the last {n - 1}")
    return k, n


def is_of(key: str, k: int, n: int) -> bool:
    """Whether a run, whose key is a SHA-256, belongs to a shard."""
    return int(key, 16) % n == k


def shard_files(out: Path) -> dict[tuple[int, int], list[Path]]:
    """Return the files of every shard that was begun, by ``(k, n)``; both in order."""
    files: dict[tuple[int, int], list[Path]] = {}
    for place in (out / SHARDS).glob("*-of-*"):
        k, _, n = place.name.partition("-of-")
        if k.isdecimal() and n.isdecimal():
            begun = [file for file in place.glob("*.sqlite") if not is_empty(file)]
            files[int(k), int(n)] = sorted(begun)
    return dict(sorted(files.items(), key=lambda item: (item[0][1], item[0][0])))


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
        done = store.finished()
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
class SweepState:
    """How far a sweep is.

    Attributes
    ----------
    shards
        A row per shard, or one of a sweep without shards: ``planned``, ``done``, ``failed`` (of
        those that are done) and ``missing`` are numbers of runs, of which those that were killed
        from outside or not begun are missing; ``attempts`` is the number of processes that have
        begun it, ``nodes`` names those that have made runs of it.
    nodes, engines
        A row per node, and per kind of executor: runs ``made``, and those of them that ``failed``
        or were killed.
    missing
        Keys of the runs that are to be made, in the order of the sweep.
    """

    shards: pandas.DataFrame
    nodes: pandas.DataFrame
    engines: pandas.DataFrame
    missing: tuple[str, ...] = field(repr=False)

    @property
    def indices(self) -> str:
        """The shards with missing runs as ``sbatch --array=`` takes them: ``0,3-5``."""
        return ranges(self.shards.index[self.shards["missing"] > 0])


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
    import pandas as pd

    begun = shard_files(Path(out))
    numbers = sorted({of for _, of in begun}) or [1]
    if n is not None:
        numbers = [whole_number("n", n, 1)]
    elif len(numbers) != 1:
        what = f"of {' and of '.join(map(str, numbers))}"
        raise OptionError(f"{out} has no one number of shards ({what}); add --of N")
    (n,) = numbers
    with Store(out) as store:
        keys, merged = list(store.statuses()), list(store.counted())
    made: list[Row] = []
    for file in itertools.chain(*begun.values()):
        with Store(file) as store:
            made += store.counted()
    known = {row["key"] for row in made}
    rows = [*made, *(row for row in merged if row["key"] not in known)]
    frame = pd.DataFrame(rows, columns=["key", "status", "engine", "node"])
    frame = frame[frame["key"].isin(keys)]  # the others are of another sweep
    frame["failed"] = frame["status"].isin(FAILED)
    frame["shard"] = [int(key, 16) % n for key in frame["key"]]
    done = frame[~frame["status"].isin(AGAIN)].drop_duplicates("key").groupby("shard")["failed"]
    settled = set(frame.loc[~frame["status"].isin(AGAIN), "key"])
    shards = pd.DataFrame(index=pd.RangeIndex(n, name="shard"))
    shards["planned"] = pd.Series([int(key, 16) % n for key in keys]).value_counts()
    shards["done"], shards["failed"] = done.size(), done.sum()
    shards = shards.fillna(0).astype(int)
    shards["missing"] = shards["planned"] - shards["done"]
    shards["attempts"] = [len(begun.get((k, n), ())) for k in range(n)]
    by_shard = frame.groupby("shard")["node"]
    shards["nodes"] = by_shard.agg(lambda nodes: ", ".join(sorted(set(nodes))))
    by_node, by_engine = (
        frame.groupby(name).agg(made=("failed", "size"), failed=("failed", "sum"))
        for name in ("node", "engine")
    )
    missing = tuple(key for key in keys if key not in settled)
    return SweepState(shards.fillna({"nodes": ""}), by_node, by_engine, missing)
