"""The relaxation over the sets of jobs known, and its prices as integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dlsched.problems.sensitivity.programs.allowed_patterns import Pattern
from dlsched.problems.sensitivity.programs.job_program import TOLERANCE, JobProgram
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.incremental import IncrementalProgram

UNITS = 2**40
"""Integer prices are in units of the largest throughput over this."""
_MISSING = 100.0
"""What the relaxation pays for a job without a server; the largest throughput is 1."""


class JobPrices(NamedTuple):
    """Integer prices: of jobs, and by job and choice of GPUs of split jobs."""

    jobs: list[int]
    gpus: list[list[int]]


class JobMaster:
    """The relaxation over the patterns known; without throughputs (`rate` 0) jobs are counted."""

    def __init__(
        self, jobs: JobProgram, run: Run, columns: Mapping[Pattern, None], rate: float
    ) -> None:
        self.jobs = jobs
        self.columns = columns
        self.rate = rate
        self.program = IncrementalProgram(run, maximize=True)
        self.program.add_rows(*jobs.limits())
        self.missing = 0 if jobs.instance.may_wait else len(jobs.gpus)
        for j in range(self.missing):
            self.program.add_column(-_MISSING if rate else -1.0, 0.0, 1.0, [j], [1.0])
        self.program.add_columns(rate * self.jobs.costs([]), self.jobs.split_matrix())
        self.known = 0
        self.extend()

    def extend(self) -> None:
        """Add the patterns that are new."""
        new = list(self.columns)[self.known :]
        self.known += len(new)
        costs = self.jobs.costs(new)[: len(new)]
        self.program.add_columns(self.rate * costs, self.jobs.matrix(new))

    def solve(self) -> tuple[bool, JobPrices] | None:
        """Return whether a job is missing, and integer prices; ``None`` if stopped."""
        if self.program.solve() is not Termination.PROVED:
            return None
        duals = np.rint(np.asarray(self.program.duals) * UNITS)
        jobs = [int(dual) for dual in duals[: len(self.jobs.gpus)].tolist()]
        if self.jobs.instance.may_wait:
            jobs = [max(0, price) for price in jobs]
        gpus = [[0] * len(row) for row in self.jobs.rates]
        for (j, c), row in self.jobs.row_of.items():
            gpus[j][c] = max(0, int(duals[row]))
        missing = float(np.sum(self.program.values[: self.missing])) > TOLERANCE
        return missing, JobPrices(jobs, gpus)
