"""From time beside a model to time beside each of its jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from dlsched.problems.shares.checker import Share
from dlsched.problems.shares.jobs import Job

Line: TypeAlias = list[tuple[str, Fraction]]
"""Jobs, and the length of each on a line on which they follow each other."""


class PairShare(NamedTuple):
    """The fraction of time for which two jobs share GPUs of a type."""

    job: str
    other: str
    gpu: str
    share: Fraction


def pair_shares(shares: Iterable[Share], jobs: Mapping[str, Job]) -> list[PairShare]:
    """Divide time beside models into time of pairs of jobs, with few pairs.

    Two models: their jobs' times are laid on two lines of equal length, and jobs at the same place
    are a pair. One model beside itself: its jobs' times are laid on a circle, and jobs at opposite
    places are a pair; they differ, because no job has more than half of the circle. So there are
    fewer pairs than jobs of both models, where the product rule of the public code has all of them.
    """
    lines: dict[tuple[str, str, int, str], Line] = defaultdict(list)
    for share in shares:
        if share.beside is not None and share.share:
            job = jobs[share.job]
            key = (job.model, share.beside, job.scale, share.gpu)
            lines[key].append((share.job, share.share))
    shares_of_pairs = []
    for (model, other, scale, gpu), ours in sorted(lines.items()):
        if model == other:
            halves = _halves(ours)
        elif model < other:
            halves = ours, lines[other, model, scale, gpu]
        else:
            continue
        shares_of_pairs += [PairShare(a, b, gpu, length) for a, b, length in _overlaps(*halves)]
    return shares_of_pairs


def _halves(line: Line) -> tuple[Line, Line]:
    """Return the two halves of a line."""
    missing = sum((length for _, length in line), Fraction(0)) / 2
    first: Line = []
    for i, (job, length) in enumerate(line):
        if length >= missing:
            return [*first, (job, missing)], [(job, length - missing), *line[i + 1 :]]
        first.append((job, length))
        missing -= length
    return first, []


def _overlaps(ours: Line, theirs: Line) -> Iterator[tuple[str, str, Fraction]]:
    """Yield for two lines of equal length the jobs that lie at the same place, and for how long."""
    a, b = iter(ours), iter(theirs)
    job, mine = next(a, ("", Fraction(0)))
    other, its = next(b, ("", Fraction(0)))
    while job and other:
        length = min(mine, its)
        if length:
            yield job, other, length
        mine, its = mine - length, its - length
        if not mine:
            job, mine = next(a, ("", Fraction(0)))
        if not its:
            other, its = next(b, ("", Fraction(0)))
