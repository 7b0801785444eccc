"""What `shares` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dlsched.problems.shares.checker import Share
from dlsched.problems.shares.jobs import Job
from dlsched.problems.shares.pairs import PairShare, pair_shares
from dlsched.results.result import Seconds

if TYPE_CHECKING:
    import pandas


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
        return pair_shares(self.shares, {job.id: job for job in self.jobs})

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
