"""The public simulator of Muri's authors (github.com/Rivendile/Muri), section 6 of the paper.

An event loop in floats, in which overhead is lost at every event that a job runs through. Rules
that are not in the paper, and accidents of the code, are kept: the aim is the printed figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dlsched.errors import UnknownName
from dlsched.simulation.cluster import Cluster
from dlsched.simulation.log import Log
from dlsched.simulation.published.muri.jobs import states
from dlsched.simulation.published.muri.loop import Policy, replay
from dlsched.simulation.published.muri.recorder import Recorder
from dlsched.simulation.published.muri.servers import Servers
from dlsched.simulation.published.muri.shortest import Shortest
from dlsched.simulation.workload import Workload

POLICIES: dict[str, Callable[[Servers], Policy]] = {
    "srtf": lambda servers: Shortest(servers, service=False),
    "srsf": lambda servers: Shortest(servers, service=True),
}


def run(
    workload: Workload,
    cluster: Cluster,
    policy_name: str,
    log: Log,
    *,
    seed: int = 0,
    method: str | None = None,
    on_progress: Callable[[float, int], None] | None = None,
    **options: Any,
) -> None:
    jobs = states(workload)
    servers = Servers([server.gpus for server in cluster.servers])
    policy = POLICIES[policy_name](servers)
    recorder = Recorder(log, [server.id for server in cluster.servers])
    end = replay(jobs, policy, recorder, on_progress)
    log.commit(end=end)
