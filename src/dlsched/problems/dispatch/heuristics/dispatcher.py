"""Starting workloads one at a time: plans by region, the auction, the negative cache."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import Instance, Placed, Solution, Started
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.heuristics.job_plan import JobPlan, fill, plan_with_victims, view
from dlsched.problems.dispatch.structures.fleet import Barred, Fleet, Labels, Request
from dlsched.schema import Number

Sites: TypeAlias = Mapping[int, Sequence[int]]
"""Positions of the clusters that a workload may use, by region."""
Failures: TypeAlias = dict[tuple[int, int, Labels], list[tuple[Request, int]]]
"""Jobs that failed with the priority of their workload, by cluster, GPU type and labels."""


class Score(NamedTuple):
    """Jobs preempted by priority, youth of the victims, machines and racks; less is better."""

    lost: tuple[int, ...]
    youth: Number
    spread: int


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
        self.fleet = fleet
        self.cache = cache
        self.fewest = fewest
        self.preempts = preempts
        self.failed: Failures = {}
        self.start: dict[str, Started] = {}
        self.preempt: list[int] = []
        self.attempts = 0
        self.hits = 0
        self.failures = 0

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

    def everywhere(self, ranked: Ranked) -> Sites:
        """Return all clusters of the regions with a workload's tables."""
        return self.fleet.sites_of(self.fleet.instance.pending[ranked.position])

    def auction(self, ranked: Ranked, sites: Sites, one_cluster: bool = False) -> Plan | None:
        """Return the best plan of all regions; ties go to the earlier one **(D)**."""
        plans: list[Plan | None] = []
        for region, of_region in sites.items():
            choices = [[site] for site in of_region] if one_cluster else [of_region]
            plans += [self.plan(ranked, region, choice) for choice in choices]
        return min(filter(None, plans), key=lambda plan: plan.score, default=None)

    def plan(self, ranked: Ranked, region: int, sites: Sequence[int]) -> Plan | None:
        """Return a region's plan: job by job **(D)**, each in the cluster with the best plan.

        A job sees the machines as those before it in the file leave them, victims included.
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
            fleet.stop(victims, -1)
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
        priority = ranked.priority
        views = [
            view(self.fleet, site, request)
            for site in sites
            if not self._known_to_fail(site, request, priority)
        ]
        self.hits += len(sites) - len(views)
        plans = [JobPlan(seen.site, *fill(self.fleet, seen)) for seen in views if seen.suffices]
        if not plans:
            for seen in views:
                plan = None
                if self.preempts:
                    plan = plan_with_victims(self.fleet, seen, priority, fewest=self.fewest)
                if plan is not None:
                    plans.append(plan)
                    continue
                self.failures += 1
                if self.cache and not tentative:
                    key = (seen.site, request.kind, request.allowed)
                    failures = self.failed.setdefault(key, [])
                    failures.append((request, priority))
        return min(plans, key=lambda plan: self.score([plan], plan.victims), default=None)

    def _known_to_fail(self, site: int, request: Request, priority: int) -> bool:
        """Whether a job that is no larger failed here with no lower priority.

        What starts in between takes room only; for what stops see `_forget`.
        """
        return any(
            other.tasks <= request.tasks
            and p <= priority
            and all(a <= b for a, b in zip(other.need, request.need, strict=True))
            for other, p in self.failed.get((site, request.kind, request.allowed), ())
        )

    def score(self, jobs: Sequence[JobPlan], victims: Sequence[int]) -> Score:
        """Return the levels of starting a workload alone by a plan, without the size started.

        Their tuple is the plan's score **(D)**; the paper adds up scores of jobs by a formula that
        it does not print.
        """
        fleet = self.fleet
        lost = [0] * (MOST_PRIORITIES + 1)
        for v in victims:
            lost[fleet.priority[v]] += fleet.jobs[v]
        machines = {(job.site, m) for job in jobs for m in job.machines.tolist()}
        racks = {(site, fleet.sites[site].rack[m]) for site, m in machines}
        youth = sum(fleet.young[v] for v in victims)
        return Score(tuple(lost), youth, len(machines) + len(racks))

    def execute(self, ranked: Ranked, plan: Plan) -> None:
        """Start a workload by a plan."""
        self.occupy(ranked, plan)
        self.record(ranked, plan)

    def occupy(self, ranked: Ranked, plan: Plan) -> None:
        """Stop a plan's victims and take its machines."""
        self.fleet.stop(plan.victims)
        self.preempt += plan.victims
        self._forget(plan.victims)
        requests = self.fleet.requests[ranked.position]
        for request, job in zip(requests, plan.jobs, strict=True):
            self.fleet.take(job.site, request, job.machines, job.tasks)

    def record(self, ranked: Ranked, plan: Plan) -> None:
        """Keep where a workload starts for the solution."""
        fleet = self.fleet
        workload = fleet.instance.pending[ranked.position]
        placed: dict[str, Placed] = {}
        for job, of_job in zip(workload.jobs, plan.jobs, strict=True):
            machines = zip(of_job.machines.tolist(), of_job.tasks.tolist(), strict=True)
            on = {fleet.name(of_job.site, machine): tasks for machine, tasks in machines}
            placed[job.id] = Placed(cluster=fleet.sites[of_job.site].name, on=on)
        region = fleet.instance.regions[plan.region].id
        self.start[workload.id] = Started(region=region, jobs=placed)

    def _forget(self, victims: Sequence[int]) -> None:
        """Forget the failures of jobs that could not have preempted these victims **(D)**.

        By rank there are none: a job fails if even the room without all workloads of lower priority
        is not enough, and victims are of lower priority than every job that failed before.
        """
        fleet = self.fleet
        highest: dict[int, int] = {}
        for v in victims:
            for s in fleet.where[v]:
                highest[s] = min(int(fleet.priority[v]), highest.get(s, MOST_PRIORITIES))
        for (s, _, _), failures in self.failed.items():
            if s in highest:
                failures[:] = [(job, p) for job, p in failures if p < highest[s]]

    def solution(self) -> Solution:
        """Return what was started and preempted."""
        names = tuple(self.fleet.instance.running[v].id for v in self.preempt)
        return Solution(start=dict(self.start), preempt=names)


def filled(instance: Instance, solution: Solution, barred: Barred | None = None) -> Solution:
    """Return a feasible solution with more workloads: by priority, of equal priority by size."""
    fleet = Fleet(instance, barred)
    dispatcher = Dispatcher(fleet, preempts=False)
    fleet.stop(instance.running_index[name] for name in solution.preempt)
    order = startable(instance)
    for ranked in order:
        started = solution.start.get(ranked.workload)
        if started is None:
            continue
        jobs = instance.pending[ranked.position].jobs
        for job, request in zip(jobs, fleet.requests[ranked.position], strict=True):
            placed = started.jobs[job.id]
            s = fleet.site_index[placed.cluster]
            machines = np.array([fleet.position(s, name) for name in placed.on])
            fleet.take(s, request, machines, np.array(list(placed.on.values())))
    waiting = [ranked for ranked in order if ranked.workload not in solution.start]
    waiting.sort(key=lambda r: (r.priority, -instance.size(instance.pending[r.position])))
    dispatcher.dispatch(waiting, dispatcher.everywhere)
    return Solution(start={**solution.start, **dispatcher.start}, preempt=solution.preempt)
