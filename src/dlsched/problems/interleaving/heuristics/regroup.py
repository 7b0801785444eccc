"""The parts of `regroup`: pairs of groups divided anew, and an integer program for few groups."""

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import combinations, count
from typing import NamedTuple

import numpy as np

from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.heuristics.muri import Members
from dlsched.problems.interleaving.heuristics.tunables import REGROUP
from dlsched.problems.interleaving.kernels.local_search import Jobs, divide_pairs
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.master import choice_form
from dlsched.problems.interleaving.structures.groups import (
    LEAST_GAIN,
    efficiencies,
    offsets_by_size,
    padded,
    padded_efficiencies,
    stage_array,
    unpadded,
)
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.arrays import Flags, Floats, Ints
from dlsched.solvers.incumbent import Incumbent


class _Split(NamedTuple):
    """A group of a class, by its row, the two in its place, and the gain for each GPU."""

    gpus: int
    row: int
    parts: tuple[Members, Members]
    gain: float


class Grouping:
    """The groups of every class, as arrays that the search changes in place.

    ``members[gpus]`` has a row for each group, filled up with -1; for a cover a row for each job,
    most of them empty. After a limit of the run nothing is divided any more.
    """

    def __init__(self, instance: Instance, groups: Sequence[Members], run: Run) -> None:
        self.instance = instance
        self.stages = stage_array(instance)
        sizes = offsets_by_size(self.stages.shape[1], instance.group_limit)
        self.jobs = Jobs(self.stages, *sizes)
        self.run = run
        self.uniform = instance.grouping == "uniform"
        self.members: dict[int, Ints] = {}
        for gpus, jobs in instance.classes.items():
            rows = [group for group in groups if instance.jobs[group[0]].gpus == gpus]
            if not self.uniform:
                rows += [()] * (len(jobs) - len(rows))
            self.members[gpus] = padded(rows, instance.group_limit)

    def groups(self) -> list[Members]:
        """Return the groups as positions of jobs."""
        return [group for members in self.members.values() for group in unpadded(members) if group]

    @property
    def gpus(self) -> int:
        """GPUs of all groups."""
        return sum(gpus * _filled(members).size for gpus, members in self.members.items())

    @property
    def worth(self) -> float:
        """The objective."""
        return sum(
            self.instance.weight(gpus) * float(self.gamma(gpus).sum()) for gpus in self.members
        )

    def gamma(self, gpus: int) -> Floats:
        """Return the efficiency of each row of a class; 0 of the empty ones."""
        return padded_efficiencies(self.stages, self.members[gpus])

    def divide(self, price: float | None = None) -> None:
        """Divide all pairs anew; with a price of a GPU groups are merged and split, too."""
        for gpus, members in self.members.items():
            group_price = -1.0 if price is None else price * gpus / self.instance.weight(gpus)
            self._divide(gpus, np.ones(len(members), dtype=bool), group_price)

    def _divide(self, gpus: int, active: Flags, price: float = -1.0) -> None:
        members = self.members[gpus]
        sizes = (members >= 0).sum(axis=1)
        changed = active * np.int64(len(members) ** 2)
        for number in count(1):
            if self.run.stop_reason() or not divide_pairs(
                self.jobs, members, sizes, self.uniform, changed, number, price
            ):
                break

    def distribute(self) -> None:
        """Distribute the budget over the classes by a price of a GPU, found by bisection."""
        budget = self.instance.gpu_budget or 0
        best: Incumbent[dict[int, Ints], float] = Incumbent(self.run, lambda _: self.worth)
        best.offer(copy.deepcopy(self.members))
        low = REGROUP.lowest_price
        high = REGROUP.highest_price
        for _ in range(REGROUP.halvings):
            if self.run.stop_reason():
                break
            price = (low * high) ** 0.5
            self.divide(price)
            if self.gpus > budget:
                low = price
                continue
            high = price
            best.offer(copy.deepcopy(self.members))
        assert best.solution is not None
        self.members = best.solution
        while (split := self._best_split(budget - self.gpus)) is not None:
            members = self.members[split.gpus]
            empty = int(np.flatnonzero(members[:, 0] < 0)[0])
            first, second = split.parts
            members[[split.row, empty]] = padded([second, first], members.shape[1])
        self.divide()

    def _best_split(self, spare: int) -> _Split | None:
        """Return the split that gains most for each GPU; ``None`` if none gains."""
        least = LEAST_GAIN
        best = None
        for gpus in self.members:
            for split in self._splits(gpus) if gpus <= spare else ():
                if split.gain > least:
                    least = split.gain + LEAST_GAIN
                    best = split
        return best

    def _splits(self, gpus: int) -> Iterator[_Split]:
        """Yield the best split of a class for each size and each way to divide a group of it."""
        members = self.members[gpus]
        gammas = self.gamma(gpus)
        sizes = (members >= 0).sum(axis=1)
        for size in np.unique(sizes[sizes > 1]).tolist():
            rows = np.flatnonzero(sizes == size)
            for places in _divisions(size):
                first = members[rows][:, places]
                second = np.delete(members[rows, :size], places, axis=1)
                together = efficiencies(self.stages, first) + efficiencies(self.stages, second)
                gain = together - gammas[rows]
                most = int(gain.argmax())
                gain_per_gpu = gain[most] * self.instance.weight(gpus) / gpus
                parts = (tuple(first[most].tolist()), tuple(second[most].tolist()))
                yield _Split(gpus, int(rows[most]), parts, float(gain_per_gpu))

    def kick(self, rng: np.random.Generator) -> None:
        """Mix the jobs of some groups of a class and divide pairs anew; undo it if worse."""
        counts = {gpus: _filled(members).size for gpus, members in self.members.items()}
        large = [gpus for gpus, count in counts.items() if count >= REGROUP.mixed_groups]
        if not large:
            return
        weights = np.array([counts[gpus] for gpus in large], dtype=float)
        gpus = int(rng.choice(large, p=weights / weights.sum()))
        members = self.members[gpus]
        before = members.copy()
        worth = self.gamma(gpus).sum()
        rows = np.sort(rng.choice(_filled(members), REGROUP.mixed_groups, replace=False))
        mixed = members[rows]
        mixed[mixed >= 0] = rng.permutation(mixed[mixed >= 0])
        members[rows] = mixed
        active = np.zeros(len(members), dtype=bool)
        active[rows] = True
        self._divide(gpus, active)
        if self.gamma(gpus).sum() < worth:
            members[:] = before


