"""The public simulator of Muri's authors: policies, methods and options by name.

An event loop in floats, in which overhead is lost at every event that a job runs through. Rules
that are not in the paper, and accidents of the code, are kept: the aim is the printed figures.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dlsched.errors import InstanceError, OptionError, UnknownName
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload
from published.log import Log
from published.muri.antman import AntMan
from published.muri.grouping import MATCHERS, Grouping, InOrder, Rounds
from published.muri.jobs import JobState, states
from published.muri.kinds import SHARING, SHARING_UNMATCHED, Kinds, Stages
from published.muri.loop import Policy, replay
from published.muri.optimum import Optimum
from published.muri.recorder import Recorder
from published.muri.servers import Servers
from published.muri.sharing import QueuedSharing, Sharing
from published.muri.shortest import Shortest
from published.muri.themis import Themis
from published.muri.tiresias import Tiresias

PLAIN: dict[str, Callable[..., Policy]] = {
    "srtf": lambda servers: Shortest(servers, service=False),
    "srsf": lambda servers: Shortest(servers, service=True),
    "tiresias": Tiresias,
    "antman": AntMan,
    "themis": Themis,
}
"""Policies that solve no problem of the library, by name."""
METHODS = (*MATCHERS, "in_order", "exact")
WEIGHTS = ("groups", "gpus")
LARGEST = max(SHARING)


def run(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    log: Log,
    *,
    seed: int = 0,
    method: str | None = None,
    **options: Any,
) -> None:
    """Simulate as the public code does, and fill the log. Work is in iterations.

    Parameters
    ----------
    policy
        ``srtf``, ``srsf``, ``tiresias``, ``antman``, ``themis``, ``muri_s`` or ``muri_l``.
    method
        What groups the jobs of Muri-S and Muri-L. ``"template"``, the default: rounds of matching,
        as the public code finds them, to the last digit. ``"muri"``: the same rounds with the
        heaviest matchings that rustworkx finds, of which there are many. ``"in_order"``: without
        Blossom, full groups in the order of priority. ``"exact"``: the best grouping of the
        selected jobs, proved by HiGHS (`Optimum`).
    **options
        Of Muri-S and Muri-L, see `make_sharing`; of Themis, ``interval``.

    Raises
    ------
    UnknownName
        If there is no such method.
    OptionError
        If the policy has no such option or method, or it cannot have this value.
    InstanceError
        If a job has not what the policy needs, naming it.
    PolicyError
        If jobs wait that fit nowhere.
    """
    shares = policy.startswith("muri_")
    servers = Servers(_sizes(cluster))
    jobs = _jobs(workload, stages=shares or policy == "antman")
    made_by = make_sharing if shares else PLAIN[policy]
    known = inspect.signature(made_by).parameters
    if unknown := [name for name in options if name not in known]:
        raise OptionError(f"{policy} has no option {unknown[0]!r}")
    if shares:
        method = "template" if method is None else method
        policy_object: Policy = make_sharing(servers, policy == "muri_s", method, seed, **options)
    elif method is not None:
        raise OptionError(f"{policy} solves no problem: it has no method {method!r}")
    else:
        policy_object = PLAIN[policy](servers, **options)
    recorder = Recorder(log, [server.id for server in cluster.servers], method)
    end = replay(jobs, policy_object, recorder)
    layers = {"layers": "priority"} if policy == "antman" else {}
    log.meta |= {"end": end, "slack": policy_object.arrival_slack or 0.0, **layers}


def make_sharing(
    servers: Servers,
    known: bool,
    method: str,
    seed: int = 0,
    *,
    max_group_size: int = LARGEST,
    worst_order: bool = False,
    split: bool = False,
    queues: bool = False,
    profile_error: float = 0.0,
    weigh_by: str = "groups",
) -> Sharing:
    """Return Muri-S, or Muri-L if durations are not known.

    Parameters
    ----------
    max_group_size
        Most jobs that share GPUs, 1 to 4 (Figure 12).
    worst_order
        Whether jobs that share GPUs take turns in the worst order (Figure 11).
    split
        Whether groups that lose time are dissolved. The printed figures are without, except for
        the mean completion time of Muri-L on trace 3, and for Figure 13.
    queues
        Of Muri-L: whether jobs are in the queues of Tiresias instead of in the order of attained
        service. Of the printed figures, only Muri-L of Figure 13 with one kind is so.
    profile_error
        Stages are known up to factors drawn from 1 minus to 1 plus this, one for each stage of each
        kind of job **(D)**; groups and their orders are chosen by these (Figure 14).
    weigh_by
        Of the method ``"exact"``: whether an efficiency counts once a group or once a GPU.
    """
    if method not in METHODS:
        raise UnknownName("method of Muri's published variant", str(method), METHODS)
    if max_group_size not in SHARING:
        raise OptionError(f"max_group_size={max_group_size!r} is not from 1 to {LARGEST}")
    if weigh_by not in WEIGHTS:
        raise UnknownName("weight of efficiencies", str(weigh_by), WEIGHTS)
    if queues and known:
        raise OptionError("queues=True is of muri_l only: Muri-S orders by remaining service")
    profiled = None
    if profile_error:
        profiled = _Profiler(profile_error, seed)
    kinds = Kinds(SHARING_UNMATCHED if method == "in_order" else SHARING, worst_order, profiled)
    grouping: Grouping
    if method == "in_order":
        grouping = InOrder(max_group_size)
    elif method == "exact":
        grouping = Optimum(kinds, max_group_size, weigh_by == "gpus")
    else:
        grouping = Rounds(kinds, max_group_size, MATCHERS[method])
    policy = QueuedSharing if queues else Sharing
    return policy(servers, kinds, grouping, known=known, largest=max_group_size, split=split)


class _Profiler:
    """Multiplies stages by random factors (section 6.4, impact of inaccurate profiling)."""

    def __init__(self, error: float, seed: int) -> None:
        if not 0 <= error <= 1:
            raise OptionError(f"profile_error={error!r} must be a share from 0 to 1")
        self.error, self.rng = error, np.random.default_rng(seed)

    def __call__(self, stages: Stages) -> Stages:
        factors = 1 + self.error * (2 * self.rng.random(len(stages)) - 1)
        return tuple(stage * factor for stage, factor in zip(stages, factors.tolist(), strict=True))


def _sizes(cluster: Cluster) -> list[int]:
    if cluster.loans:
        raise OptionError("Muri's published variant knows no loans; take them out of the cluster")
    return [server.gpus for server in cluster.servers]


def _jobs(workload: Workload, stages: bool) -> list[JobState]:
    """Return the jobs' states; reject jobs without what the policies need."""
    for i, job in enumerate(workload.jobs):
        missing = [name for name in ("iterations", "iteration_time") if not getattr(job, name)]
        if not job.gpus:
            missing.append("gpus")
        if stages and (len(job.stages) != 3 or sum(map(bool, job.stages)) < 2):
            missing.append("stages")
        if missing:
            raise InstanceError(
                f"workload {workload.name}",
                f"jobs[{i}].{missing[0]}",
                "is missing, or has fewer than two of the three stages above 0"
                if missing[0] == "stages"
                else "is missing or 0",
                'read a trace that states it, with profiles="muri" and resources=3',
            )
    return states(workload)
