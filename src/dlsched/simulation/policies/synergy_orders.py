"""The orders over which Synergy is evaluated (sections 4.3, 5.1 and 5.7), as vectors of keys.

The order ``prices``, of this library, is by what the rest of a job costs at prices of GPUs, CPUs
and memory.

The prices are those at which the jobs present take the least time if every resource is one pool and
jobs may be divided at will: the linear program

    min T,  sum over m of v_km y_km >= W_k for each kind of job k,
            sum over k, m of u_rkm y_km <= capacity_r T for each resource r,

where a job of kind k has the throughput v_km with the amounts u_km, y_km is the time that jobs of k
run so, and W_k is the work left of all of them. Its dual has prices lambda >= 0 with
sum over r of lambda_r capacity_r = 1, and the cost of a unit of work kappa_k:

    max sum over k of W_k kappa_k,  kappa_k <= sum over r of lambda_r u_rkm / v_km for every m.

A job costs its remaining work times kappa_k, the least that its work takes of what is scarce; the
cheapest is first. With GPUs alone as a resource that is the order by remaining GPU time.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.simulation.engine.jobs import Arrays
from dlsched.simulation.engine.state import State
from dlsched.simulation.workload.clock import TICKS

Keys: TypeAlias = NDArray[np.float64]
ORDERS: Final = ("fifo", "srtf", "las", "ftf_largest", "ftf_least", "drf", "tetris", "prices")
"""The orders by name; ``"srtf"`` is by remaining time, ``"las"`` by attained GPU time."""


class Demands(NamedTuple):
    """What a job of each kind can take, as shares of the cluster for one unit of work.

    Attributes
    ----------
    kind
        The kind of every job of the workload, by its position.
    shares
        By kind an array of shape (choices, 3): GPUs, CPUs and memory as shares of the cluster's,
        divided by the throughput relative to that of the proportional share.
    """

    kind: NDArray[np.int64]
    shares: Sequence[Keys]


class Best(NamedTuple):
    """The best case (section 3.2) of every job of the workload, by its position.

    Attributes
    ----------
    speedup
        Throughput, relative to that of the proportional share.
    shares
        Its GPUs, CPUs and memory as shares of the cluster's, shape (jobs, 3).
    demands
        What jobs of its kind can take beside the best case.
    """

    speedup: Keys
    shares: Keys
    demands: Demands


def keys(order: str, state: State, jobs: Arrays, best: Best, quick: bool) -> Keys:
    """Return the keys by which an order of `ORDERS` sorts jobs, least first.

    ``"drf"``
        The dominant share of the best case.
    ``"tetris"``
        The remaining time, weighted by the sum of the best case's shares: a key of the job alone,
        as in the public code. Tetris itself takes into account how a demand is aligned with what a
        server has free.
    ``"ftf_least"``, ``"ftf_largest"``
        The finish-time fairness: the time since submission plus the remaining time, over the
        running time at the proportional share, which stands for that on a fair share of the cluster
        **(D)**. The authors' public code takes the least first; Themis, which the paper cites, the
        largest. The paper itself states no order.
    ``"prices"``
        What the rest of the job costs, see above.

    Parameters
    ----------
    quick
        Whether remaining times are those at the best case: for every method but
        ``"proportional"``, so that they differ in the allocation alone **(D)**. The paper states no
        speed; its public code takes the best case's for TUNE and GREEDY only.
    """
    left = jobs.remaining.astype(float)
    if order == "prices":
        return costs(best.demands, jobs.job, left)
    if quick:
        left = left / best.speedup[jobs.job]
    shares, found = best.shares[jobs.job], left
    if order == "fifo":
        found = jobs.submit.astype(float)
    elif order == "las":
        found = jobs.service.astype(float)
    elif order == "drf":
        found = shares.max(axis=1)
    elif order == "tetris":
        found = left * shares.sum(axis=1)
    elif order.startswith("ftf"):
        work = np.array([state.workload.jobs[j].known_ticks for j in jobs.job.tolist()], float)
        elapsed = float(state.time) * TICKS - jobs.submit.astype(float)
        found = (elapsed + left) / np.maximum(work, 1.0)
    return -found if order == "ftf_largest" else found


def demands(instance: Instance) -> Demands:
    """Return the demands of an instance's jobs, without choices that take no less of anything."""
    servers = instance.servers
    totals = [servers.count * x for x in (servers.gpus, servers.cpus, servers.memory)]
    numbers = {name: k for k, name in enumerate(instance.profiles)}
    kind = np.array([numbers[job.profile] for job in instance.jobs], dtype=np.int64)
    shares = []
    for name, profile in instance.profiles.items():
        base = instance.shares[name].throughput
        rows = [
            [
                float(Fraction(profile.gpus) * amount * base / (total * Fraction(throughput)))
                for amount, total in zip((1, cpus, memory), totals, strict=True)
            ]
            for cpus, row in zip(profile.cpus, profile.throughput, strict=True)
            for memory, throughput in zip(profile.memory, row, strict=True)
            if throughput
        ]
        shares.append(undominated(np.array(rows)))
    return Demands(kind, shares)


def undominated(rows: Keys) -> Keys:
    """Return the rows of which no other one has at most as much of everything."""
    rows = np.unique(rows, axis=0)
    less: NDArray[np.bool_] = np.all(rows[:, None, :] <= rows[None, :, :], axis=2)
    np.fill_diagonal(less, False)
    return rows[~less.any(axis=0)]


def costs(demands: Demands, jobs: NDArray[np.int64], work: Keys) -> Keys:
    """Return what the rest of each job costs at the prices of the jobs present.

    Parameters
    ----------
    jobs
        Positions of the jobs in the workload.
    work
        The work left of each, in microseconds at the proportional share.

    Returns
    -------
    array of shape (jobs,)
        The unit is arbitrary.
    """
    kinds, of_kind = np.unique(demands.kind[jobs], return_inverse=True)
    total = np.bincount(of_kind, weights=work, minlength=len(kinds))
    if not total.sum():
        return work
    prices = _prices([demands.shares[k] for k in kinds.tolist()], total / total.sum())
    each = np.array([(demands.shares[k] @ prices).min() for k in kinds.tolist()])
    rest: Keys = work * each[of_kind]
    return rest


def _prices(shares: Sequence[Keys], work: Keys) -> Keys:
    """Return the optimal prices, of the whole cluster's GPUs, CPUs and memory; their sum is 1."""
    from scipy.optimize import linprog

    rows = np.concatenate(shares)
    owner = np.repeat(np.arange(len(shares)), [len(part) for part in shares])
    cost_of_kind = (owner[:, None] == np.arange(len(shares))[None, :]).astype(float)
    resources = rows.shape[1]
    result = linprog(
        np.concatenate([np.zeros(resources), -work]),
        A_ub=np.hstack([-rows, cost_of_kind]),
        b_ub=np.zeros(len(rows)),
        A_eq=np.concatenate([np.ones(resources), np.zeros(len(shares))])[None, :],
        b_eq=np.ones(1),
        method="highs",
    )
    if result.x is None:  # the program is feasible and bounded; a solver may fail all the same
        return np.full(resources, 1 / resources)
    prices: Keys = np.maximum(result.x[:resources], 0.0)
    return prices