def _filled(members: Ints) -> Ints:
    """Return the rows that are groups."""
    return np.flatnonzero(members[:, 0] >= 0)


def _divisions(size: int) -> Iterator[tuple[int, ...]]:
    """Yield the places of the first part of every division of a group, the smaller ones first."""
    for part in range(1, size // 2 + 1):
        yield from combinations(range(size), part)


def few_groups(instance: Instance, run: Run) -> list[Members] | None:
    """Return groups by an integer program over all multisets of profiles; None if it has none.

    There is none, either, where the numbers of GPUs are too far apart for a solver.
    """
    unit = math.gcd(*instance.classes)
    if not instance.jobs or max(instance.classes) // unit > REGROUP.largest_gpus:
        return None
    pool = GroupPool(instance)
    groups = pool.enumeration()
    pool.class_gpus //= unit
    if pool.budget is not None:
        pool.budget //= unit
    form = choice_form(pool, groups)
    outcome = highs.solve(form, 0, run.nested(gap=REGROUP.gap), quiet=True, nodes=1)
    if outcome.values is None:
        return None
    jobs = [list(jobs) for jobs in instance.profiles.values()]
    chosen = groups.members.repeat(np.rint(outcome.values).astype(np.int64), axis=0)
    return [tuple(jobs[profile].pop() for profile in group) for group in unpadded(chosen)]
