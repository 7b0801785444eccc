"""Interchangeable jobs: those equal in everything that a policy reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dlsched.problems.shares.jobs import Job
from dlsched.problems.shares.measures import Measure, Rated, proportional, usable_rates
from dlsched.problems.shares.rates import Rates


@dataclass(frozen=True)
class Kind:
    """Jobs of one model and scale that no policy can tell apart.

    An average of optimal allocations over the permutations of such jobs is optimal, because the
    program is convex and does not change if they change places; in it they have equal shares. So
    only the totals of a kind are needed.

    Attributes
    ----------
    example
        One of the jobs.
    jobs
        Their numbers in the list of jobs.
    rated
        Rates alone, on the types on which they can run.
    proportional
        See `dlsched.problems.shares.measures.proportional`.
    """

    example: Job
    jobs: tuple[int, ...]
    rated: Rated
    proportional: Fraction

    @property
    def group(self) -> tuple[str, int]:
        """Model and scale: what decides with whom a job can share GPUs."""
        return self.example.model, self.example.scale

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return len(self.jobs)


def group_jobs(
    jobs: Sequence[Job], rates: Rates, gpus: Mapping[str, int], measure: Measure
) -> tuple[Kind, ...]:
    """Return the kinds of jobs under a policy, in the order of their first jobs.

    Steps and elapsed time count only where the policy reads them, and weights likewise.
    """
    members_of_kind: dict[Job, list[int]] = {}
    for i, job in enumerate(jobs):
        alike = replace(job, id="")
        if measure.needs_steps:
            alike = replace(alike, weight=1)
            if measure.name == "makespan":
                alike = replace(alike, elapsed=0)
        else:
            alike = replace(alike, steps=None, elapsed=0)
        members_of_kind.setdefault(alike, []).append(i)
    kinds = []
    for members in members_of_kind.values():
        example = jobs[members[0]]
        rated = usable_rates(example, rates, gpus)
        share = proportional(rated, gpus)
        kinds.append(Kind(example, tuple(members), rated, share))
    return tuple(kinds)
