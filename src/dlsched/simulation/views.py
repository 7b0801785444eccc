"""The jobs and servers that a state shows, made of what the engine keeps of them."""

from __future__ import annotations

from dlsched.simulation.cluster import Cluster
from dlsched.simulation.holdings import Holdings
from dlsched.simulation.resources import Resources
from dlsched.simulation.state import JobView, ServerView, number

Views = tuple[JobView, ...]


def job_views(holdings: Holdings, now: int) -> tuple[Views, Views]:
    """Return the jobs that wait and those that run, as they are at a time."""
    waiting = [j for j, progress in holdings.active.items() if progress.allocation is None]
    running = [holdings.position[name] for name in holdings.held]
    return (
        tuple(_view(holdings, j, now) for j in waiting),
        tuple(_view(holdings, j, now) for j in running),
    )


def _view(holdings: Holdings, j: int, now: int) -> JobView:
    progress = holdings.active[j]
    stretch = now - progress.since if progress.allocation is not None else 0
    first = progress.first_start
    return JobView(
        holdings.jobs[j],
        number(progress.left - progress.done(now)),
        number(progress.attained + stretch),
        number(progress.service + stretch * progress.gpus),
        progress.allocation,
        None if first is None else number(first),
        progress.preemptions,
    )


def server_views(cluster: Cluster, resources: Resources) -> tuple[ServerView, ...]:
    """Return the servers that may be used, in the cluster's order."""
    return tuple(
        ServerView(server, resources.gpus[server.id], *resources.amounts(server.id))
        for server in cluster.servers
        if server.id in resources.gpus
    )
