"""The waiting jobs that can matter to a round of Lyra, found without looking at each of them.

Say that a job is ahead of another one if both may use the same pools, it needs no more GPUs, and it
is faster: with its base demand than the other one with its most workers, or, where both are of one
kind, with any number of workers, as less of it is left. Workers of jobs that may be in both pools
at once must have as many GPUs, too: two GPUs of each pool hold two workers of two, but none of
four. A job cannot start if those ahead of it and the job itself need more GPUs than there are:

- `lyra` takes the shortest job first. One ahead that does not start did not fit, and as GPUs only
  become fewer, nor does what comes later and needs as many.
- `completion_rates`: one of those ahead does not start, as all do not fit. In place of the job it
  would take no more GPUs and complete sooner, so that no best answer starts the job. Where GPUs on
  loan have a speed of their own, it takes the fastest of the job's: their mean is no less than that
  of all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.registry.cluster_state import JobState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.jobs import Vector, job_state
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.lyra_scaling import known_time
from dlsched.simulation.workload.cluster import LOAN, TRAINING
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

AHEAD: Final = ("lyra", "completion_rates")
"""Lyra's options ``elastic`` for which the above holds."""
RESOLUTION: Final = 0.001
"""Seconds to which ``elastic`` rounds running times: jobs closer than this may be equal to it."""
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Kind(NamedTuple):
    """What ``elastic`` knows of a job but its id and what is left of it.

    ``step`` are the GPUs of a worker of an elastic job, 0 for any other one; ``worker`` those of a
    job that may be in both pools at once, 0 for any other one.
    """

    min_gpus: int
    max_gpus: int
    step: int
    scaling_loss: Number
    fungible: bool
    heterogeneous: bool
    mixed_efficiency: Number
    worker: int

    @classmethod
    def of(cls, job: Job) -> Kind:
        """Return the kind of a job."""
        mixed = job.heterogeneous
        return cls(
            job.min_gpus,
            job.max_gpus,
            job.gpus_per_worker if job.max_gpus > job.min_gpus else 0,
            job.scaling_loss,
            job.fungible,
            mixed,
            job.mixed_efficiency if mixed else 1,
            job.gpus_per_worker if mixed else 0,
        )

    @property
    def faster(self) -> float:
        """How many times as fast as with its base demand a job is with its most workers."""
        more = self.max_gpus - self.min_gpus
        return float((self.max_gpus - more * Fraction(self.scaling_loss)) / self.min_gpus)

    def room(self, free: Mapping[str, int]) -> int:
        """Return how many GPUs the base demands of jobs of the kind can have at most."""
        if self.heterogeneous:
            return free[TRAINING] + free[LOAN]
        pools = (TRAINING, LOAN) if self.fungible else (TRAINING,)
        return sum(free[pool] // self.min_gpus * self.min_gpus for pool in pools)

    def usable(self, free: Mapping[str, int]) -> int:
        """Return how many GPUs the pools have that the kind may use."""
        return free[TRAINING] + (free[LOAN] if self.fungible or self.heterogeneous else 0)


class Kinds:
    """The kinds of a workload's jobs.

    Attributes
    ----------
    kinds, of
        Each kind once, and by position in the workload the number of a job's kind.
    seconds
        By position, the running time with the base demand per tick of remaining work.
    known
        Whether all jobs are as fast as their kinds say: none has a goodput.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        number: dict[Kind, int] = {}
        of = [number.setdefault(Kind.of(job), len(number)) for job in workload.jobs]
        self.kinds, self.of = tuple(number), np.array(of, np.int64)
        seconds = [
            float(known_time(job, 1) * Fraction(job.throughput(job.gpus)) / job.min_gpus)
            for job in workload.jobs
        ]
        self.seconds: Floats = np.array(seconds, float)
        self.known = all(job.goodput is None for job in workload.jobs)


class Queue:
    """The jobs that wait at a decision, in the order of submission.

    Parameters
    ----------
    without
        Jobs that do not count.
    """

    def __init__(self, state: State, kinds: Kinds, without: Collection[Id]) -> None:
        arrays = state.arrays
        waits = arrays.running == 0
        self._state = state
        self._kinds = kinds.kinds
        self._jobs: Vector = arrays.job[waits]
        self._left: Vector = arrays.remaining[waits]
        self._kind: Vector = kinds.of[self._jobs]
        self._base: Floats = self._left * kinds.seconds[self._jobs]
        self.leave_out(without)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._jobs)

    def leave_out(self, names: Collection[Id]) -> None:
        """Leave out jobs from now on."""
        if names:
            self._keep(~np.isin(self._jobs, self._state.vectors(names).job))

    def fit(self, free: Mapping[str, int]) -> None:
        """Leave out jobs whose base demand is more than the GPUs that they may use, by pool."""
        able = np.array([kind.room(free) >= kind.min_gpus for kind in self._kinds], bool)
        self._keep(able[self._kind])

    def _keep(self, flags: Flags) -> None:
        self._jobs, self._left = self._jobs[flags], self._left[flags]
        self._kind, self._base = self._kind[flags], self._base[flags]

    @property
    def efficiencies(self) -> list[Number]:
        """Of heterogeneous jobs the share of the speed that is left with workers in both pools."""
        present = [self._kinds[k] for k in np.unique(self._kind).tolist()]
        return [kind.mixed_efficiency for kind in present if kind.heterogeneous]

    def jobs(self, free: Mapping[str, int] | None = None) -> list[JobState]:
        """Return the jobs, or those that can start by what is ahead of them.

        Parameters
        ----------
        free
            GPUs by pool; None for all jobs.
        """
        chosen = np.arange(len(self)) if free is None else self._able(free)
        rows = zip(self._jobs[chosen].tolist(), self._left[chosen].tolist(), strict=True)
        known = self._state.workload.jobs
        return [job_state(known[j], known_time(known[j], left)) for j, left in rows]

    def _able(self, free: Mapping[str, int]) -> Vector:
        """Return the places of the jobs that are not known to wait, ascending."""
        order = np.lexsort((self._base, self._kind))
        ends = np.searchsorted(self._kind[order], np.arange(len(self._kinds) + 1)).tolist()
        alike: dict[tuple[bool, bool, int], list[Vector]] = {}
        for k, kind in enumerate(self._kinds):
            line = order[ends[k] : ends[k + 1]]
            if len(line):
                most = kind.room(free) // kind.min_gpus
                line = _first(line, self._base[line], most, RESOLUTION * kind.faster)
                places = kind.fungible, kind.heterogeneous, kind.worker
                alike.setdefault(places, []).append(line)
        kept = [self._not_behind(np.concatenate(lines), free) for lines in alike.values()]
        return np.sort(np.concatenate(kept)) if kept else order

    def _not_behind(self, places: Vector, free: Mapping[str, int]) -> Vector:
        """Return those of some jobs for which those ahead of them leave enough GPUs.

        The workers of all these jobs fit in the same places. Counted are jobs ahead whatever their
        kinds.
        """
        kinds = [self._kinds[k] for k in self._kind[places].tolist()]
        size = np.array([kind.min_gpus for kind in kinds], np.int64)
        base = self._base[places]
        fastest = base / [kind.faster for kind in kinds] - 2 * RESOLUTION
        ahead = np.zeros(len(places), np.int64)
        for gpus in np.unique(size).tolist():
            times = np.sort(base[size == gpus])
            ahead += np.where(size >= gpus, np.searchsorted(times, fastest) * gpus, 0)
        behind = ahead + size > kinds[0].usable(free)
        kept: Vector = places[~behind]
        return kept


def _first(line: Vector, base: Floats, most: int, resolution: float) -> Vector:
    """Return the first jobs of a line of one kind, and those hardly behind.

    Parameters
    ----------
    line
        Jobs by running time, equal ones by submission.
    base
        Their running times.
    most
        How many fit: of equal jobs no more are returned either, those submitted first.
    resolution
        Seconds by which a job must be behind.
    """
    if len(line) <= most:
        return line
    end = int(np.searchsorted(base, base[most - 1] + 2 * resolution, side="right"))
    rank = np.arange(end) - np.searchsorted(base[:end], base[:end])
    return line[:end][rank < most]
