"""Policies that do not preempt, of those that do."""

import copy
from dataclasses import replace
from typing import Any

from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.policy import Policy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.divided import Passing
from dlsched.simulation.policies.ordering import QueuePolicy


def without_preemption(policy: Policy) -> Policy:
    """Return a policy that decides as another one, and lets running jobs run on where they are.

    One that orders jobs leaves the running ones out of its order. Of the decisions of others the
    starts of waiting jobs are taken for which there is room without preempting anybody.
    """
    if not getattr(policy, "preemptive", True):
        return policy
    if isinstance(policy, QueuePolicy):
        policy = copy.copy(policy)
        policy.preemptive = False
        return policy
    return Keeping(policy)


class Keeping(Passing):
    """Takes of another policy's decisions what starts on GPUs that are free."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.preemptive = False

    def decide(self, state: State) -> Decision:
        """Return the starts of the other policy for which there is room."""
        decision = super().decide(state)
        left = {
            view.server.id: [view.free, view.free_cpus, view.free_memory] for view in state.servers
        }
        # A group with a running job would stop that job's stretch, or move it.
        bound = {a.group for name, a in decision.start.items() if name in state.allocations}
        bound |= {a.group for a in state.allocations.values()}
        start: dict[str, Allocation] = {}
        placed: set[str] = set()
        for name, allocation in decision.start.items():
            group = allocation.group
            if name in state.allocations or (group is not None and group in bound):
                continue
            if group in placed or _take(left, allocation.shares):
                start[name] = allocation
                placed |= {group} if group is not None else set()
            elif group is not None:
                bound.add(group)
        overhead = {name: seconds for name, seconds in decision.overhead.items() if name in start}
        return replace(decision, start=start, preempt=(), overhead=overhead)


def _take(left: dict[str, list[Any]], shares: tuple[Share, ...]) -> bool:
    """Take what shares hold if there is as much; return whether there is."""
    wanted = [(share.server, (share.gpus, share.cpus, share.memory)) for share in shares]
    for server, amounts in wanted:
        for free, amount in zip(left.get(server, [0, 0, 0]), amounts, strict=True):
            if free is not None and amount is not None and amount > free:
                return False
    for server, amounts in wanted:
        left[server] = [
            free if free is None or amount is None else free - amount
            for free, amount in zip(left[server], amounts, strict=True)
        ]
    return True
