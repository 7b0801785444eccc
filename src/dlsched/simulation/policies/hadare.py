"""HadarE: copies of a job run on several nodes at once (Hadar, section V)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from dlsched.errors import OptionError
from dlsched.problems.utility.heuristics.hadare import Copies
from dlsched.problems.utility.instances import state as adapter
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
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


class HadarE(BasePolicy):
    """Each job is forked; Hadar decides which copies run, as section V-A has it.

    A copy holds as many GPUs as the job asks for, on one node. The steps left are divided by the
    rates of the copies, so that all of a job's copies end at the same time, and its speed is the
    sum of their rates. By section V, `Job.max_gpus` is `Job.gpus` times the number of nodes.

    In each round every job has a copy for each node, and Hadar (Algorithms 1 and 2, repaired)
    decides on all of them as on jobs: each has the utility of its job, and may run on its node
    alone. A job has as many copies at most as fit its `Job.max_gpus`: of more the fastest run, and
    Hadar decides again on what is free **(D)**.

    A job whose nodes change loses its restart overhead on all of them **(D)**. Rates are those of
    the workload: eq. 10, the estimate for rounds before they are measured, needs data of the nodes
    that the paper does not give.

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
    keeps_to = frozenset((TYPE,))
    on_events = False

    def __init__(
        self,
        method: Any = None,
        *,
        divided: bool = False,
        utility: str = "effective_throughput",
        interval: Number = 360,
    ) -> None:
        super().__init__(method)
        if utility not in adapter.UTILITIES:
            raise OptionError(f"utility={utility!r} is none of {', '.join(adapter.UTILITIES)}")
        self.divided, self.utility = divided, utility
        self.interval: Number = interval

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job of which no copy fits a node."""
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


def copies_on(job: Job, rates: Mapping[Id, Number]) -> Allocation:
    """Return what a job holds with a copy on each of some nodes, where it has these rates."""
    total = sum(map(Fraction, rates.values()))
    shares = tuple(Share(node, job.gpus) for node in rates)
    return Allocation(shares, speed=total / Fraction(base_rate(job)))
