"""Starting workloads one at a time: plans by region, the auction, the negative cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.definition.schema import MOST_PRIORITIES, Placed, Solution, Started
from dlsched.problems.dispatch.heuristics.job_plan import (
    JobPlan,
    plan_with_victims,
    plan_without_victims,
    view,
)
from dlsched.problems.dispatch.structures.fleet import Fleet, Request

Sites: TypeAlias = Mapping[int, Sequence[int]]
"""Positions of the clusters that a workload may use, by region."""
Score: TypeAlias = tuple[Any, ...]
"""Jobs preempted by priority, youth of the victims, machines and racks; less is better."""


@dataclass(frozen=True)
class Plan:
    """A plan for a workload in one region: one entry per job, and its score."""

    region: int
    jobs: tuple[JobPlan, ...]
    victims: tuple[int, ...]
    score: Score


class Dispatcher:
    """Starts workloads on a fleet, each by the best of its regions' plans.

    Attributes
    ----------
    attempts, hits, failures
        How many plans of a job in a cluster were asked for, how many of these the negative cache
        answered, and how many others do not exist.
    """

    def __init__(
        self, fleet: Fleet, *, cache: bool = True, fewest: bool = True, preempts: bool = True
    ) -> None:
        self.fleet, self.cache, self.fewest, self.preempts = fleet, cache, fewest, preempts
        self.failed: dict[tuple[int, int], list[tuple[Request, int]]] = {}
        self.start: dict[str, Started] = {}
        self.preempt: list[int] = []
        self.attempts = self.hits = self.failures = 0

    def dispatch(
        self, order: Iterable[Ranked], sites: Callable[[Ranked], Sites], one_cluster: bool = False
    ) -> None:
        """Start what can start, in the given order, on the clusters allowed for each workload.

        Parameters
        ----------
        one_cluster
            Whether all jobs of a workload must be in one cluster.
        """
        for ranked in order:
            plan = self.auction(ranked, sites(ranked), one_cluster)
            if plan is not None:
                self.execute(ranked, plan)

    def auction(self, ranked: Ranked, sites: Sites, one_cluster: bool = False) -> Plan | None:
        """Return the best plan of all regions; ties go to the earlier one **(D)**."""
        found = []
        for region, own in sites.items():
            choices = [[site] for site in own] if one_cluster else [list(own)]
            found += [self.plan(ranked, region, choice) for choice in choices]
        plans = [plan for plan in found if plan is not None]
        return min(plans, key=lambda plan: plan.score, default=None)

    def plan(self, ranked: Ranked, region: int, sites: Sequence[int]) -> Plan | None:
        """Return a region's plan: job by job **(D)**, each in the cluster with the best plan.

        The order is the file's. The paper plans jobs in parallel and does not say what one leaves
        to another.

        A job sees the machines as the workload's earlier jobs leave them, victims included.
        """
        fleet = self.fleet
        jobs: list[JobPlan] = []
        victims: list[int] = []
        requests = fleet.requests[ranked.position]
        for request in requests:
            best = self.plan_job(sites, request, ranked, bool(jobs))
            if best is None:
                break
            if len(requests) > 1:
                fleet.stop(best.victims)
                fleet.take(best.site, request, best.machines, best.tasks)
            jobs.append(best)
            victims += best.victims
        if len(requests) > 1:
            for request, job in zip(requests, jobs, strict=False):
                fleet.take(job.site, request, job.machines, job.tasks, -1)
            fleet.resume(victims)
        if len(jobs) < len(requests):
            return None
        return Plan(region, tuple(jobs), tuple(victims), self.score(jobs, victims))

    def plan_job(
        self, sites: Sequence[int], request: Request, ranked: Ranked, tentative: bool
    ) -> JobPlan | None:
        """Return a job's best plan in some clusters; ties go to the earlier cluster.

        Clusters are not looked at if the negative cache knows that there is no plan. Plans with
        victims are made only if no cluster has one without, which is better than all of them.
        """
        self.attempts += len(sites)
        fleet, p = self.fleet, ranked.priority
        known = self.cache and bool(self.failed)
        some = [s for s in sites if not (known and self._known_to_fail(s, request, p))]
        self.hits += len(sites) - len(some)
        seen = [view(fleet, s, request) for s in some]
        plans = [plan_without_victims(fleet, one) for one in seen if one.suffices]
        if not plans:
            for one in seen:
                plan = None
                if self.preempts:
                    plan = plan_with_victims(fleet, one, p, fewest=self.fewest)
                if plan is not None:
                    plans.append(plan)
                    continue
                self.failures += 1
                if self.cache and not tentative:
                    self.failed.setdefault((one.site, request.kind), []).append((request, p))
        return min(plans, key=lambda plan: self.score([plan], plan.victims), default=None)

    def _known_to_fail(self, site: int, request: Request, priority: int) -> bool:
        """Whether a job that is no larger failed here with no lower priority.

        What starts in between takes room only; for what stops see `_forget`.
        """
        return any(
            other.tasks <= request.tasks
            and p <= priority
            and all(a <= b for a, b in zip(other.need, request.need, strict=True))
            for other, p in self.failed.get((site, request.kind), ())
        )

    def score(self, jobs: Sequence[JobPlan], victims: Sequence[int]) -> Score:
        """Return the levels of starting a workload alone by a plan, without the size started.

        Their tuple is the plan's score **(D)**; the paper adds up scores of jobs by a formula that
        it does not print.
        """
        fleet = self.fleet
        counts = [0] * (MOST_PRIORITIES + 1)
        for v in victims:
            counts[fleet.priority[v]] += fleet.jobs[v]
        spread = 0
        for site in {job.site for job in jobs}:
            used = {m for job in jobs if job.site == site for m in job.machines.tolist()}
            spread += len(used) + len(set(fleet.sites[site].rack[list(used)].tolist()))
        return (*counts, sum(fleet.young[v] for v in victims), spread)

    def execute(self, ranked: Ranked, plan: Plan) -> None:
        """Start a workload by a plan."""
        fleet, instance = self.fleet, self.fleet.instance
        workload = instance.pending[ranked.position]
        if plan.victims:
            fleet.stop(plan.victims)
            self.preempt += plan.victims
            self._forget(plan.victims)
        placed = {}
        requests = fleet.requests[ranked.position]
        for job, request, own in zip(workload.jobs, requests, plan.jobs, strict=True):
            fleet.take(own.site, request, own.machines, own.tasks)
            site = fleet.sites[own.site]
            on = {
                instance.machine_name(int(m) + site.machines.start): int(n)
                for m, n in zip(own.machines, own.tasks, strict=True)
            }
            placed[job.id] = Placed(cluster=site.name, on=on)
        region = instance.regions[plan.region].id
        self.start[workload.id] = Started(region=region, jobs=placed)

    def _forget(self, victims: Sequence[int]) -> None:
        """Forget the failures of jobs that could not have preempted these victims **(D)**.

        The paper empties the cache after a pass and does not mention victims, whose room it would
        miss in another order than that of rank.

        A job fails if the room is not enough even without all workloads of lower priority. By rank,
        victims are of lower priority than every job that failed before: nothing is forgotten.
        """
        fleet = self.fleet
        highest: dict[int, int] = {}
        for v in victims:
            for s in fleet.where[v]:
                highest[s] = min(int(fleet.priority[v]), highest.get(s, MOST_PRIORITIES))
        for key, entries in self.failed.items():
            if key[0] in highest:
                entries[:] = [entry for entry in entries if entry[1] < highest[key[0]]]

    def solution(self) -> Solution:
        """Return what was started and preempted."""
        names = tuple(self.fleet.instance.running[v].id for v in self.preempt)
        return Solution(start=dict(self.start), preempt=names)
