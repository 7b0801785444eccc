"""The public simulator of Muri's authors (github.com/Rivendile/Muri), section 6 of the paper.

An event loop in floats, in which overhead is lost at every event that a job runs through. Rules
that are not in the paper, and accidents of the code, are kept: the aim is the printed figures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlsched.errors import UnknownName
from dlsched.simulation.cluster import Cluster
from dlsched.simulation.log import Log
from dlsched.simulation.published.muri.antman import AntMan
from dlsched.simulation.published.muri.group_time import SHARING, SHARING_UNMATCHED
from dlsched.simulation.published.muri.grouping import InOrder, Rounds
from dlsched.simulation.published.muri.jobs import states
from dlsched.simulation.published.muri.kinds import Kinds
from dlsched.simulation.published.muri.loop import Policy, replay
from dlsched.simulation.published.muri.recorder import Recorder
from dlsched.simulation.published.muri.servers import Servers
from dlsched.simulation.published.muri.sharing import Sharing
from dlsched.simulation.published.muri.shortest import Shortest
from dlsched.simulation.published.muri.stages import heaviest
from dlsched.simulation.published.muri.themis import Themis
from dlsched.simulation.published.muri.tiresias import Tiresias
from dlsched.simulation.workload import Workload

POLICIES: dict[str, Callable[[Servers], Policy]] = {
    "srtf": lambda servers: Shortest(servers, service=False),
    "srsf": lambda servers: Shortest(servers, service=True),
    "tiresias": Tiresias,
    "antman": AntMan,
    "themis": Themis,
}


def muri(servers, known, method, largest=4, split=False, worst=False):
    kinds = Kinds(SHARING_UNMATCHED if method == "in_order" else SHARING, worst)
    grouping = InOrder(largest) if method == "in_order" else Rounds(kinds, largest, heaviest)
    return Sharing(servers, kinds, grouping, known=known, largest=largest, split=split)


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
    if policy_name.startswith("muri"):
        policy = muri(servers, policy_name == "muri_s", method, **options)
    else:
        policy = POLICIES[policy_name](servers)
    recorder = Recorder(log, [server.id for server in cluster.servers], method)
    end = replay(jobs, policy, recorder, on_progress)
    # Opportunistic jobs use the GPUs of guaranteed ones.
    log.commit(end=end, **({"layers": "priority"} if policy_name == "antman" else {}))
