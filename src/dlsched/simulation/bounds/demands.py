"""What any policy has to spend on the jobs: time, and resources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import le
from typing import NamedTuple

from dlsched.simulation.bounds.capacity import (
    AmountSteps,
    Capacity,
    Steps,
    weighted_steps,
    weighted_sum,
)


class Resource(NamedTuple):
    """A resource whose amount in the cluster is limited: GPUs of a type, CPUs, GB of memory.

    Attributes
    ----------
    name
        For people.
    steps
        Times in microseconds from which on there is an amount, ascending from 0, and the amounts.
    """

    name: str
    steps: AmountSteps

    @property
    def most(self) -> Fraction:
        """The largest amount that there is at any time."""
        return max(amount for _, amount in self.steps)


class Mode(NamedTuple):
    """One way to do a job's work: microseconds at least, and resources, per microsecond of work.

    A job may change its mode at any time, and do parts of its work in several at once.
    """

    length: Fraction
    uses: tuple[Fraction, ...]

    def takes_no_less_than(self, other: Mode) -> bool:
        """Return whether another mode takes less or as much time, and of every resource."""
        return other.length <= self.length and all(map(le, other.uses, self.uses))


class Kind(NamedTuple):
    """The modes of jobs that are alike but for their work."""

    modes: tuple[Mode, ...]

    @property
    def length(self) -> Fraction:
        """Microseconds per microsecond of work in the fastest mode."""
        return min(mode.length for mode in self.modes)


class Demands(NamedTuple):
    """Lower bounds on what each job takes, in the order of submission.

    Attributes
    ----------
    resources
        What the cluster has.
    release, work
        Submission and work of each job, in whole microseconds.
    kind
        Of each job, its position in `kinds`.
    """

    resources: tuple[Resource, ...]
    release: tuple[int, ...]
    work: tuple[int, ...]
    kind: tuple[int, ...]
    kinds: tuple[Kind, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Microseconds that each job takes at least, in its fastest mode; rounded down."""
        return self.scaled([kind.length for kind in self.kinds])

    def scaled(self, per_work: Sequence[Fraction]) -> tuple[int, ...]:
        """Return each job's work times what its kind takes per microsecond of it, rounded down."""
        jobs = zip(self.work, self.kind, strict=True)
        return tuple(math.floor(work * per_work[k]) for work, k in jobs)

    @classmethod
    def of(
        cls, resources: Sequence[Resource], jobs: Sequence[tuple[int, int, tuple[Mode, ...]]]
    ) -> Demands:
        """Return the demands of jobs, given by submission, work and modes."""
        release, work, modes_of_job = zip(*jobs, strict=True)
        number = {modes: k for k, modes in enumerate(dict.fromkeys(modes_of_job))}
        return cls(
            resources=tuple(resources),
            release=release,
            work=work,
            kind=tuple(number[modes] for modes in modes_of_job),
            kinds=tuple(map(Kind, number)),
        )


class Pool(NamedTuple):
    """One machine that does the jobs, for the whole cluster.

    Attributes
    ----------
    steps
        What it does per microsecond, over time.
    release, length
        Of each job, submission and time at least, in whole microseconds.
    area
        Of each job, what the machine has to do for it; a whole number.
    """

    steps: Steps
    release: tuple[int, ...]
    area: tuple[int, ...]
    length: tuple[int, ...]

    @property
    def capacity(self) -> Capacity[int]:
        """What it does until when."""
        return Capacity(self.steps)


def pool(d: Demands, weights: Sequence[Fraction]) -> Pool:
    """Return the machine that has all resources, each counted with a weight of 0 or more.

    A job counts for the weighted sum of the resources that it uses in its mode of least sum. So
    what is done in the cluster at any time is no more than what the machine has.
    """
    total = weighted_steps(weights, [resource.steps for resource in d.resources])
    unit = math.lcm(*(rate.denominator for _, rate in total))
    steps = tuple((time, int(rate * unit)) for time, rate in total)
    least = [unit * min(weighted_sum(weights, m.uses) for m in kind.modes) for kind in d.kinds]
    return Pool(steps, d.release, d.scaled(least), d.lengths)
