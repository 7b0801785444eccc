"""What `shares` returns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dlsched.problems.shares.checker import Share
from dlsched.problems.shares.jobs import Job
from dlsched.results.result import Seconds

if TYPE_CHECKING:
    import pandas

Line: TypeAlias = list[tuple[str, Fraction]]
"""Jobs, and the length of each on a line on which they follow each other."""


class PairShare(NamedTuple):
    """The fraction of time for which two jobs share GPUs of a type."""

    job: str
    other: str
    gpu: str
    share: Fraction


@dataclass(frozen=True)
class Round:
    """One round of water filling.

    Attributes
    ----------
    level
        The value that the round's jobs have in every optimum.
    bound
        Certified upper bound on the level, for allocations that keep the levels of the earlier
        rounds, less a billionth; ``None`` if it was not asked for.
    jobs
        Ids of the jobs fixed in this round.
    """

    level: Fraction
    bound: Fraction | None
    jobs: tuple[str, ...]


@dataclass(frozen=True)
class Shares:
    """An allocation: for each job the fractions of time on each type of GPU.

    Attributes
    ----------
    policy
        As given to `shares`.
    jobs
        The jobs, in their order.
    shares
        The fractions above 0, exact; the checker confirmed all requirements.
    objective, bound
        The objective, recomputed by the checker, and a certified bound on that of any allocation,
        from the program's duals in exact arithmetic; ``None`` if it was not asked for.
    throughput, values
        By job: iterations per second, and the policy's value.
    rounds
        Of water filling; empty for other policies.
    kinds, size, solves
        Number of kinds of jobs; rows and columns of the program; how often it was solved.
    seconds
        Wall-clock seconds: build, solve (with certificate), check, total.
    solver
        Name and version of the solver.
    """

    policy: str
    jobs: tuple[Job, ...] = field(repr=False)
    shares: tuple[Share, ...] = field(repr=False)
    objective: Fraction
    bound: Fraction | None
    throughput: Mapping[str, Fraction] = field(repr=False)
    values: Mapping[str, Fraction] = field(repr=False)
    rounds: tuple[Round, ...] = field(repr=False)
    kinds: int
    size: tuple[int, int]
    solves: int
    seconds: Seconds
    solver: str

    def __repr__(self) -> str:
        """Return policy, number of jobs, objective and gap."""
        gap = "" if self.gap is None else f", gap {self.gap:.1e}"
        return f"Shares({self.policy}, {len(self.jobs)} jobs, {float(self.objective):.9g}{gap})"

    @property
    def gap(self) -> float | None:
        """Relative gap between objective and bound; ``None`` without a bound."""
        if self.bound is None:
            return None
        largest = max(abs(self.objective), abs(self.bound))
        return float(abs(self.objective - self.bound) / largest) if largest else 0.0

    def pairs(self) -> list[PairShare]:
        """Return which two jobs share GPUs, and for which fraction of time."""
        return _pair_shares(self.shares, {job.id: job for job in self.jobs})

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per share: job, gpu, beside (a model, or none), share."""
        import pandas as pd

        rows = [(s.job, s.gpu, s.beside, float(s.share)) for s in self.shares]
        return pd.DataFrame(rows, columns=list(Share._fields))

    def to_matrix(self) -> pandas.DataFrame:
        """Return each job's fraction of time on each type of GPU, alone and beside others."""
        import pandas as pd

        table = self.to_frame().pivot_table("share", "job", "gpu", aggfunc="sum", fill_value=0.0)
        return pd.DataFrame(table).reindex([job.id for job in self.jobs], fill_value=0.0)

    def jobs_frame(self) -> pandas.DataFrame:
        """Return one row per job: its fields, throughput and value."""
        import pandas as pd

        rows = [
            (j.id, j.model, j.scale, float(j.weight), float(self.throughput[j.id]), float(v))
            for j, v in zip(self.jobs, self.values.values(), strict=True)
        ]
        columns = ["job", "model", "scale", "weight", "throughput", "value"]
        return pd.DataFrame(rows, columns=columns)


def _pair_shares(shares: Iterable[Share], jobs: Mapping[str, Job]) -> list[PairShare]:
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
