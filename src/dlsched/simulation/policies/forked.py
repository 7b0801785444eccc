"""Copies of a job run on several nodes at once (Hadar, section V): HadarE, and a rule of ours."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from dlsched.errors import OptionError
from dlsched.problems.utility.heuristics.hadare import Copies
from dlsched.problems.utility.instances import state as adapter
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.jobs import JobView
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.typed import (
    base_rate,
    kind_of,
    rates_of,
    typed_state,
    views_by_submission,
)
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import TYPE
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload


class Forked(BasePolicy):
    """Each job is forked; its copies run on different nodes, and their steps add up.

    A copy holds as many GPUs as the job asks for, on one node. A job has as many copies at most as
    fit its `Job.max_gpus`, and one on a node; by section V, ``max_gpus`` is ``gpus`` times the
    number of nodes. The steps left are divided by the rates of the copies, so that all of a job's
    copies end at the same time, and its speed is the sum of their rates.

    Ordering: the time that a job would need with copies on all nodes, shortest first. In this order
    each job takes nodes, those on which it is slowest first, until they do the rest of its work
    within the round; fastest first if it may not have copies on all nodes. Nodes that are left then
    take copies in the same order. This is the rule of the method `forked` of ``utility``; HadarE
    leaves it to Hadar which copies run (section V-A): `HadarE`.

    A job whose nodes change loses its restart overhead on all of them **(D)**. Rates are those of
    the workload: eq. 10, the estimate for rounds before they are measured, needs data of the nodes
    that the paper does not give.

    Parameters
    ----------
    interval
        Seconds of a round.
    """

    name = "forked"
    keeps_to = frozenset((TYPE,))
    on_events = False

    def __init__(self, method: Any = None, *, interval: Number = 360) -> None:
        super().__init__(method)
        self.interval: Number = interval

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job of which no copy fits a node.

        Raises
        ------
        PolicyError
            Naming the job.
        """
        for job in workload.jobs:
            kinds = rates_of(job, map(kind_of, cluster.servers))
            nodes = (node.gpus for node in cluster.servers if kind_of(node) in kinds)
            largest = max(nodes, default=0)
            if job.gpus > largest:
                raise PolicyError(
                    f"policy {self.name}: each copy of job {job.id} needs {job.gpus} GPUs on one "
                    f"node, and the largest on which it can run has {largest}; leave the job out, "
                    "or take larger nodes"
                )

    def decide(self, state: State) -> Decision:
        """Return the copies of this round."""
        draft = _Draft(state)
        for view in draft.queue:
            missing = Fraction(view.remaining) * Fraction(base_rate(view.job))
            for node in draft.sorted_nodes(view.job):
                if missing > 0 and draft.take(view.job, node):
                    missing -= Fraction(draft.rate(view.job, node)) * Fraction(self.interval)
        for node in draft.free:
            for view in draft.queue:
                draft.take(view.job, node)
        start = {view.id: draft.allocation(view) for view in draft.queue if draft.held[view.id]}
        return Decision(start, [name for name in state.allocations if name not in start])


