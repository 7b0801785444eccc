"""AntMan: guaranteed jobs hold GPUs, opportunistic ones run beside them on what these leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.layers import PRIORITY, is_opportunistic
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import JobView, State
from dlsched.simulation.engine.vectors import Vector
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.job import Job


class AntMan(BasePolicy):
    """AntMan as compared in Muri's section 6: first come first served, never preempted (6.3).

    Muri's text says no more of it; the rest follows the simulator that its authors published, less
    its accidents **(D)**. Jobs of priority 0, or without one, are guaranteed, all others are
    opportunistic. Both wait in the order of submission, the guaranteed ones first.

    A guaranteed job takes GPUs that no guaranteed job has, as if opportunistic ones were not there.
    One that does not fit keeps all behind it waiting: GPUs that come free are for it. (The public
    code reserves GPUs of one server, for each that waits.)

    An opportunistic job takes GPUs that no opportunistic job has: idle ones, or if these are too
    few those that guaranteed jobs have, on each server idle ones first. One that does not fit is
    skipped. On GPUs of guaranteed jobs, which it does not slow, it runs at the speed of
    `simulation.engine.speeds.idle_speed`: each stage is slowed to the share of the time in which
    they leave its resource idle. (The public code counts whole iterations of the guaranteed job,
    so that a job of short iterations does one while the other does one.)
    """

    name = "antman"
    layers = PRIORITY

    def __init__(self, method: Any = None) -> None:
        super().__init__(method)

    def decide(self, state: State) -> Decision:
        """Return the jobs that start."""
        if any(not any(view.job.stages) for view in state.waiting):
            raise OptionError("a job has no stages; take a trace that records them")
        floor = _Floor(state)
        start: dict[Id, Allocation] = {}
        for view in state.waiting:
            if not is_opportunistic(view.job):
                placed = floor.guarantee(view.job)
                if placed is None:
                    break
                start[view.id] = placed
        for view in state.waiting:
            if is_opportunistic(view.job) and view.job.gpus <= floor.room:
                placed = floor.squeeze(view.job)
                if placed is not None:
                    start[view.id] = placed
        return Decision(start)


class _Floor:
    """The GPUs of the servers, and whether jobs of each layer have them.

    Attributes
    ----------
    room
        GPUs without an opportunistic job.
    """

    def __init__(self, state: State) -> None:
        self.cluster = state.cluster
        self.names, self.index, sizes = state.cluster.order
        self.guaranteed, self.opportunistic = (
            [np.zeros(int(size), bool) for size in sizes] for _ in range(2)
        )
        for view in state.running:
            self._mark(view)
        self.room = sum(int(np.sum(~in_use)) for in_use in self.opportunistic)

    def _mark(self, view: JobView) -> None:
        assert view.allocation is not None, "it runs"
        layer = self.opportunistic if is_opportunistic(view.job) else self.guaranteed
        for share in view.allocation.shares:
            layer[self.index[share.server]][list(share.devices or ())] = True

    def guarantee(self, job: Job) -> Allocation | None:
        """Place a guaranteed job, on GPUs without opportunistic jobs first."""
        free = [~in_use for in_use in self.guaranteed]
        return self._place(job, free, self.opportunistic, self.guaranteed)

    def squeeze(self, job: Job) -> Allocation | None:
        """Place an opportunistic job, on idle GPUs if these suffice."""
        free = [~in_use for in_use in self.opportunistic]
        idle = [a & ~b for a, b in zip(free, self.guaranteed, strict=True)]
        placed = self._place(job, idle, self.guaranteed, self.opportunistic)
        placed = placed or self._place(job, free, self.guaranteed, self.opportunistic)
        if placed is not None:
            self.room -= job.gpus
        return placed

    def _place(
        self, job: Job, free: list[Any], avoided: list[Any], layer: list[Any]
    ) -> Allocation | None:
        """Take free GPUs, on each server those not avoided first, then the lowest numbers."""
        count: Vector = np.array([int(of_server.sum()) for of_server in free], np.int64)
        placed = Placement(self.cluster, count).place(job.gpus, job.gpus_per_worker)
        if placed is None:
            return None
        shares = []
        for share in placed.shares:
            i = self.index[share.server]
            usable = np.flatnonzero(free[i])
            best = usable[np.argsort(avoided[i][usable], kind="stable")][: share.gpus]
            layer[i][best] = True
            shares.append(Share(share.server, share.gpus, devices=tuple(sorted(best.tolist()))))
        return Allocation(tuple(shares))
