"""The parts of `regroup`: pairs of groups divided anew, and an integer program for few groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.heuristics.muri import Group, jobs_of
from dlsched.problems.interleaving.heuristics.pair_search import divide_pairs
from dlsched.problems.interleaving.structures.groups import (
    Flags,
    Indices,
    Vector,
    efficiencies,
    profile_groups,
)
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm

_GAP = 5e-3
"""Relative gap of the integer program."""
_LOWEST, _HIGHEST, _HALVINGS = 1e-4, 1.0, 8
"""Range of the price of a GPU, in efficiency, and how often it is halved (its logarithm is)."""
_KICKED = 3
"""Groups whose jobs are mixed before a round."""
_LARGEST_GPUS = 10**6
"""Largest coefficient of the integer program's row of GPUs; solvers' tolerances are absolute."""


class Grouping:
    """The groups of every class, as arrays that the compiled search changes in place.

    ``members[gpus]`` and ``sizes[gpus]`` are as in `pairs.divide_pairs`; a cover has a row for
    each job, most of them empty. After a limit of the run nothing is divided any more.
    """

    def __init__(self, instance: Instance, groups: Sequence[Group], run: Run) -> None:
        self.instance = instance
        self.jobs = jobs_of(instance)
        self.run = run
        self.uniform = instance.grouping == "uniform"
        self.members: dict[int, Indices] = {}
        self.sizes: dict[int, Indices] = {}
        for gpus, jobs in instance.classes.items():
            class_groups = [group for group in groups if instance.jobs[group[0]].gpus == gpus]
            count = len(class_groups) if self.uniform else len(jobs)
            members = np.full((count, instance.group_limit), -1, dtype=np.int64)
            for row, group in zip(members, class_groups, strict=False):
                row[: len(group)] = group
            self.members[gpus] = members
            self.sizes[gpus] = (members >= 0).sum(axis=1)

    def groups(self) -> list[Group]:
        """Return the groups as positions of jobs."""
        return [
            tuple(row[:size])
            for gpus, members in self.members.items()
            for row, size in zip(members.tolist(), self.sizes[gpus].tolist(), strict=True)
            if size
        ]

    @property
    def gpus(self) -> int:
        """GPUs of all groups."""
        return sum(gpus * int(np.count_nonzero(sizes)) for gpus, sizes in self.sizes.items())

    @property
    def worth(self) -> float:
        """The objective."""
        return sum(
            self.instance.weight(gpus) * float(self.gamma(gpus).sum()) for gpus in self.members
        )

    def gamma(self, gpus: int) -> Vector:
        """Return the efficiency of each row of a class; 0 of the empty ones."""
        sizes = self.sizes[gpus]
        result = np.zeros(len(self.sizes[gpus]))
        for size in np.unique(sizes[sizes > 0]).tolist():
            of_size = np.flatnonzero(sizes == size)
            result[of_size] = efficiencies(self.jobs.stages, self.members[gpus][of_size, :size])
        return result

    def divide(self, price: float | None = None) -> None:
        """Divide all pairs anew; with a price of a GPU groups are merged and split, too."""
        for gpus in self.members:
            group_price = -1.0 if price is None else price * gpus / self.instance.weight(gpus)
            self._divide(gpus, np.ones(len(self.sizes[gpus]), dtype=bool), group_price)

    def _divide(self, gpus: int, active: Flags, price: float = -1.0) -> None:
        members = self.members[gpus]
        sizes = self.sizes[gpus]
        while not self.run.stop_reason():
            if not divide_pairs(self.jobs, members, sizes, active, self.uniform, price):
                break

    def distribute(self) -> None:
        """Distribute the budget over the classes by a price of a GPU, found by bisection."""
        budget = self.instance.gpu_budget or 0
        best = self.worth
        kept = self._copy()
        low = _LOWEST
        high = _HIGHEST
        for _ in range(_HALVINGS):
            if self.run.stop_reason():
                break
            price = (low * high) ** 0.5
            self.divide(price)
            if self.gpus > budget:
                low = price
                continue
            high = price
            if self.worth > best:
                best = self.worth
                kept = self._copy()
        self.members, self.sizes = kept
        while self._split(budget - self.gpus):
            pass
        self.divide()

    def _copy(self) -> tuple[dict[int, Indices], dict[int, Indices]]:
        members = {gpus: rows.copy() for gpus, rows in self.members.items()}
        return members, {gpus: sizes.copy() for gpus, sizes in self.sizes.items()}

    def _split(self, spare: int) -> bool:
        """Split the group that gains most for each GPU; return whether one gained."""
        best = 0.0
        chosen = None
        for gpus, members in self.members.items():
            gamma = self.gamma(gpus)
            sizes = self.sizes[gpus]
            for size in np.unique(sizes[sizes > 1]).tolist() if gpus <= spare else ():
                of_size = np.flatnonzero(sizes == size)
                for part in range(1, size // 2 + 1):
                    for first in combinations(range(size), part):
                        order = [*first, *(i for i in range(size) if i not in first)]
                        rows = members[of_size][:, order]
                        gain = efficiencies(self.jobs.stages, rows[:, :part])
                        gain += efficiencies(self.jobs.stages, rows[:, part:]) - gamma[of_size]
                        most = int(gain.argmax())
                        gain_per_gpu = gain[most] * self.instance.weight(gpus) / gpus
                        if gain_per_gpu > best + 1e-12:
                            best = gain_per_gpu
                            chosen = (gpus, int(of_size[most]), rows[most], part)
        if chosen is None:
            return False
        gpus, row, jobs, part = chosen
        members = self.members[gpus]
        sizes = self.sizes[gpus]
        empty = int(np.flatnonzero(sizes == 0)[0])
        members[row] = -1
        members[row, : len(jobs) - part] = jobs[part:]
        members[empty, :part] = jobs[:part]
        sizes[row] = len(jobs) - part
        sizes[empty] = part
        return True

    def kick(self, rng: np.random.Generator) -> None:
        """Mix the jobs of some groups of a class and divide pairs anew; undo it if worse."""
        counts = {gpus: np.count_nonzero(sizes) for gpus, sizes in self.sizes.items()}
        large = [gpus for gpus, count in counts.items() if count >= _KICKED]
        if not large:
            return
        weights = np.array([counts[gpus] for gpus in large], dtype=float)
        gpus = int(rng.choice(large, p=weights / weights.sum()))
        members = self.members[gpus]
        sizes = self.sizes[gpus]
        before = members.copy()
        known = sizes.copy()
        worth = self.gamma(gpus).sum()
        rows = np.sort(rng.choice(np.flatnonzero(sizes), _KICKED, replace=False))
        block = members[rows]
        block[block >= 0] = rng.permutation(block[block >= 0])
        members[rows] = block
        active = np.zeros(len(sizes), dtype=bool)
        active[rows] = True
        self._divide(gpus, active)
        if self.gamma(gpus).sum() < worth:
            members[:] = before
            sizes[:] = known


def few_groups(instance: Instance, run: Run) -> list[Group] | None:
    """Return groups by an integer program over all multisets of profiles; None if it has none.

    There is none, either, where the numbers of GPUs are too far apart for a solver.
    """
    from scipy import sparse

    remaining = [list(jobs) for jobs in instance.profiles.values()]
    counts = np.array([len(jobs) for jobs in remaining], dtype=float)
    columns_of_class = list(profile_groups(instance))
    rows = [row for columns in columns_of_class for row in columns.members.tolist()]
    unit = math.gcd(*instance.classes)
    if not rows or max(instance.classes) // unit > _LARGEST_GPUS:
        return None
    gpus = np.concatenate(
        [np.full(len(columns.gamma), columns.gpus) for columns in columns_of_class]
    )
    worth = np.concatenate(
        [columns.gamma * instance.weight(columns.gpus) for columns in columns_of_class]
    )
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    line = np.full(len(rows), len(remaining))  # the GPUs' row
    entries = np.append(np.ones(len(owners)), gpus // unit)
    positions = np.append(np.concatenate(rows), line), np.append(owners, np.arange(len(rows)))
    shape = (len(remaining) + 1, len(rows))
    budget = np.inf if instance.gpu_budget is None else float(instance.gpu_budget // unit)
    form = StandardForm.of(
        sparse.csc_array(sparse.coo_array((entries, positions), shape=shape)),
        np.append(counts, -np.inf),
        np.append(counts, budget),
        np.full(len(rows), counts.max()),
        worth,
        sense="max",
    )
    outcome = highs.solve(form, 0, run.nested(gap=_GAP), quiet=True, nodes=1)
    if outcome.values is None:
        return None
    often = np.rint(outcome.values).astype(np.int64)
    return [
        tuple(remaining[profile].pop() for profile in rows[column])
        for column in np.repeat(np.arange(len(rows)), often).tolist()
    ]
