"""A policy that decides what a test wrote down, and the clusters of simulations by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlsched.simulation import Allocation, BasePolicy, Cluster, Decision, Share, State

ONE = Cluster.uniform(servers=1, gpus=1)
TWO = Cluster.uniform(servers=2, gpus=2)
LENT = Cluster.parse(
    {
        "servers": [{"id": "own", "gpus": 1}, {"id": "lent", "gpus": 1, "pool": "loan"}],
        "loans": [{"time": 50, "servers": 1}, {"time": 80, "servers": 0}],
    },
    "cluster",
)


class Scripted(BasePolicy):
    """Decides what was written down for a time, and nothing at others."""

    name = "scripted"

    def __init__(self, script: Mapping[Any, Decision], **attributes: Any) -> None:
        super().__init__()
        self.script = script
        self.times: list[Any] = []
        vars(self).update(attributes)

    def decide(self, state: State) -> Decision:
        """Return the decision of this time."""
        self.times.append(state.time)
        return self.script.get(state.time, Decision())


def on(*shares: tuple[Any, ...], group: str | None = None, speed: Any = None) -> Allocation:
    """Return an allocation of (server, GPUs) pairs."""
    return Allocation(tuple(Share(*share) for share in shares), group, speed)
