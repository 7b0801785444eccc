"""Iteration times and edge weights of groups, by the kinds of their jobs.

Jobs of the published simulator have three recorded stages: loading, GPU work and network. An
iteration has four slots; the loading stage spans two of them. The simulator runs two iterations of
the group's cycle and takes the time of the last one. A trace has a few dozen kinds of jobs, and
times and weights depend on nothing else, so each is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

from published.muri.jobs import SLOWER, JobState

Stages = Sequence[float]
SLOTS = 4
LOAD, GPU, NETWORK = range(3)
SHARING = {1: 1.0, 2: 1.33 / SLOWER, 3: 1.5 / SLOWER, 4: 1.37 / SLOWER}
"""Factor of a group's time by its number of jobs, as measured by the authors (public code)."""
SHARING_UNMATCHED = SHARING | {4: 1.3 / SLOWER}
"""The factors that the variant without Blossom uses."""
STEADY = 1e-3
"""The cycle's time is taken as soon as it changes by no more than this share."""
Kind = tuple[int, ...]
"""Numbers of the stage triples of a group's jobs, in the group's order."""


class Group(NamedTuple):
    """Jobs that share GPUs, in the order in which they were merged."""

    jobs: tuple[JobState, ...]
    kind: Kind

    @property
    def gpus(self) -> int:
        """GPUs of each job, and of the group."""
        return self.jobs[0].gpus

    def union(self, other: Group) -> Group:
        """Return a group of the jobs of both, this one's first."""
        return Group(self.jobs + other.jobs, self.kind + other.kind)


class Kinds:
    """Times and weights of groups.

    Parameters
    ----------
    sharing
        Factor of a group's time by its number of jobs.
    worst
        Whether a group's jobs take turns in the worst order instead of the best.
    profiled
        From a kind's stages to those that the scheduler knows; by these it groups and orders.
    """

    def __init__(
        self,
        sharing: Mapping[int, float],
        worst: bool = False,
        profiled: Callable[[Stages], Stages] | None = None,
    ) -> None:
        self.sharing, self.worst, self.profiled = sharing, worst, profiled
        self.stages: list[Stages] = []
        self.known: list[Stages] = []
        self.numbers: dict[Stages, int] = {}
        self._singles: dict[JobState, Group] = {}
        self._times: dict[tuple[Kind, bool], tuple[float, float]] = {}
        self._weights: dict[tuple[Kind, Kind], float] = {}

    def single(self, job: JobState) -> Group:
        """Return a job as a group."""
        group = self._singles.get(job)
        if group is None:
            group = self._singles[job] = Group((job,), (self._number(job),))
        return group

    def _number(self, job: JobState) -> int:
        """Return the number of a job's stages."""
        number = self.numbers.get(job.stages)
        if number is None:
            number = self.numbers[job.stages] = len(self.stages)
            self.stages.append(job.stages)
            self.known.append(self.profiled(job.stages) if self.profiled else job.stages)
        return number

    def time(self, group: Group, best: bool = False) -> float:
        """Return the seconds of a group's iteration; with `best`, in the best order in any case."""
        if len(group.jobs) == 1:
            return group.jobs[0].tau
        return self._shared(group.kind, self.worst and not best)[0]

    def weight(self, a: Kind, b: Kind) -> float:
        """Return the weight of the edge of two groups: the share of time that stages fill.

        The sum is in the order of the groups, so that it may differ from that of (b, a).
        """
        known = self._weights.get((a, b))
        if known is None:
            time = self._shared(a + b, self.worst)[1]
            known = self._weights[a, b] = self.filled(a + b) / (time * SLOTS)
        return known

    def filled(self, kind: Kind) -> float:
        """Return the seconds of all stages of a group's jobs, as profiled."""
        return total(total(self.known[number]) for number in kind)

    def _shared(self, kind: Kind, worst: bool) -> tuple[float, float]:
        """Return the seconds of an iteration of two or more jobs, and those by the profiles."""
        members = tuple(sorted(kind))
        if (members, worst) not in self._times:
            known = arrangement_times([self.known[number] for number in members])
            chosen = (max if worst else min)(known)
            factor, time = self.sharing[len(members)], chosen
            if self.profiled:
                times = arrangement_times([self.stages[number] for number in members])
                time = times[known.index(chosen)]
            self._times[members, worst] = time * factor, chosen * factor
        return self._times[members, worst]


def total(values: Iterable[float]) -> float:
    """Return a sum, added one by one: newer versions of Python round `sum` differently."""
    result = 0.0
    for value in values:
        result += value
    return result


def arrangement_times(stages: Sequence[Stages]) -> list[float]:
    """Return the seconds of an iteration of two or more jobs in every order of theirs.

    For two jobs there is one more arrangement: each loads while the other computes.
    """
    times = [cycle_time(order) for order in permutations(stages)]
    if len(stages) == 2:
        a, b = stages
        times.append(max(a[LOAD], b[GPU] + b[NETWORK]) + max(b[LOAD], a[GPU] + a[NETWORK]))
    return times


def cycle_time(order: Sequence[Stages]) -> float:
    """Return the seconds of an iteration in which the jobs take turns in this order."""
    ends = [0.0] * (2 * SLOTS + 1)
    for slot in range(2 * SLOTS):
        end = 0.0
        network, gpu, load = ((slot + ahead) % SLOTS for ahead in (1, 2, 3))
        if network < len(order):
            end = max(end, ends[slot] + order[network][NETWORK])
        if gpu < len(order):
            end = max(end, ends[slot] + order[gpu][GPU])
        if slot and load < len(order):
            end = max(end, ends[slot - 1] + order[load][LOAD])
        ends[slot + 1] = end
        if slot >= SLOTS:
            now, before = end - ends[slot - 3], ends[slot] - ends[slot - 4]
            if math.isclose(now, before, rel_tol=STEADY) and now > 0:
                return now
    return ends[-1] - ends[-1 - SLOTS]
