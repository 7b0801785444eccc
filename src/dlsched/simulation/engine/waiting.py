"""The jobs that wait, kept so that a decision need not look at all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

import numpy as np

from dlsched.simulation.engine.ascending import Ascending
from dlsched.simulation.engine.state import JobView
from dlsched.simulation.engine.vectors import Arrays, Entry, Key, Vector
from dlsched.simulation.workload.job import Job

MOST_KEYS: Final = 8
"""Keys of which lines are kept: a policy may make its key anew at each decision."""


class Waiting:
    """The jobs that wait: by position, and by each key that a policy has asked for.

    Attributes
    ----------
    positions
        Their positions in the workload, ascending: in the order of submission.
    views
        What states showed of them, by position.
    """

    def __init__(self, jobs: Sequence[Job], arrays: Callable[[Vector], Arrays]) -> None:
        self._jobs, self._arrays = jobs, arrays
        self.positions: Ascending[int] = Ascending()
        self.views: dict[int, JobView] = {}
        self._lines: dict[Key, Lines] = {}

    def add(self, job: int) -> None:
        """Add a job that begins to wait."""
        self.positions.add(job)
        for lines in self._lines.values():
            lines.new.add(job)

    def remove(self, job: int) -> None:
        """Remove a job that starts."""
        self.positions.remove(job)
        self.views.pop(job, None)
        for lines in self._lines.values():
            lines.remove(job, self._jobs[job].gpus)

    def lines(self, key: Key) -> Lines:
        """Return the jobs by GPUs, each line in the order of a key.

        They go on being kept, unless `MOST_KEYS` others were asked for since.
        """
        lines = self._lines.pop(key, None) or Lines(self.positions)
        self._lines[key] = lines  # the last one
        if len(self._lines) > MOST_KEYS:
            del self._lines[next(iter(self._lines))]
        if lines.new:
            arrays = self._arrays(np.array(sorted(lines.new), np.int64))
            lines.take_new(arrays, key(arrays))
        return lines


class Lines:
    """The jobs that wait, one line for each number of GPUs asked for, ordered by a key.

    Policies that let each job run in turn if it fits need only the first jobs of every line: where
    one of them does not fit, those behind it in its line do not fit either, as they ask for as many
    GPUs and no more become free. A change takes the time of two binary searches.

    Attributes
    ----------
    by_gpus
        The lines; none is empty.
    new
        Jobs that wait and whose key was not computed yet.
    """

    def __init__(self, positions: Collection[int]) -> None:
        self.new: set[int] = set(positions)
        self.by_gpus: dict[int, Ascending[Entry]] = {}
        self._entry: dict[int, Entry] = {}

    def take_new(self, jobs: Arrays, keys: Vector) -> None:
        """Put the jobs of `new` into their lines."""
        rows = zip(jobs.job.tolist(), jobs.gpus.tolist(), keys.tolist(), strict=True)
        # Where most are new, sorting is faster than a search for each.
        most = len(self.new) > len(self._entry)
        added: dict[int, list[Entry]] = {}
        for job, gpus, key in rows:
            entry = self._entry[job] = (key, job)
            if most or gpus not in self.by_gpus:
                added.setdefault(gpus, []).append(entry)
            else:
                self.by_gpus[gpus].add(entry)
        for gpus, entries in added.items():
            self.by_gpus[gpus] = Ascending((*self.by_gpus.get(gpus, ()), *entries))
        self.new.clear()

    def remove(self, job: int, gpus: int) -> None:
        """Remove a job that starts."""
        entry = self._entry.pop(job, None)
        if entry is None:
            self.new.remove(job)
            return
        line = self.by_gpus[gpus]
        line.remove(entry)
        if not line:
            del self.by_gpus[gpus]
