"""Groups that grow from the first jobs of a queue, with a large weighted sum of speeds (ours).

Jobs get GPUs in order: one takes a place in an open group of as many GPUs, each open for `fill`
jobs, or opens a group if the GPUs suffice, whose seed it is. GPUs that are left go to groups of the
first jobs that fit. Then any job may be in any group of as many GPUs, and all seeds are in one. In
a group that takes time T a job whose stages sum to s runs at s / T of its speed alone; with a
weight w for each job the groups are to be worth

    sum over groups S of (sum over jobs j in S of w_j s_j) / T_S.

A local search: a waiting job joins a group, or takes the place of a job that is no seed; a job
moves to another group, or leaves if it is no seed; two jobs change places. Each step makes the
groups worth more. Jobs of a profile (equal GPUs and stages) are tried in the order of the queue,
and only as long as one finds a place.
"""

from __future__ import annotations

from typing import NamedTuple

from dlsched.problems.interleaving.structures.groups import Indices, Vector, unpadded
from dlsched.simulation.kernels.seeded_groups import grow


class Queue(NamedTuple):
    """Jobs in a queue.

    Attributes
    ----------
    stages
        Jobs x resources, not all 0 for any job; a group has at most as many jobs as there are
        resources.
    gpus, profile
        Of each job; jobs of a profile have equal GPUs and stages. Whole numbers from 0.
    weights
        Of each job, above 0; among jobs of a profile they do not rise along the order.
    order
        The jobs in the order of the queue.
    """

    stages: Vector
    gpus: Indices
    profile: Indices
    weights: Vector
    order: Indices


def seeded_groups(queue: Queue, budget: int, fill: int) -> list[tuple[int, ...]]:
    """Return groups of positions of jobs, on at most as many GPUs as the budget says.

    Parameters
    ----------
    fill
        Jobs for which a group counts when groups are opened, from 1. With as many as a group can
        have, groups are opened as by Muri's Algorithm 1.
    """
    return unpadded(grow(*queue, budget, fill))