class _Draft:
    """A round in the making: free GPUs by node, the nodes of each job, and the jobs in order."""

    def __init__(self, state: State) -> None:
        self.free = {view.server.id: view.server.gpus for view in state.servers}
        self.kinds = {view.server.id: kind_of(view.server) for view in state.servers}
        self.held: dict[Id, list[Id]] = {}
        self._rates: dict[Id, Mapping[str, Number]] = {}
        order = views_by_submission(state)
        for view in order:
            self.held[view.id] = []
            self._rates[view.id] = rates_of(view.job, set(self.kinds.values()))
        able = [view for view in order if any(self.rate(view.job, node) for node in self.free)]
        self.queue = sorted(able, key=self._alone)

    def rate(self, job: Job, node: Id) -> Number:
        """Return the iterations per second of a copy on a node; 0 if it cannot run there."""
        return self._rates[job.id].get(self.kinds[node], 0)

    def sorted_nodes(self, job: Job) -> list[Id]:
        """Return the nodes, slowest first; fastest first if a job cannot have copies on all."""
        limited = job.max_gpus < job.gpus * len(self.free)
        return sorted(self.free, key=lambda node: self.rate(job, node), reverse=limited)

    def _alone(self, view: JobView) -> Fraction:
        """Return the time that a job needs with copies on all nodes."""
        total = sum(Fraction(self.rate(view.job, node)) for node in self.free)
        return Fraction(view.remaining) * Fraction(base_rate(view.job)) / total

    def take(self, job: Job, node: Id) -> bool:
        """Put a copy on a node if it fits; return whether it does."""
        nodes = self.held[job.id]
        fits = (
            self.rate(job, node) > 0
            and self.free[node] >= job.gpus
            and node not in nodes
            and (len(nodes) + 1) * job.gpus <= job.max_gpus
        )
        if fits:
            self.free[node] -= job.gpus
            nodes.append(node)
        return fits

    def allocation(self, view: JobView) -> Allocation:
        """Return what a job holds, in the order of the nodes."""
        nodes = [node for node in self.free if node in self.held[view.id]]
        return copies_on(view.job, {node: self.rate(view.job, node) for node in nodes})


def copies_on(job: Job, rates: Mapping[Id, Number]) -> Allocation:
    """Return what a job holds with a copy on each of some nodes, where it has these rates."""
    total = sum(map(Fraction, rates.values()))
    shares = tuple(Share(node, job.gpus) for node in rates)
    return Allocation(shares, speed=total / Fraction(base_rate(job)))


class HadarE(Forked):
    """Each job is forked; Hadar decides which copies run, as section V-A has it.

    In each round every job has a copy for each node, and Hadar (Algorithms 1 and 2, repaired)
    decides on all of them as on jobs: each has the utility of its job, and may run on its node
    alone. Copies add up as with `Forked`, which has a rule of ours in its place. A job has as many
    copies at most as fit its `Job.max_gpus`: of more the fastest run, and Hadar decides again on
    what is free **(D)**.

    Parameters
    ----------
    divided
        Which work Hadar sees when it decides. Section V-B divides the steps left among the copies
        before a round; section V-A sends the copies to Hadar and does not say with which work
        **(D)**. False: that of the whole job. True: the copy's portion of the steps left, by
        throughput, so that all copies of a job would end at the same time.
    utility
        One of ``dlsched.problems.utility.instances.state.UTILITIES``, as for `hadar`.
    interval
        Seconds of a round.

    Raises
    ------
    OptionError
        If there is no such utility.
    """

    name: ClassVar[str] = "hadare"

    def __init__(
        self,
        method: Any = None,
        *,
        divided: bool = False,
        utility: str = "effective_throughput",
        interval: Number = 360,
    ) -> None:
        super().__init__(method, interval=interval)
        if utility not in adapter.UTILITIES:
            raise OptionError(f"utility={utility!r} is none of {', '.join(adapter.UTILITIES)}")
        self.divided, self.utility = divided, utility

    def decide(self, state: State) -> Decision:
        """Return the copies of this round."""
        kinds = {view.server.id: kind_of(view.server) for view in state.servers}
        views = {view.id: view for view in views_by_submission(state)}
        servers = ((view.server, view.server.gpus) for view in state.servers)
        seen = typed_state(state, views.values(), servers)
        rounds = adapter.moment(seen, slot_seconds=self.interval, utility=self.utility)
        instance = rounds.instance
        copies = Copies(
            instance,
            self.divided,
            adapter.factors(instance, self.utility),
            [max(1, views[job.id].job.max_gpus // job.workers) for job in instance.jobs],
        )
        start = {}
        for j, nodes in copies.decide(rounds).items():
            job = views[instance.jobs[j].id].job
            rates = rates_of(job, kinds.values())
            rate_of_node = {node: rates[kind] for node, kind in kinds.items() if node in nodes}
            start[job.id] = copies_on(job, rate_of_node)
        solved: dict[str, Any] = {"method": "hadar"}
        if copies.scanned:
            solved["scanned"] = True
        idle = [name for name in state.allocations if name not in start]
        return Decision(start, idle, solved=solved)
