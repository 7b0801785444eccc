"""The program over sets of jobs on a server and split jobs: its matrix, and solutions of points.

Columns are patterns, each used by some servers, then choices of split jobs. Rows are jobs, the GPUs
of every choice of a split job, and the servers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Solution
from dlsched.problems.sensitivity.programs.allowed_patterns import Pattern
from dlsched.schema import Number
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm

if TYPE_CHECKING:
    from scipy import sparse

TOLERANCE = 1e-9
"""By what part a floor on the throughput is lowered for solvers."""


class JobProgram:
    """The program of one instance.

    Attributes
    ----------
    choices, rates
        Of each job the undominated choices, and their throughputs.
    largest
        The largest of these, in which costs are.
    gpus
        Of each job.
    split
        Jobs that may be split, by position, with each choice.
    row_of
        The row of the GPUs of each of `split`.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.choices = [instance.undominated[job.profile] for job in instance.jobs]
        self.rates = [[Fraction(c.throughput) for c in row] for row in self.choices]
        self.largest = max(rate for row in self.rates for rate in row)
        self.gpus = [instance.profile(job).gpus for job in instance.jobs]
        several = [j for j, count in enumerate(self.gpus) if count > 1 and instance.allow_split]
        self.split = [(j, c) for j in several for c in range(len(self.rates[j]))]
        self.row_of = {key: len(self.gpus) + i for i, key in enumerate(self.split)}
        self.server_row = len(self.gpus) + len(self.split)

    def matrix(self, patterns: list[Pattern]) -> sparse.csc_array:
        """Return the columns of patterns: rows of jobs, of split jobs' GPUs, and of servers."""
        from scipy import sparse

        rows: list[int] = []
        columns: list[int] = []
        entries: list[float] = []
        for i, pattern in enumerate(patterns):
            for part in pattern:
                rows.append(part.job if part.whole else self.row_of[part.job, part.choice])
                entries.append(1.0 if part.whole else -float(part.gpus))
                columns.append(i)
            rows.append(self.server_row)
            entries.append(1.0)
            columns.append(i)
        shape = (self.server_row + 1, len(patterns))
        return sparse.csc_array(sparse.coo_array((entries, (rows, columns)), shape=shape))

    def split_matrix(self) -> sparse.csc_array:
        """Return the columns of split jobs: each needs the GPUs of its choice."""
        from scipy import sparse

        count = len(self.split)
        rows = [j for j, _ in self.split] + [self.row_of[key] for key in self.split]
        entries = [1.0] * count + [float(self.gpus[j]) for j, _ in self.split]
        shape = (self.server_row + 1, count)
        places = (np.array(rows, dtype=int), np.tile(np.arange(count), 2))
        return sparse.csc_array(sparse.coo_array((entries, places), shape=shape))

    def limits(self) -> tuple[Vector, Vector]:
        """Return the lower and upper limits of the rows."""
        jobs = len(self.gpus)
        lower = np.full(self.server_row + 1, -INF)
        lower[:jobs] = 0.0 if self.instance.may_wait else 1.0
        upper = np.zeros(self.server_row + 1)
        upper[:jobs] = 1.0
        upper[-1] = float(self.instance.servers.count)
        return lower, upper

    def costs(self, patterns: list[Pattern]) -> Vector:
        """Return the throughputs of patterns' whole jobs, then of split jobs, the largest 1."""
        whole = [
            sum((self.rates[p.job][p.choice] for p in pattern if p.whole), Fraction(0))
            for pattern in patterns
        ]
        split = [self.rates[j][c] for j, c in self.split]
        return np.array([float(rate / self.largest) for rate in (*whole, *split)])

    def form(self, patterns: list[Pattern], floor: Number | None = None) -> StandardForm:
        """Return the integer program; with a floor on the throughput, of the split jobs."""
        from scipy import sparse

        A = sparse.hstack([self.matrix(patterns), self.split_matrix()], format="csc")
        lower, upper = self.limits()
        costs = self.costs(patterns)
        if floor is not None:
            A = sparse.vstack([A, sparse.csc_array(costs[None, :])], format="csc")
            least = float(Fraction(floor) / self.largest) * (1 - TOLERANCE)
            lower = np.append(lower, least)
            upper = np.append(upper, INF)
            costs = np.append(np.zeros(len(patterns)), np.ones(len(self.split)))
        servers = np.full(len(patterns), float(self.instance.servers.count))
        most = np.append(servers, np.ones(len(self.split)))
        return StandardForm.of(
            A, lower, upper, most, costs, sense="max" if floor is None else "min"
        )

    def solution(self, patterns: list[Pattern], values: Vector) -> Solution:
        """Return the solution of a point: one server for each use of a pattern."""
        counts = np.rint(values).astype(int).tolist()
        split = {j: c for (j, c), n in zip(self.split, counts[len(patterns) :], strict=True) if n}
        left = {j: self.gpus[j] for j in split}
        chosen = dict(split)
        held: dict[int, dict[str, int]] = {}
        server = 0
        for pattern, count in zip(patterns, counts, strict=False):
            for _ in range(count):
                for part in pattern:
                    gpus = part.gpus
                    if part.whole:
                        chosen[part.job] = part.choice
                    elif split.get(part.job) == part.choice:
                        gpus = min(gpus, left[part.job])
                        left[part.job] -= gpus
                    else:
                        gpus = 0
                    if gpus:
                        held.setdefault(part.job, {})[str(server)] = gpus
                server += 1
        allocation = {}
        for j, gpus_by_server in sorted(held.items()):
            choice = self.choices[j][chosen[j]]
            allocation[self.instance.jobs[j].id] = Allocation(
                cpus=choice.cpus, memory=choice.memory, gpus=gpus_by_server
            )
        return Solution(allocation=allocation)
