"""Muri's rounds of matching: Algorithm 1, the authors' public code, and a variant of ours."""

import math
from collections.abc import Sequence
from itertools import repeat

import numpy as np

from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.heuristics.matching import NO_EDGE, match, match_types
from dlsched.problems.interleaving.heuristics.tunables import MATCHING
from dlsched.problems.interleaving.kernels.local_search import Jobs, exchange_pass
from dlsched.problems.interleaving.structures.groups import (
    offsets_by_size,
    padded,
    padded_efficiencies,
    pair_efficiencies,
    stage_array,
    unpadded,
)
from dlsched.run import Run
from dlsched.solvers.arrays import Flags, Floats

Members = tuple[int, ...]
Pair = tuple[Members, Members]


class Rounds:
    """Groups of jobs by class, merged in pairs, round by round.

    Parameters
    ----------
    share
        Of the time that is left, the most that a matching may take after its first try; it is then
        not always a heaviest one. None for no limit.
    """

    def __init__(self, instance: Instance, run: Run, share: float | None = None) -> None:
        self.instance = instance
        self.run = run
        self.share = share
        self.stages = stage_array(instance)
        self.largest = instance.group_limit
        self.rounds = (self.largest - 1).bit_length()
        """ceil(log2 of the largest group)."""
        self.profile = {j: p for p, jobs in enumerate(instance.profiles.values()) for j in jobs}
        self.groups: dict[int, list[Members]] = {
            gpus: [(j,) for j in jobs] for gpus, jobs in instance.classes.items()
        }

    @property
    def excess(self) -> int:
        """GPUs beyond the budget."""
        budget = self.instance.gpu_budget
        if budget is None:
            return 0
        used = sum(gpus * len(groups) for gpus, groups in self.groups.items())
        return max(0, used - budget)

    def gamma(self, groups: Sequence[Members]) -> Floats:
        """Return the groups' efficiencies."""
        return padded_efficiencies(self.stages, padded(groups, self.largest))

    def pairs(self, gpus: int) -> list[Pair]:
        """Return one round of a class: the heaviest matching of its groups (Algorithm 1).

        Where many groups are interchangeable, their types are matched.
        """
        groups = self.groups[gpus]
        types: dict[tuple[int, ...], list[Members]] = {}
        for group in groups:
            types.setdefault(tuple(sorted(self.profile[j] for j in group)), []).append(group)
        if len(types) * MATCHING.alike > len(groups):
            seconds = math.inf if self.share is None else self.share * self.run.remaining()
            matched = match(self._weights(groups), run=self.run, seconds=seconds).pairs
            pairs = [(groups[i], groups[j]) for i, j in matched.tolist()]
            return [(a, b) for a, b in pairs if len(a) + len(b) <= self.largest]
        queues = list(types.values())
        weights = self._weights([queue[0] for queue in queues], alike=True)
        often = match_types(weights, np.array(list(map(len, queues))), self.run)
        return [
            (queues[a].pop(), queues[b].pop())
            for a, b in np.argwhere(often).tolist()
            for _ in range(often[a, b])
        ]

    def _weights(self, groups: Sequence[Members], alike: bool = False) -> Floats:
        """Return gamma of every union of two groups; `NO_EDGE` where the union is too large.

        With `alike`, the diagonal is the union of a group and another with the same profiles.
        """
        if self.largest > 1 and not alike and all(len(g) == 1 for g in groups):
            return pair_efficiencies(self.stages[[g[0] for g in groups]])
        rows = padded(groups, self.largest)
        sizes = (rows >= 0).sum(axis=1)
        fits = sizes[:, None] + sizes <= self.largest
        first, second = np.nonzero(np.triu(fits, 0 if alike else 1))
        unions = np.concatenate([rows[first], rows[second]], axis=1)
        filled = np.argsort(unions < 0, axis=1, kind="stable")[:, : self.largest]
        gammas = padded_efficiencies(self.stages, np.take_along_axis(unions, filled, axis=1))
        weights = np.full(fits.shape, NO_EDGE)
        weights[first, second] = gammas
        weights[second, first] = gammas
        return weights

    def merge_all(self) -> None:
        """Run every round and merge all its pairs: Algorithm 1 as printed."""
        for _ in range(self.rounds):
            for gpus in self.groups:
                self._apply(gpus, self.pairs(gpus))

    def merge_needed(self, order: str = "listed") -> None:
        """Merge pair by pair, only while the GPUs exceed the budget: the authors' public code.

        The number of rounds is at most the largest size of a group. The order is that of the method
        `muri_needed`; the public code lists classes by their first job, and pairs by the later of
        their nodes.
        """
        appearance = list(dict.fromkeys(job.gpus for job in self.instance.jobs))
        for _ in range(self.largest):
            excess = self.excess
            if not excess:
                return
            offers: list[tuple[int, Pair]] = []
            for gpus in appearance:
                place = {group: i for i, group in enumerate(self.groups[gpus])}
                ordered = [sorted(pair, key=place.__getitem__) for pair in self.pairs(gpus)]
                ordered.sort(key=lambda pair: place[pair[1]])
                offers += [(gpus, (earlier, later)) for earlier, later in ordered]
            if order == "idle":
                gammas = self.gamma([a + b for _, (a, b) in offers])
                idle = (1 - gammas) * [gpus for gpus, _ in offers]
                offers = [offers[i] for i in np.argsort(idle, kind="stable").tolist()]
            self._merge(offers, excess)

    def merge_least_loss(self) -> None:
        """Run Algorithm 1's rounds; merge only while GPUs exceed the budget, least loss first.

        The loss is that of efficiency, for each GPU that the merging frees.
        """
        for _ in range(self.rounds):
            excess = self.excess
            if not excess:
                return
            offers: list[tuple[float, int, Pair]] = []
            for gpus in self.groups:
                pairs = self.pairs(gpus)
                apart = self.gamma([a for a, _ in pairs])
                apart += self.gamma([b for _, b in pairs])
                loss = apart - self.gamma([a + b for a, b in pairs])
                loss_per_gpu = self.instance.weight(gpus) * loss / gpus
                offers += zip(loss_per_gpu.tolist(), repeat(gpus), pairs)
            self._merge([(gpus, pair) for _, gpus, pair in sorted(offers)], excess)

    def _merge(self, offers: Sequence[tuple[int, Pair]], excess: int) -> None:
        """Merge pairs in this order until the GPUs have decreased by the excess."""
        merged: dict[int, list[Pair]] = {}
        for gpus, pair in offers:
            if excess <= 0:
                break
            merged.setdefault(gpus, []).append(pair)
            excess -= gpus
        for gpus, pairs in merged.items():
            self._apply(gpus, pairs)

    def _apply(self, gpus: int, pairs: Sequence[Pair]) -> None:
        """Merge pairs; a merged group takes the place of the later of its two."""
        place = {group: i for i, group in enumerate(self.groups[gpus])}
        earlier = {min(pair, key=place.__getitem__) for pair in pairs}
        union = {max(pair, key=place.__getitem__): pair[0] + pair[1] for pair in pairs}
        self.groups[gpus] = [union.get(g, g) for g in place if g not in earlier]

    def complete(self) -> None:
        """Make the groups uniform, or fit them to the budget, where the rounds did not.

        Merging pairs cannot make groups of three. The least efficient groups are dissolved, no more
        than necessary, and their jobs are assigned to the others, at most one to each group per
        step, with the largest total gamma.
        """
        fewest = {
            gpus: -(-len(jobs) // self.largest) for gpus, jobs in self.instance.classes.items()
        }
        if self.instance.grouping == "uniform":
            for gpus, count in fewest.items():
                self._dissolve(gpus, count)
        while self.excess:
            spare = {gpus: len(self.groups[gpus]) - count for gpus, count in fewest.items()}
            gpus = max((g for g in spare if spare[g]), key=lambda g: (g <= self.excess, g))
            steps = min(spare[gpus], max(1, self.excess // gpus))
            self._dissolve(gpus, len(self.groups[gpus]) - steps)

    def _dissolve(self, gpus: int, count: int) -> None:
        """Dissolve groups of a class until `count` are left."""
        groups = self.groups[gpus]
        if len(groups) == count:
            return
        from scipy.optimize import linear_sum_assignment

        order = np.argsort(-self.gamma(groups), kind="stable").tolist()
        kept = [groups[i] for i in order[:count]]
        unassigned = [j for i in order[count:] for j in groups[i]]
        while unassigned:
            open_ = [i for i, g in enumerate(kept) if len(g) < self.largest]
            unions = [[(*kept[i], j) for i in open_] for j in unassigned]
            worth = np.array([self.gamma(groups) for groups in unions])
            rows, columns = linear_sum_assignment(worth, maximize=True)
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
                kept[open_[column]] += (unassigned[row],)
            unassigned = np.delete(unassigned, rows).tolist()
        self.groups[gpus] = kept

    def all(self) -> list[Members]:
        """Return the groups of all classes."""
        return [group for groups in self.groups.values() for group in groups]


def improve(
    instance: Instance, groups: Sequence[Members], passes: int, run: Run, apart: Flags | None = None
) -> list[Members]:
    """Return the groups after the local search of `exchange_pass`.

    Parameters
    ----------
    passes
        The most of them; it ends where none helps, or at a limit of `run`.
    apart
        Jobs x jobs: whether two must not share; groups with such a pair are left as soon as may be.
    """
    stages = stage_array(instance)
    jobs = Jobs(stages, *offsets_by_size(stages.shape[1], instance.group_limit), apart)
    uniform = instance.grouping == "uniform"
    improved: list[Members] = []
    for gpus in instance.classes:
        class_groups = [g for g in groups if instance.jobs[g[0]].gpus == gpus]
        members = padded(class_groups, instance.group_limit)
        sizes = (members >= 0).sum(axis=1)
        changed = np.full(len(members), len(members) ** 2)
        for number in range(1, passes + 1):
            if run.stop_reason() or not exchange_pass(
                jobs, members, sizes, uniform, changed, number
            ):
                break
        improved += unpadded(members)
    return improved
