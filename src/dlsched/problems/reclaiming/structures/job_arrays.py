"""Which job is on which server, as arrays for loops."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.solvers.arrays import Floats, Ints

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


def layout_of(instance: Instance) -> Layout:
    """Return an instance's layout."""
    base, held = instance.base_servers, instance.held
    held_at, where = _rows(held)
    based = np.fromiter(map(len, base), np.int64, len(base))
    # Without flexible workers a job's servers are all of them base servers.
    same = np.array_equal(based, np.diff(held_at))
    hosts_at, hosts = (held_at, where) if same else _rows(base)
    owners = np.repeat(np.arange(len(base)), based)
    counts = np.bincount(hosts, minlength=len(instance.servers))
    return Layout(
        np.array(comparable_weights(instance), dtype=np.float64),
        hosts_at,
        hosts,
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        owners[np.argsort(hosts, kind="stable")],
        held_at,
        where,
        np.fromiter(chain.from_iterable(map(dict.values, held)), np.int64, len(where)),
    )


def comparable_weights(instance: Instance) -> list[float]:
    """Return the weights in multiples of their common divisor, the same in any unit.

    They are exact if they are below 2**53 multiples. If not, they are relative to the largest, and
    those less than about 1e-308 of it are 0.
    """
    weights = instance.weights
    if weights and weights.count(weights[0]) == len(weights):
        return [float(weights[0] > 0)] * len(weights)
    ratios = [weight.as_integer_ratio() for weight in weights]
    scale = math.lcm(*{denominator for _, denominator in ratios})
    whole = [numerator * (scale // denominator) for numerator, denominator in ratios]
    divisor = math.gcd(*whole) or 1
    largest = max(whole, default=0)
    if largest // divisor < _EXACT:
        return [float(weight // divisor) for weight in whole]
    return [weight / largest for weight in whole]


def _rows(rows: Sequence[Iterable[int]]) -> tuple[Any, Any]:
    """Return where each row begins, and all rows one after the other."""
    at = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=at[1:])  # type: ignore[arg-type]
    return at, np.fromiter(chain.from_iterable(rows), np.int64, at[-1])
