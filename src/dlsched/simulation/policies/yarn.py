"""YARN-CS: first come first served without preemption, on GPUs of any type."""

from typing import Any

from dlsched.schema import Number
from dlsched.simulation.engine.decision import Decision
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.typed import held_by_type, rates_of, realize, supply
from dlsched.simulation.workload.eligibility import TYPE


class YarnCs(BasePolicy):
    """Apache YARN's capacity scheduler with one queue, as compared in Hadar's section IV.

    Ordering: that of submission; a job that does not fit stops those behind it, and jobs are never
    preempted. Types of GPUs are not distinguished: a job gets those on which it can run with the
    most free ones, of several types if needed **(D)**, and runs at the rate of the slowest.

    Parameters
    ----------
    interval
        Seconds of a round (section IV: six minutes). A job that completes within a round leaves
        its GPUs idle until the next **(D)**. None to decide at every arrival and completion.
    """

    name = "yarn_cs"
    preemptive = False
    keeps_to = frozenset((TYPE,))

    def __init__(self, method: Any = None, *, interval: Number | None = 360) -> None:
        super().__init__(method)
        self.interval = interval
        self.on_events = interval is None

    def decide(self, state: State) -> Decision:
        """Return the jobs that start."""
        free = supply(state)
        counts = {}
        for name, allocation in state.allocations.items():
            counts[name] = held_by_type(allocation, state.cluster)
            for kind, count in counts[name].items():
                free[kind] -= count
        for view in state.waiting:
            by_kind, need = {}, view.job.gpus
            usable = rates_of(view.job, free)
            for kind in sorted(usable, key=lambda kind: -free[kind]):
                count = min(need, free[kind])
                if count:
                    by_kind[kind] = count
                    need -= count
            if need:
                break
            counts[view.id] = by_kind
            for kind, count in by_kind.items():
                free[kind] -= count
        start, preempt = realize(state, counts)
        return Decision(start, preempt)
