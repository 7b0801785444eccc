"""What is possible if the future is known and jobs share GPUs: a search over the order of jobs."""

from __future__ import annotations

import time

import numpy as np

from dlsched.schema import Id
from dlsched.simulation.api import simulate
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

NEAR = 12
"""Seven in ten insertions are at most as many places away **(D)**."""
_NEAR_SHARE = 0.7


def search_order(
    workload: Workload, cluster: Cluster, iterations: int, seed: int, time_limit: float | None
) -> Simulation:
    """Return the best simulation of Muri-S with seeded groups over the orders that are tried.

    Each try moves a job to another place of the best order and simulates. It begins with the better
    of two orders: that in which the policy without an order completes the jobs, and least GPU time
    first.
    """

    def run_of(order: list[Id] | None) -> Simulation:
        return simulate(
            workload, cluster, "muri_s", interval=None, objective="seeded_speeds", order=order
        )

    best = run_of(None)
    ends = best.jobs["end"].to_numpy()
    names = [job.id for job in workload.jobs]
    area = [float(job.work * job.gpus) for job in workload.jobs]

    order: list[Id] = []
    current: Simulation | None = None
    for key in (ends, area):
        tried = [names[j] for j in np.argsort(key, kind="stable").tolist()]
        run = run_of(tried)
        if current is None or run.summary["mean_jct"] < current.summary["mean_jct"]:
            order, current = tried, run
    assert current is not None
    rng = np.random.default_rng(seed)
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    for _ in range(iterations if len(names) > 1 else 0):
        if time.monotonic() > deadline:
            break
        tried = _moved(order, rng)
        run = run_of(tried)
        if run.summary["mean_jct"] <= current.summary["mean_jct"]:
            order, current = tried, run
    return min(best, current, key=lambda run: run.summary["mean_jct"])


def _moved(order: list[Id], rng: np.random.Generator) -> list[Id]:
    """Return an order with one job at another place, most often a near one."""
    last = len(order) - 1
    place = int(rng.integers(last + 1))
    to = int(rng.integers(last + 1))
    if rng.random() < _NEAR_SHARE:
        to = min(max(place + int(rng.integers(-NEAR, NEAR + 1)), 0), last)
    moved = order[:place] + order[place + 1 :]
    moved.insert(to, order[place])
    return moved
