"""The rows of all shards in one store, as one sweep would have written it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dlsched.display.table import Row
from dlsched.errors import DlschedError
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.plan import Plan
from dlsched.sweeps.runner import write_table
from dlsched.sweeps.shard_file import Entry, read_file, shards_of
from dlsched.sweeps.store import AGAIN, Store

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
        Runs of the plan that the store has now.
    added
        Those of them that it had not before.
    repeated
        Rows that another attempt had made as well, and that agree.
    missing
        Keys of the runs that nobody has made, or that were killed from outside.
    foreign
        Rows of other plans among the files, which were left out.
    """

    runs: int
    added: int
    repeated: int
    missing: tuple[str, ...]
    foreign: int = 0


def merge(folder: str | Path) -> Merged:
    """Write the rows of all shards, and their solutions, into the folder's store.

    It may be called at any time, also while shards are running, and as often as one likes: rows
    that are there already are left as they are.

    Raises
    ------
    Disagreement
        If two attempts at a run gave different answers though both ended by themselves; the store
        is left as it was.
    InstanceError
        If there is no plan, or a file is damaged or cannot be written.
    """
    plan = Plan(folder)
    keys = plan.keys
    about = {name: plan.about[name] for name in ("suite", "notes")}
    with Store(folder, write=True, remedy=_REMEDY) as store:
        compared = COMPARED if plan.about["threads"] == "1" else COMPARED_THREADS
        tally = _Tally(store, compared, frozenset(keys))
        store.fill(keys, about, tally.chosen(shards_of(Path(folder))))
        write_table(store)
        done = store.finished()
    missing = tuple(key for key in keys if key not in done)
    return Merged(len(keys) - len(missing), tally.added, tally.repeated, missing, tally.foreign)


class _Difference(NamedTuple):
    """A key, and what two of its rows say, up to where the second is."""

    key: str
    text: str


class _Tally:
    """Chooses, among the attempts at a run, the row that is kept."""

    def __init__(self, store: Store, compared: Sequence[str], planned: frozenset[str]) -> None:
        self.store, self.compared, self.planned = store, compared, planned
        self.added, self.repeated, self.foreign = 0, 0, 0
        self.origin: dict[str, Path] = {}
        """The file of each key's row that is kept, or that agrees with the row of the store."""
        self.seen: set[str] = set()
        self.differing: list[_Difference] = []

    def chosen(self, shards: dict[tuple[int, int], list[Path]]) -> Iterator[Outcome]:
        """Yield the rows that are new or better than those in the store.

        Raises
        ------
        Disagreement
            After the last file, if rows disagree.
        """
        for files in shards.values():
            for file in files:
                for entry in read_file(file)[1]:
                    outcome = self._look(entry)
                    if outcome is not None:
                        yield outcome
        if self.differing:
            named = "; ".join(map(self._named, self.differing[:_MOST_NAMED]))
            more = len(self.differing) - _MOST_NAMED
            named += f"; and {more} more" if more > 0 else ""
            raise Disagreement(
                f"{len(self.differing)} runs have rows that disagree ({named}): nothing was "
                "merged; find out which machine is wrong, remove its files, and merge again"
            )

    def _look(self, entry: Entry) -> Outcome | None:
        if entry.about["key"] not in self.planned:
            self.foreign += 1
            return None
        known = self.store.row(entry.about["key"])
        if known is None or known["status"] in AGAIN:
            if known is not None and entry.about["status"] in AGAIN:
                return None
            self.added += entry.about["status"] not in AGAIN
            self.origin[entry.about["key"]] = entry.file
            self.seen.add(entry.about["key"])
            return entry.read()
        if entry.about["status"] in AGAIN:
            return None
        self.repeated += entry.about["key"] in self.seen
        self.seen.add(entry.about["key"])
        outcome = entry.read()
        if outcome.row["key"] != entry.about["key"]:
            self._differ(outcome.row, known, entry.file, "key")
        elif _by_limit(known) and not _by_limit(outcome.row):
            return outcome
        elif not (_by_limit(known) or _by_limit(outcome.row)):
            for name in self.compared:
                if outcome.row.get(name) != known[name]:
                    self._differ(outcome.row, known, entry.file, name)
                    break
            else:
                self.origin.setdefault(entry.about["key"], entry.file)
        return None

    def _differ(self, row: Row, known: Row, file: Path, name: str) -> None:
        about = f"{row['instance']} {row['method']} seed {row['seed']}: {name} is"
        self.differing.append(
            _Difference(
                known["key"],
                f"{about} {str(row.get(name))[:60]} in {file}, {str(known[name])[:60]} in",
            )
        )

    def _named(self, difference: _Difference) -> str:
        """Return what differs, with the file of the other row if there is one."""
        return f"{difference.text} {self.origin.get(difference.key, 'the store')}"


def _by_limit(row: Row) -> bool:
    """Whether a run ended at a limit, so that another machine may get further."""
    return row["status"] in _STOPPED or row.get("termination") in _LIMITS
