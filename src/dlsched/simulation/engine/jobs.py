"""The jobs present: their progress, in whole ticks, and all that a policy sees of them.

It is one file, as each way to see a job is made of the same few numbers: one by one (`JobView`), as
vectors (`Arrays`), and those that wait in an order that is kept (`Lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedList

from dlsched.registry.cluster_state import JobState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Share
from dlsched.simulation.workload.clock import seconds
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

Vector = NDArray[np.int64]
MOST_KEYS: Final = 8
"""Keys of which lines are kept: a policy may make its key anew at each decision."""


class Arrays(NamedTuple):
    """The waiting and running jobs as vectors, in the order of submission; times in microseconds.

    ``job`` are positions in the workload, ``running`` is 1 for a job that holds GPUs,
    ``remaining`` is what a scheduler knows, as `JobView.remaining`.
    """

    job: Vector
    submit: Vector
    gpus: Vector
    remaining: Vector
    attained: Vector
    service: Vector
    running: Vector


Key: TypeAlias = Callable[[Arrays], Vector]
"""Returns a number for each job."""
Entry: TypeAlias = tuple[Any, int]
"""The key of a job and its position in the workload: ties are in the order of submission."""
LinesByGpus: TypeAlias = Mapping[int, Sequence[Entry]]
"""Jobs that wait: one line, ascending and not empty, for each number of GPUs asked for."""


@dataclass(slots=True)
class Progress:
    """The state of a job that was submitted and is not complete. Times are in microseconds.

    A stretch of time in which allocation and speed do not change does ``floor(time x speed)`` of
    work, so that work stays whole **(D)**: less than a microsecond is lost at each change.

    Attributes
    ----------
    left
        Work left when the present stretch began.
    attained, service
        Time that it held GPUs before the present stretch; the same times the GPUs held.
    since, working
        When the present stretch began, and when the job makes progress in it.
    version
        Counts stretches, so that a completion foreseen for an earlier one is known as outdated.
    least
        Least work that was left when a preemption lost what was done; all of it if none did.
    rest
        Work left when the part of the training ends from which on the speed is another one.
    """

    left: int
    attained: int = 0
    service: int = 0
    since: int = 0
    working: int = 0
    version: int = 0
    first_start: int | None = None
    preemptions: int = 0
    allocation: Allocation | None = None
    speed: Fraction = Fraction(0)
    gpus: int = 0
    least: int = 0
    rest: int = 0

    def done(self, now: int) -> int:
        """Return the work done in the present stretch."""
        if self.allocation is None or now <= self.working:
            return 0
        return min(self.left, (now - self.working) * self.speed.numerator // self.speed.denominator)

    def end(self) -> int | None:
        """Return when the job will be complete, or its `rest` is left; None at speed 0."""
        if not self.speed:
            return None
        return self.working - (
            (self.rest - self.left) * self.speed.denominator // self.speed.numerator
        )

    def close(self, now: int) -> int:
        """End the present stretch, and return the work done in it."""
        work = self.done(now)
        self.left -= work
        self.attained += now - self.since
        self.service += (now - self.since) * self.gpus
        # What is left of an overhead is still to come in the next stretch.
        self.working = max(self.working, now)
        self.since = now
        self.version += 1
        return work

    def to_data(self) -> list[Any]:
        """Return the fields as JSON values."""
        return [_plain(getattr(self, field.name)) for field in fields(self)]

    @classmethod
    def from_data(cls, data: list[Any]) -> Progress:
        """Return the progress that `to_data` made the values of."""
        progress = cls(*data)
        progress.speed = Fraction(progress.speed)
        if progress.allocation is not None:
            shares, group, stated = progress.allocation
            held = (Share(server, gpus, *map(_exact, more)) for server, gpus, *more in shares)
            progress.allocation = Allocation(tuple(held), group, _exact(stated))
        return progress


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return str(value) if isinstance(value, Fraction) else value


def _exact(value: Any) -> Number | None:
    return Fraction(value) if isinstance(value, str) else value


class JobView(NamedTuple):
    """One job at a moment. All times are in seconds.

    Attributes
    ----------
    job
        The job as the workload has it.
    remaining
        Running time that it still needs at speed 1, for all that a scheduler knows: by
        `Job.estimate` if it has one, and no less than a microsecond.
    attained
        Time that it has held GPUs.
    service
        The same, each second times the GPUs then held.
    allocation
        What it holds; None while it waits.
    first_start
        When it first started; None if it never did.
    preemptions
        How often it was preempted.
    """

    job: Job
    remaining: Number
    attained: Number
    service: Number
    allocation: Allocation | None
    first_start: Number | None
    preemptions: int

    @property
    def id(self) -> Id:
        """The job's id."""
        return self.job.id

    def snapshot(self) -> JobState:
        """Return the job as the adapters of the problems' packages take it."""
        shares = () if self.allocation is None else self.allocation.shares
        held = [(share.server, share.gpus) for share in shares]
        return job_state(self.job, self.remaining, held, self.attained)


