"""What any policy has to spend on the jobs: time, and resources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.simulation.bounds.capacity import Capacity, Steps


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
    steps: tuple[tuple[int, Fraction], ...]

    @property
    def most(self) -> Fraction:
        """The largest amount that there is at any time."""
        return max(amount for _, amount in self.steps)

    def at(self, time: int) -> Fraction:
        """Return the amount at a time."""
        return [amount for since, amount in self.steps if since <= time][-1]


class Mode(NamedTuple):
    """One way to do a job's work: microseconds at least, and resources, per microsecond of work.

    A job may change its mode at any time, and do parts of its work in several at once.
    """

    length: Fraction
    uses: tuple[Fraction, ...]


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
        fastest = [kind.length for kind in self.kinds]
        return tuple(
            math.floor(work * fastest[k]) for work, k in zip(self.work, self.kind, strict=True)
        )

    @classmethod
    def of(
        cls, resources: Sequence[Resource], jobs: Sequence[tuple[int, int, tuple[Mode, ...]]]
    ) -> Demands:
        """Return the demands of jobs, given by submission, work and modes."""
        number: dict[tuple[Mode, ...], int] = {}
        kind = tuple(number.setdefault(modes, len(number)) for _, _, modes in jobs)
        release, work = (tuple(column) for column in list(zip(*jobs, strict=True))[:2])
        return cls(tuple(resources), release, work, kind, tuple(Kind(modes) for modes in number))


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
    def capacity(self) -> Capacity:
        """What it does until when."""
        return Capacity(self.steps)


def pool(d: Demands, weights: Sequence[Fraction]) -> Pool:
    """Return the machine that has all resources, each counted with a weight of 0 or more.

    A job counts for the weighted sum of the resources that it uses in its mode of least sum. So
    what is done in the cluster at any time is no more than what the machine has.
    """
    times = sorted({time for resource in d.resources for time, _ in resource.steps})
    rates = [
        sum((w * r.at(time) for w, r in zip(weights, d.resources, strict=True)), Fraction(0))
        for time in times
    ]
    unit = math.lcm(*(rate.denominator for rate in rates))
    least = [
        min(
            sum((w * use for w, use in zip(weights, mode.uses, strict=True)), Fraction(0))
            for mode in kind.modes
        )
        for kind in d.kinds
    ]
    area = tuple(math.floor(work * least[k] * unit) for work, k in zip(d.work, d.kind, strict=True))
    steps = tuple((time, int(rate * unit)) for time, rate in zip(times, rates, strict=True))
    return Pool(steps, d.release, area, d.lengths)
