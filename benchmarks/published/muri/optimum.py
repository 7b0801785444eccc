"""The best grouping of a round: an integer program over the multisets of kinds.

It is the problem interleaving, a cover of the selected jobs by groups within the GPUs of the
cluster with the largest sum of efficiencies (Muri, equation 4), in the formulation of its method
``aggregated``; but with the iteration times of the published simulator.
"""

from itertools import combinations_with_replacement

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.results.status import Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm
from published.muri.grouping import Buckets
from published.muri.kinds import SLOTS, Group, Kind, Kinds

Counts = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
"""By GPUs: how many jobs there are of each kind."""
Chosen = dict[int, list[tuple[Kind, int]]]
"""By GPUs: kinds of groups, and how many there are of each."""


class Optimum:
    """The grouping with the largest sum of efficiencies, proved by HiGHS.

    Parameters
    ----------
    kinds
        Times and weights.
    largest
        Most jobs in a group.
    by_gpus
        Whether a group's efficiency counts as often as it has GPUs, instead of once.
    """

    def __init__(self, kinds: Kinds, largest: int, by_gpus: bool = False) -> None:
        self.kinds, self.largest, self.by_gpus = kinds, largest, by_gpus
        self._known: dict[Counts, Chosen] = {}
        self._columns: dict[tuple[int, tuple[int, ...]], list[tuple[Kind, float]]] = {}

    def __call__(self, buckets: Buckets, gpus: int) -> Buckets:
        """Return the groups; jobs of a kind are taken in their order.

        While the GPUs suffice for all jobs, each runs alone, as in the authors' rounds.
        """
        if sum(size * len(groups) for size, groups in buckets.items()) <= gpus:
            return buckets
        queues: dict[int, dict[int, list[Group]]] = {}
        for size, groups in buckets.items():
            for group in groups:
                queues.setdefault(size, {}).setdefault(group.kind[0], []).append(group)
        counts = tuple(
            (size, tuple(sorted((kind, len(queue)) for kind, queue in by_kind.items())))
            for size, by_kind in sorted(queues.items())
        )
        if counts not in self._known:
            self._known[counts] = self._solve(counts, gpus)
        result: Buckets = {}
        for size, chosen in self._known[counts].items():
            ready = {kind: iter(queue) for kind, queue in queues[size].items()}
            for kind, often in chosen:
                for _ in range(often):
                    jobs = tuple(next(ready[number]).jobs[0] for number in kind)
                    result.setdefault(size, []).append(Group(jobs, kind))
        return result

    def _solve(self, counts: Counts, gpus: int) -> Chosen:
        """Return how often each kind of group is used."""
        from scipy import sparse

        kinds = [(size, kind) for size, present in counts for kind, _ in present]
        row = {key: i for i, key in enumerate(kinds)}
        columns = [
            (size, group, worth)
            for size, present in counts
            for group, worth in self._groups(size, tuple(kind for kind, _ in present))
        ]
        rows, columns_of_rows = [], []
        for j, (size, group, _) in enumerate(columns):
            rows += [row[size, number] for number in group] + [len(kinds)] * size
            columns_of_rows += [j] * (len(group) + size)
        matrix = sparse.csc_array(
            (np.ones(len(rows)), (rows, columns_of_rows))
        )  # entries given twice are added
        jobs = [float(count) for _, present in counts for _, count in present]
        form = StandardForm.of(
            matrix,
            np.array([*jobs, -np.inf]),
            np.array([*jobs, float(gpus)]),
            np.full(len(columns), np.inf),
            np.array([worth for *_, worth in columns]),
            sense="max",
        )
        solved = highs.solve(form, 0, Run(), quiet=True)
        if solved.values is None or solved.termination is not Termination.PROVED:
            raise SolverFailure(
                f"HiGHS did not prove a grouping of {len(columns)} kinds of groups: "
                f"{solved.termination.sentence}"
            )
        chosen: Chosen = {}
        for j, often in enumerate(np.rint(solved.values).astype(int).tolist()):
            if often:
                size, group, _ = columns[j]
                chosen.setdefault(size, []).append((group, often))
        return chosen

    def _groups(self, size: int, present: tuple[int, ...]) -> list[tuple[Kind, float]]:
        """Return all kinds of groups of these kinds of jobs, and what each is worth."""
        if (size, present) not in self._columns:
            members = (
                kind
                for many in range(1, self.largest + 1)
                for kind in combinations_with_replacement(present, many)
            )
            weight = size if self.by_gpus else 1
            self._columns[size, present] = [(k, weight * self._efficiency(k)) for k in members]
        return self._columns[size, present]

    def _efficiency(self, kind: Kind) -> float:
        """Return the share of time that a group's stages fill; a job alone takes their sum."""
        if len(kind) == 1:
            return 1 / SLOTS
        return self.kinds.weight(kind[:1], kind[1:])
