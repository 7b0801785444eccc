"""Iteration times and edge weights of groups, by the kinds of their jobs.

A trace has a few dozen kinds of jobs, and times and weights depend on nothing else, so each is
computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dlsched.simulation.published.muri.group_time import SLOTS, Stages, group_time
from dlsched.simulation.published.muri.jobs import JobState

Kind = tuple[int, ...]
"""Numbers of the stage triples of a group's jobs, in the group's order."""


class Group(NamedTuple):
    """Jobs that share GPUs, in the order in which they were merged."""

    jobs: tuple[JobState, ...]
    kind: Kind

    def __add__(self, other: object) -> Group:
        """Return the union, this group's jobs first."""
        assert isinstance(other, Group)
        return Group(self.jobs + other.jobs, self.kind + other.kind)

    @property
    def gpus(self) -> int:
        """GPUs of each job, and of the group."""
        return self.jobs[0].gpus


class Kinds:
    """Times and weights of groups.

    Parameters
    ----------
    sharing
        Factor of a group's time by its number of jobs.
    worst
        Whether a group's jobs take turns in the worst order instead of the best.
    """

    def __init__(self, sharing: Mapping[int, float], worst: bool = False) -> None:
        self.sharing, self.worst = sharing, worst
        self.stages: list[Stages] = []
        self.numbers: dict[Stages, int] = {}
        self._times: dict[tuple[Kind, bool], float] = {}
        self._weights: dict[tuple[Kind, Kind], float] = {}

    def single(self, job: JobState) -> Group:
        """Return a job as a group."""
        if job.stages not in self.numbers:
            self.numbers[job.stages] = len(self.stages)
            self.stages.append(job.stages)
        return Group((job,), (self.numbers[job.stages],))

    def time(self, group: Group, best: bool = False) -> float:
        """Return the seconds of a group's iteration; with `best`, in the best order in any case."""
        if len(group.jobs) == 1:
            return group.jobs[0].tau
        return self._shared(group.kind, self.worst and not best)

    def weight(self, a: Kind, b: Kind) -> float:
        """Return the weight of the edge of two groups: the share of time that stages fill.

        The sum is in the order of the groups, so that it may differ from that of (b, a).
        """
        known = self._weights.get((a, b))
        if known is None:
            filled = total(total(self.stages[number]) for number in a + b)
            known = filled / (self._shared(a + b, self.worst) * SLOTS)
            self._weights[a, b] = known
        return known

    def _shared(self, kind: Kind, worst: bool) -> float:
        key = tuple(sorted(kind)), worst
        if key not in self._times:
            stages = [self.stages[number] for number in key[0]]
            self._times[key] = group_time(stages, worst) * self.sharing[len(kind)]
        return self._times[key]


def total(values: Sequence[float] | object) -> float:
    """Return a sum, added one by one: newer versions of Python round `sum` differently."""
    result = 0.0
    for value in values:  # type: ignore[attr-defined]
        result += value
    return result