def job_state(
    job: Job, remaining: Number, held: Iterable[tuple[Id, int]] = (), attained: Number = 0
) -> JobState:
    """Return a job as the adapters of the problems' packages take it.

    Parameters
    ----------
    remaining, attained
        As in `JobView`.
    held
        The GPUs that it holds, by server.
    """
    alike = {name: getattr(job, name) for name in _ALIKE}
    # On the clock, as the state's time: their difference has no more digits than a double.
    submit = seconds(job.submit_ticks)
    work = job.work if job.estimate is None else job.estimate
    return JobState(
        **alike,
        submit=submit,
        remaining=remaining,
        attained=attained,
        allocation=tuple(held),
        work=work,
        throughputs=job.throughputs(remaining),
    )


_ALIKE = tuple({f.name for f in fields(JobState)} & Job.model_fields.keys() - {"submit", "work"})
"""What a job and a `JobState` call alike."""


class Lines:
    """The jobs that wait, one line for each number of GPUs asked for, ordered by a key.

    Policies that let each job run in turn if it fits need only the first jobs of every line: where
    one of them does not fit, those behind it in its line do not fit either, as they ask for as many
    GPUs and no more become free.

    Attributes
    ----------
    by_gpus
        The lines; none is empty.
    new
        Jobs that wait and whose key was not computed yet.
    """

    def __init__(self, positions: Collection[int]) -> None:
        self.new: set[int] = set(positions)
        self.by_gpus: dict[int, Any] = {}
        self._key: dict[int, Any] = {}

    def take_new(self, jobs: Arrays, keys: Vector) -> None:
        """Put the jobs of `new` into their lines."""
        added: dict[int, list[Entry]] = {}
        rows = zip(jobs.job.tolist(), jobs.gpus.tolist(), keys.tolist(), strict=True)
        for job, gpus, key in rows:
            self._key[job] = key
            added.setdefault(gpus, []).append((key, job))
        for gpus, entries in added.items():
            self.by_gpus.setdefault(gpus, SortedList()).update(entries)
        self.new.clear()

    def remove(self, job: int, gpus: int) -> None:
        """Remove a job that waits no more."""
        if job in self.new:
            self.new.remove(job)
            return
        line = self.by_gpus[gpus]
        line.remove((self._key.pop(job), job))
        if not line:
            del self.by_gpus[gpus]


