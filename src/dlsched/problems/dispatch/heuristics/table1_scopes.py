"""Where a workload may run by the scopes of queues and of allocation (MAST, Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.heuristics.dispatcher import Sites
from dlsched.problems.dispatch.structures.fleet import Fleet


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
        by: dict[int, int] = {}
        for request in self.fleet.requests[ranked.position]:
            i = 1 if request.kind == -1 else 0
            by[request.kind] = by.get(request.kind, 0) + request.tasks * request.need[i]
        kinds = [kind for kind in by if kind != -1] or [-1]
        kind = min(kinds, key=lambda k: (-by[k], k))
        return kind, by[kind]

    def supply(self, site: int, kind: int) -> int:
        """Return a cluster's GPUs of a type, or its CPUs."""
        if (site, kind) not in self._supply:
            self._supply[site, kind] = self._total(self.fleet.capacity, site, kind)
        return self._supply[site, kind]

    def _total(self, amounts: object, site: int, kind: int) -> int:
        at = self.fleet.sites[site]
        own = amounts[:, at.machines]  # type: ignore[index]
        return int(own[1].sum()) if kind == -1 else int(own[0][at.kind == kind].sum())

    def share(self, sites: Sequence[int], kind: int, bound: bool) -> Fraction:
        """Return the part of a resource that is in use, with `bound` also what is bound there."""
        supply = sum(self.supply(s, kind) for s in sites)
        used = supply - sum(self._total(self.fleet.free, s, kind) for s in sites)
        if bound:
            used += sum(self.bound.get((s, kind), 0) for s in sites)
        return Fraction(used, supply)

    def candidates(self, ranked: Ranked, one_cluster: bool) -> dict[int, list[int]]:
        """Return by region the clusters for a workload, of regions with every type that it needs.

        If all its jobs are to be in one cluster, the clusters with every type; else all.
        """
        workload = self.fleet.instance.pending[ranked.position]
        kinds = {request.kind for request in self.fleet.requests[ranked.position]}
        found = {}
        for r, own in self.fleet.sites_of(workload).items():
            complete = [s for s in own if all(self.supply(s, k) for k in kinds)]
            if complete:
                found[r] = complete if one_cluster else own
            elif not one_cluster and all(any(self.supply(s, k) for s in own) for k in kinds):
                found[r] = own
        return found

    def clusters(self, ranked: Ranked, bound: bool) -> dict[int, list[int]]:
        """Return the cluster of least load."""
        kind, _ = self.demand(ranked)
        sites = [(r, s) for r, own in self.candidates(ranked, True).items() for s in own]
        if not sites:
            return {}
        r, s = min(sites, key=lambda site: (self.share([site[1]], kind, bound), site[1]))
        return {r: [s]}

    def regions(
        self, ranked: Ranked, bound: bool, k: int = 1, one_cluster: bool = False
    ) -> dict[int, list[int]]:
        """Return the clusters of the `k` regions of least load, that of all their clusters."""
        kind, _ = self.demand(ranked)
        found = self.candidates(ranked, one_cluster)
        every = self.fleet.sites_of(self.fleet.instance.pending[ranked.position])
        order = sorted(found, key=lambda r: (self.share(every[r], kind, bound), r))
        return {r: found[r] for r in sorted(order[:k])}

    def bind(self, ranked: Ranked, sites: Sites) -> None:
        """Count a workload's demand where it is bound; of a region, at its first cluster."""
        kind, amount = self.demand(ranked)
        for own in sites.values():
            for s in own[:1]:
                self.bound[s, kind] = self.bound.get((s, kind), 0) + amount


def bind_on_arrival(
    loads: Loads, arrivals: Sequence[Ranked], where: Callable[[Ranked], dict[int, list[int]]]
) -> dict[int, dict[int, list[int]]]:
    """Return by workload where it is bound, in order of arrival, each counted for the next ones."""
    found = {}
    for ranked in arrivals:
        found[ranked.position] = where(ranked)
        loads.bind(ranked, found[ranked.position])
    return found
