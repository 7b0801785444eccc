"""Which job is on which server, as arrays for compiled loops."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.solvers.compilation import Floats, Ints, loop

_EXACT = 2**53
"""Whole numbers up to this, and their sums, are exact as doubles."""


class Layout(NamedTuple):
    """The jobs' servers, the servers' jobs, and the GPUs that jobs hold, by position.

    Rows of different lengths stand one after the other: row ``i`` of `hosts` is
    ``hosts[hosts_at[i] : hosts_at[i + 1]]``.

    Attributes
    ----------
    weight
        By job, in a unit that does not depend on the instance's.
    hosts_at, hosts
        By job: the servers with a base worker of it.
    jobs_at, jobs
        By server: the jobs with a base worker on it.
    held_at, held, gpus
        By job: the servers on which it has any worker, and its GPUs there.
    """

    weight: Floats
    hosts_at: Ints
    hosts: Ints
    jobs_at: Ints
    jobs: Ints
    held_at: Ints
    held: Ints
    gpus: Ints


@loop
def jobs_on(layout: Layout, server: int) -> Ints:
    """Return the jobs with a base worker on a server."""
    return layout.jobs[layout.jobs_at[server] : layout.jobs_at[server + 1]]


@loop
def hosts_of(layout: Layout, job: int) -> Ints:
    """Return the servers with a base worker of a job."""
    return layout.hosts[layout.hosts_at[job] : layout.hosts_at[job + 1]]


def layout_of(instance: Instance) -> Layout:
    """Return an instance's layout."""
    jobs: list[list[int]] = [[] for _ in instance.servers]
    for j, hosts in enumerate(instance.base_servers):
        for s in hosts:
            jobs[s].append(j)
    gpus = [list(held.values()) for held in instance.held]
    return Layout(
        np.array(comparable_weights(instance), dtype=np.float64),
        *_rows(instance.base_servers),
        *_rows(jobs),
        *_rows(instance.held),
        _rows(gpus)[1],
    )


def comparable_weights(instance: Instance) -> list[float]:
    """Return the weights in multiples of their common divisor, the same in any unit.

    They are exact if they are below 2**53 multiples. If not, they are relative to the largest, and
    those less than about 1e-308 of it are 0.
    """
    weights = instance.weights
    scale = math.lcm(*{weight.denominator for weight in weights})
    whole = [int(weight * scale) for weight in weights]
    divisor = math.gcd(*whole) or 1
    largest = max(whole, default=0)
    if largest // divisor < _EXACT:
        return [float(weight // divisor) for weight in whole]
    return [weight / largest for weight in whole]


def _rows(rows: Sequence[Collection[int]]) -> tuple[Ints, Ints]:
    """Return where each row begins, and all rows one after the other."""
    begins = np.array([0, *accumulate(map(len, rows))], dtype=np.int64)
    return begins, np.array(list(chain.from_iterable(rows)), dtype=np.int64)
