"""A policy whose simulation begins with jobs that run already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.policy import Policy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.divided import Passing
from dlsched.simulation.policies.placement import Placement


class Carrying(Passing):
    """Starts some jobs on their recorded nodes at the first decision; another policy does the rest.

    Parameters
    ----------
    policy
        The other policy; it may preempt these jobs, if it preempts any.
    jobs
        The jobs that run already, the only ones that are submitted at time 0.
    """

    def __init__(self, policy: Policy, jobs: Sequence[Id]) -> None:
        super().__init__(policy)
        self._jobs = tuple(jobs)
        self.carried = len(self._jobs)

    def decide(self, state: State) -> Decision:
        """Return the starts of the jobs that run already, then what the other policy decides."""
        return super().decide(state) if state.number else Decision(self._starts(state))

    def _starts(self, state: State) -> dict[Id, Allocation]:
        """Return where these jobs run; one without recorded nodes is placed last."""
        index = state.cluster.order[1]
        free = state.free
        jobs = [state.workload.by_id[name] for name in self._jobs]
        start = {}
        for job in jobs:
            for server, gpus in job.nodes:
                free[index[server]] -= gpus
            if job.nodes:
                start[job.id] = Allocation(tuple(Share(*held) for held in job.nodes))
        placeless = [job for job in jobs if not job.nodes]
        return start | Placement(state.cluster, np.maximum(free, 0)).place_all(placeless)
