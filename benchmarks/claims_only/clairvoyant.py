"""What is possible if the future is known: list scheduling, with a local search over the order."""

import time
from typing import Final

import numpy as np
from numpy.typing import NDArray

from claims_only.list_order import ListOrder
from claims_only.list_search import Pooled, Whole
from dlsched.errors import OptionError
from dlsched.schema import Id
from dlsched.simulation.api import simulate
from dlsched.simulation.engine.jobs import Arrays
from dlsched.simulation.policies.muri import MuriS
from dlsched.simulation.policies.muri_seeded import SeededRounds
from dlsched.simulation.run import Simulation
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

MOVES: Final = 10_000
SHARING_MOVES: Final = 300
"""Moves of the search, unless others are asked for **(D)**."""
SIMULATED: Final = 4
"""Local optima that are simulated, the best on pooled servers first: the others cost a simulation
each **(D)**."""
PATIENCE: Final = 20
"""The search leaves an order after as many moves a job without improvement **(D)**."""
NEAR: Final = 8
"""Half of all insertions are at most as many places away **(D)**."""
SHARING_NEAR: Final = 12
"""With sharing, seven in ten insertions are at most as many places away **(D)**."""
_NEAR_SHARE: Final = 0.7
KICK: Final = 0.1
"""Share of the jobs that are moved when the search leaves an order **(D)**."""


def clairvoyant(
    workload: Workload,
    cluster: Cluster,
    *,
    iterations: int | None = None,
    seed: int = 0,
    preemptive: bool = False,
    sharing: bool = False,
    time_limit: float | None = None,
) -> Simulation:
    """Search for a schedule with a small mean completion time, knowing all jobs from the start.

    The schedules are those of `ListOrder`: jobs start in an order, each as soon as it
    fits beside those before it. A local search changes the order (a job moves to another place, two
    change places) and the one mode that a job may have (type of GPU, number of workers, CPUs and
    memory). It begins with the best of three orders: least GPU time, shortest, and first submitted;
    after many moves without improvement it goes on from the best order found, with some jobs moved.
    Moves are evaluated as if the servers of a cell were one; the best local optima and the start
    are then simulated on the servers, and the best simulation is returned.

    Its mean completion time is an upper bound on the least possible one, as a schedule of these
    jobs on these servers has it, which `Simulation.audit` confirms; `Simulation.bound` is a lower
    bound. Where servers are on loan, policies may be better: list schedules do not use them.

    With `sharing`, jobs share GPUs by interleaving their stages, and the schedules are those of
    ``muri_s`` with seeded groups in an order (`search_order`). There is no
    model of pooled servers for these: every move costs a simulation.

    Parameters
    ----------
    iterations
        Moves of the local search; the result depends on them and the seed only. None for 10,000,
        or 300 with sharing.
    seed
        Seed of the moves.
    preemptive
        Whether a job may stop for those before it; see `ListOrder`. With sharing it always may.
    sharing
        Whether jobs may share GPUs. They need stages.
    time_limit
        Seconds after which the search stops early, if it still runs; the simulations follow.

    Returns
    -------
    Simulation
        Of `ListOrder`, whose options are the order and the modes found; with sharing
        of ``muri_s``, and its order.

    Raises
    ------
    OptionError
        If `iterations` is negative.
    PolicyError
        If a job fits no servers.
    """
    if iterations is None:
        iterations = SHARING_MOVES if sharing else MOVES
    if iterations < 0:
        raise OptionError(f"iterations={iterations} must be from 0")
    if sharing:
        return search_order(workload, cluster, iterations, seed, time_limit)
    ListOrder().check(workload, cluster)
    search = _Search(Pooled.of(workload, cluster), preemptive, seed)
    begin = search.order, search.only
    search.run(iterations, time_limit)
    names = [job.id for job in workload.jobs]
    best: Simulation | None = None
    for order, only in (begin, *search.optima()):
        policy = ListOrder(
            order=[names[j] for j in order],
            modes={names[j]: int(only[j]) for j in np.flatnonzero(only >= 0)},
            preemptive=preemptive,
        )
        run = simulate(workload, cluster, policy)
        if best is None or run.summary["mean_jct"] < best.summary["mean_jct"]:
            best = run
    assert best is not None
    return best


