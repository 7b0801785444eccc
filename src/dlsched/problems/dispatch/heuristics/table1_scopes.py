"""Where a workload may run by the scopes of queues and of allocation (MAST, Table 1)."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.problems.dispatch.structures.victims import Array

SitesByRegion: TypeAlias = dict[int, list[int]]
"""Positions of the clusters that a workload may use, by region."""


class Loads:
    """Use and supply of each cluster, of the resource by which workloads are compared.

    A workload with GPUs counts by GPUs of the type of which it has most, another one by CPUs
    **(D)**.

    Attributes
    ----------
    bound
        By cluster and resource the demand of workloads bound there.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.bound: dict[tuple[int, int], int] = {}
        self._supply: dict[tuple[int, int], int] = {}

    def demand(self, ranked: Ranked) -> tuple[int, int]:
        """Return the resource of a workload, -1 for CPUs, and how much it needs."""
        by_kind: dict[int, int] = {}
        for request in self.fleet.requests[ranked.position]:
            gpus, cpus, _ = request.need
            amount = request.tasks * (cpus if request.kind == -1 else gpus)
            by_kind[request.kind] = by_kind.get(request.kind, 0) + amount
        kind = min(by_kind, key=lambda k: (k == -1, -by_kind[k], k))
        return kind, by_kind[kind]

    def supply(self, site: int, kind: int) -> int:
        """Return a cluster's GPUs of a type, or its CPUs."""
        if (site, kind) not in self._supply:
            self._supply[site, kind] = self._total(self.fleet.capacity, site, kind)
        return self._supply[site, kind]

    def _total(self, amounts: Array, site: int, kind: int) -> int:
        cluster = self.fleet.sites[site]
        gpus, cpus, _ = amounts[:, cluster.machines]
        return int(cpus.sum() if kind == -1 else gpus[cluster.kind == kind].sum())

    def share(self, sites: Sequence[int], kind: int, bound: bool) -> Fraction:
        """Return the part of a resource that is in use, with `bound` also what is bound there."""
        supply = sum(self.supply(s, kind) for s in sites)
        free = sum(self._total(self.fleet.free, s, kind) for s in sites)
        waiting = sum(self.bound.get((s, kind), 0) for s in sites) if bound else 0
        return Fraction(supply - free + waiting, supply)

    def candidates(self, ranked: Ranked, one_cluster: bool) -> SitesByRegion:
        """Return by region the clusters for a workload, of regions with every type that it needs.

        If all its jobs are to be in one cluster, the clusters with every type; else all.
        """
        workload = self.fleet.instance.pending[ranked.position]
        kinds = {request.kind for request in self.fleet.requests[ranked.position]}
        candidates: SitesByRegion = {}
        for r, sites in self.fleet.sites_of(workload).items():
            if one_cluster:
                usable = [s for s in sites if all(self.supply(s, k) for k in kinds)]
            else:
                usable = sites if all(any(self.supply(s, k) for s in sites) for k in kinds) else []
            if usable:
                candidates[r] = usable
        return candidates

    def clusters(self, ranked: Ranked, bound: bool) -> SitesByRegion:
        """Return the cluster of least load."""
        kind, _ = self.demand(ranked)
        candidates = self.candidates(ranked, True)
        sites = [s for of_region in candidates.values() for s in of_region]
        least = min(sites, key=lambda s: (self.share([s], kind, bound), s), default=None)
        return {r: [least] for r, of_region in candidates.items() if least in of_region}

    def regions(
        self, ranked: Ranked, bound: bool, k: int = 1, one_cluster: bool = False
    ) -> SitesByRegion:
        """Return the clusters of the `k` regions of least load, that of all their clusters."""
        kind, _ = self.demand(ranked)
        candidates = self.candidates(ranked, one_cluster)
        sites_of = self.fleet.sites_of(self.fleet.instance.pending[ranked.position])
        order = sorted(candidates, key=lambda r: (self.share(sites_of[r], kind, bound), r))
        return {r: candidates[r] for r in sorted(order[:k])}

    def bind_on_arrival(
        self, arrivals: Iterable[Ranked], where: Callable[[Ranked], SitesByRegion]
    ) -> dict[int, SitesByRegion]:
        """Return by workload where it is bound, in order of arrival.

        The demand of each counts for the next ones; in a region, at its first cluster.
        """
        bound: dict[int, SitesByRegion] = {}
        for ranked in arrivals:
            sites = where(ranked)
            kind, amount = self.demand(ranked)
            for first, *_ in sites.values():
                self.bound[first, kind] = self.bound.get((first, kind), 0) + amount
            bound[ranked.position] = sites
        return bound