class Jobs:
    """The jobs of a workload of which some are present; all are named by their positions.

    Attributes
    ----------
    active
        The progress of each job present, in the order of submission.
    waits, asked
        The jobs that wait, and the GPUs that they ask for together.
    scaled
        Running jobs at a speed other than 1, whose work the vectors do not follow.
    excess
        By how much a scheduler overestimates the work of each job; None where it knows all.
    """

    def __init__(self, workload: Workload, estimated: bool = True) -> None:
        self.all = jobs = workload.jobs
        self.active: dict[int, Progress] = {}
        self.waits: dict[int, None] = {}
        self.asked = 0
        self.submit: Vector = np.array([job.submit_ticks for job in jobs], np.int64)
        # A job's numbers fill one line of the processor's cache: submission, GPUs asked for, then
        # what `update` states.
        self._rows = np.zeros((len(jobs), 8), np.int64)
        self._rows[:, 0] = self.submit
        self._rows[:, 1] = [job.gpus for job in jobs]
        self._there, self._runs = np.zeros((2, len(jobs)), np.bool_)
        self._holding: tuple[Vector, Vector] | None = None
        self.scaled: set[int] = set()
        self.excess: Vector | None = None
        if estimated and any(job.estimate is not None for job in jobs):
            self.excess = np.array([job.known_ticks - job.work_ticks for job in jobs], np.int64)
        self._lines: dict[Key, Lines] = {}
        self._views: dict[int, JobView] = {}

    # Changes.

    def add(self, j: int, progress: Progress) -> None:
        """Add a job that is submitted, and waits."""
        self.active[j] = progress
        self._there[j] = True
        self.update(j, progress)
        self._wait(j)

    def leave(self, j: int) -> None:
        """Remove a job that is complete, or waits and is withdrawn."""
        if not self._runs[j]:
            self.start(j)
        del self.active[j]
        self._there[j] = False
        self._stop(j)

    def start(self, j: int) -> None:
        """Take note that a job that waits holds GPUs from now on."""
        self._runs[j] = True
        self._holding = None
        del self.waits[j]
        self.asked -= self.all[j].gpus
        self._views.pop(j, None)
        for lines in self._lines.values():
            lines.remove(j, self.all[j].gpus)

    def stop(self, j: int) -> None:
        """Take note that a job that runs waits from now on."""
        self._stop(j)
        self.update(j, self.active[j])
        self._wait(j)

    def _stop(self, j: int) -> None:
        self._runs[j] = False
        self._holding = None
        self.scaled.discard(j)

    def _wait(self, j: int) -> None:
        self.waits[j] = None
        self.asked += self.all[j].gpus
        for lines in self._lines.values():
            lines.new.add(j)

    def update(self, j: int, progress: Progress) -> None:
        """Take over a job's progress after a stretch has ended or begun."""
        self._rows[j, 2:] = (
            progress.left,
            progress.attained,
            progress.service,
            progress.since,
            progress.working,
            progress.gpus,
        )
        if progress.gpus:
            self._holding = None
            if progress.speed != 1:
                self.scaled.add(j)
            elif self.scaled:
                self.scaled.discard(j)

    # What there is.

    def view(self, j: int, now: int) -> JobView:
        """Return a job as it is at a time; a view of one that waits stays the same."""
        known = self._views.get(j)
        if known is not None:
            return known
        progress = self.active[j]
        left = progress.left - progress.done(now)
        if self.excess is not None and left:
            left = max(left + int(self.excess[j]), 1)
        stretch = now - progress.since if progress.allocation is not None else 0
        view = JobView(
            self.all[j],
            seconds(left),
            seconds(progress.attained + stretch),
            seconds(progress.service + stretch * progress.gpus),
            progress.allocation,
            None if progress.first_start is None else seconds(progress.first_start),
            progress.preemptions,
        )
        if progress.allocation is None:
            self._views[j] = view
        return view

    def present(self, now: int) -> Arrays:
        """Return all jobs as vectors."""
        return self.arrays(np.flatnonzero(self._there), now)

    def holding(self, now: int) -> Arrays:
        """Return the running jobs as vectors; what is read is kept till a change."""
        if self._holding is None:
            index = np.flatnonzero(self._runs)
            self._holding = index, self._columns(index)
        return self._at(now, *self._holding)

    def arrays(self, index: Vector, now: int) -> Arrays:
        """Return some jobs as vectors, given by their positions, ascending."""
        return self._at(now, index, self._columns(index))

    def _columns(self, index: Vector) -> Vector:
        """Return the columns of some jobs, each contiguous, which nobody may change."""
        columns = np.ascontiguousarray(self._rows.take(index, axis=0).T)
        index.flags.writeable = columns.flags.writeable = False
        return columns

    def _at(self, now: int, index: Vector, columns: Vector) -> Arrays:
        """Return vectors of what `_columns` has read, as it is at a time."""
        submit, gpus, left, attained, service, since, working, held = columns
        running = (held > 0).astype(np.int64)
        stretch = (now - since) * running
        remaining = np.maximum(left - np.maximum(now - working, 0) * running, 0)
        for j in self.scaled:
            i = int(np.searchsorted(index, j))
            if i < len(index) and index[i] == j:
                remaining[i] = self.active[j].left - self.active[j].done(now)
        if self.excess is not None:
            known = np.maximum(remaining + self.excess[index], 1)
            remaining = np.where(remaining > 0, known, remaining)
        service = service + stretch * held
        return Arrays(index, submit, gpus, remaining, attained + stretch, service, running)

    def lines(self, key: Key) -> LinesByGpus:
        """Return the jobs that wait by GPUs, each line in the order of a key.

        They go on being kept, unless `MOST_KEYS` others were asked for since.
        """
        lines = self._lines.pop(key, None) or Lines(self.waits)
        self._lines[key] = lines  # the last one
        if len(self._lines) > MOST_KEYS:
            del self._lines[next(iter(self._lines))]
        if lines.new:
            arrays = self.arrays(np.array(sorted(lines.new), np.int64), 0)
            lines.take_new(arrays, key(arrays))
        return MappingProxyType(lines.by_gpus)