class _Search:
    """A local search over the order and the modes.

    Attributes
    ----------
    order, only
        The jobs in the present order, and the one mode that each may have, -1 for all.
    value
        Their sum of completion times on pooled servers.
    """

    def __init__(self, pooled: Pooled, preemptive: bool, seed: int) -> None:
        self.pooled, self.preemptive = pooled, preemptive
        self.rng = np.random.default_rng(seed)
        jobs = len(pooled.submit)
        self.modes = np.diff(pooled.first)
        self.only: Whole = np.full(jobs, -1, np.int64)
        area = pooled.seconds * (pooled.uses / pooled.capacity).max(axis=1)
        starts = pooled.first[:-1]
        keys: list[NDArray[np.float64]] = [
            np.minimum.reduceat(area, starts),
            np.minimum.reduceat(pooled.seconds, starts),
            pooled.submit,
        ]
        orders = [np.argsort(key, kind="stable").astype(np.int64) for key in keys]
        values = [self._value(order, self.only, np.inf) for order in orders]
        self.order = orders[int(np.argmin(values))]
        self.value = min(values)
        self._found = {self.value: (self.order, self.only)}

    def _value(self, order: Whole, only: Whole, limit: float) -> float:
        return self.pooled.total(order, only, self.preemptive, limit)

    def optima(self) -> list[tuple[Whole, Whole]]:
        """Return the best orders and modes that the search has left, the best first."""
        return [self._found[value] for value in sorted(self._found)[:SIMULATED]]

    def run(self, iterations: int, time_limit: float | None) -> None:
        """Make moves; one that is no worse is kept."""
        jobs = len(self.order)
        if jobs < 2:
            return
        deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        idle = 0
        for _ in range(iterations):
            order, only = self._moved(self.order, self.only)
            value = self._value(order, only, self.value)
            idle = 0 if value < self.value else idle + 1
            if value <= self.value:
                self.order, self.only, self.value = order, only, value
            if idle >= PATIENCE * jobs:
                self._keep()
                self._kick()
                idle = 0
            if time.monotonic() > deadline:
                break
        self._keep()

    def _keep(self) -> None:
        self._found[self.value] = self.order, self.only

    def _kick(self) -> None:
        """Go on from the best order found, with some jobs moved."""
        order, only = self._found[min(self._found)]
        for _ in range(max(2, int(KICK * len(order)))):
            order, only = self._moved(order, only)
        self.order, self.only = order, only
        self.value = self._value(order, only, np.inf)

    def _moved(self, order: Whole, only: Whole) -> tuple[Whole, Whole]:
        """Return an order and modes after one random move."""
        rng, jobs = self.rng, len(order)
        kind = int(rng.integers(4))
        a, b = rng.integers(jobs, size=2).tolist()
        if kind == 0 and self.modes[a] > 1:
            only = only.copy()
            only[a] = rng.integers(-1, self.modes[a])
            return order, only
        order = order.copy()
        if kind == 1:
            order[[a, b]] = order[[b, a]]
            return order, only
        if kind == 2:
            b = min(max(a + int(rng.integers(-NEAR, NEAR + 1)), 0), jobs - 1)
        job = order[a]
        if a < b:
            order[a:b] = order[a + 1 : b + 1]
        else:
            order[b + 1 : a + 1] = order[b:a]
        order[b] = job
        return order, only


class InOrder(SeededRounds):
    """Groups that grow from the first jobs of an order that is given.

    The first job has the largest of the weights that the jobs present have by their remaining time.
    """

    def __init__(self, workload: Workload, order: list[Id]) -> None:
        super().__init__(workload, "srsf")
        place = {name: i for i, name in enumerate(order)}
        self.rank = np.array([place[job.id] for job in workload.jobs])

    def queue(self, present: Arrays) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the weights of the jobs present, and their positions in the order."""
        weights, _ = super().queue(present)
        order = np.argsort(self.rank[present.job])
        weights[order] = np.sort(weights)[::-1]
        return weights, order


def seeded(workload: Workload, order: list[Id] | None) -> MuriS:
    """Return Muri-S with seeded groups, in the order of all jobs if one is given."""
    policy = MuriS(interval=None, objective="seeded_speeds")
    if order is not None:
        policy._seeded = InOrder(workload, order)
    return policy


def search_order(
    workload: Workload, cluster: Cluster, iterations: int, seed: int, time_limit: float | None
) -> Simulation:
    """Return the best simulation of Muri-S with seeded groups over the orders that are tried.

    Each try moves a job to another place of the best order and simulates. It begins with the better
    of two orders: that in which the policy without an order completes the jobs, and least GPU time
    first.
    """

    def run_of(order: list[Id] | None) -> Simulation:
        return simulate(workload, cluster, seeded(workload, order))

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
        to = min(max(place + int(rng.integers(-SHARING_NEAR, SHARING_NEAR + 1)), 0), last)
    moved = order[:place] + order[place + 1 :]
    moved.insert(to, order[place])
    return moved
