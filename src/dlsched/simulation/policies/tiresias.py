"""Tiresias: queues by attained service, jobs move down as they attain more (Gu et al., 2019)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.schema import Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.jobs import Arrays, Vector
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.ordering import OrderingPolicy, of_job_alone
from dlsched.simulation.policies.typed import (
    held_by_type,
    rates_of,
    realize,
    require_one_type,
    supply,
)
from dlsched.simulation.workload.clock import seconds, ticks
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import TYPE
from dlsched.simulation.workload.workload import Workload


class Tiresias(OrderingPolicy):
    """Least attained GPU time first, in discrete queues; first come first served in each.

    A job is in queue i if its attained GPU time is at least the first i limits. Lower queues come
    first; jobs that run may be preempted by those of a lower queue, or of their own queue if these
    were submitted earlier. Besides arrivals and completions, it decides when a running job reaches
    a limit. Jobs are never promoted (PromoteKnob disabled, as in Hadar's comparison, section IV).

    Parameters
    ----------
    limits
        GPU-seconds at which a job moves down. The default is that of the simulator that Muri's
        authors published (section 6.1 names the defaults of the open-source code); Hadar's
        comparison has two queues, of which the paper gives no limit.
    interval
        Seconds between rounds; None, the default, to decide at events.
    one_type
        Whether all GPUs of a job are of one type: that which it holds, if enough of it are left,
        else the one with the most free GPUs **(D)**. Hadar's section IV-B says that Tiresias leaves
        GPUs of other types unused. Otherwise types are not distinguished.
    """

    name = "tiresias"

    def __init__(
        self,
        method: Any = None,
        *,
        limits: Sequence[Number] = (3250, 7200),
        interval: Number | None = None,
        one_type: bool = False,
    ) -> None:
        super().__init__(method)
        if any(a >= b for a, b in zip((0, *limits), limits, strict=False)):
            raise OptionError(f"limits={limits} must rise from above 0")
        self.limits = np.array([ticks(limit) for limit in limits], np.int64)
        self.interval = interval
        self.on_events = interval is None
        self.one_type = one_type
        self.keeps_to = frozenset((TYPE,)) if one_type else None

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job that asks for more GPUs than it can ever have."""
        super().check(workload, cluster)
        if self.one_type:
            require_one_type(self.name, workload, cluster)

    @of_job_alone
    def key(self, jobs: Arrays) -> Vector:
        """Return the queue of each job."""
        queue: Vector = np.searchsorted(self.limits, jobs.service, side="right")
        return queue

    def decide(self, state: State) -> Decision:
        """Return the changes, and when the next running job reaches a limit."""
        decision = self._by_type(state) if self.one_type else super().decide(state)
        if not self.on_events:
            return decision
        stopped = set(decision.preempt)
        on = [name for name in state.allocations if name not in stopped]
        jobs = state.vectors([*on, *decision.start])
        queue = self.key(jobs)
        moving = queue < len(self.limits)
        if not moving.any():
            return decision
        until_limit = self.limits[queue[moving]] - jobs.service[moving]
        wait = int(np.min(-(-until_limit // jobs.gpus[moving])))
        return replace(decision, wake=seconds(ticks(state.time) + wait))

    def _by_type(self, state: State) -> Decision:
        """Return the changes that make the first jobs of the order run, each on one type."""
        jobs = state.arrays
        free = supply(state)
        counts = {}
        for i in np.lexsort((jobs.job, self.key(jobs))):
            job = state.workload.jobs[jobs.job[i]]
            held = state.allocations.get(job.id)
            present = held_by_type(held, state.cluster) if held is not None else {}
            usable = sorted(rates_of(job, free), key=lambda k: (k not in present, -free[k]))
            for kind in usable:
                if free[kind] >= job.gpus:
                    counts[job.id] = {kind: job.gpus}
                    free[kind] -= job.gpus
                    break
        start, preempt = realize(state, counts)
        return Decision(start, preempt)
