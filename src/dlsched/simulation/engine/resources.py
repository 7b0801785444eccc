"""What is free on the servers, and what a decision may not do with it."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dlsched.schema import Flaw, Id, Number, exact
from dlsched.schema.quantities import LARGEST
from dlsched.simulation.engine.decision import Allocation, PolicyError, Share
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import obstacle
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix

LEAST: Final = Fraction(1, 10**300)
"""The least that a decision may state above 0; the most is that of all documents."""
MOST_BITS: Final = 4096
"""Most binary digits of numerator and denominator of what a decision states."""


class Resources:
    """What is free on the servers that may be used.

    Attributes
    ----------
    gpus
        Free GPUs by server.
    vector
        The same by position in the cluster; 0 for a server that may not be used.
    amounts
        Free CPUs and memory by server; None where the cluster states none.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.gpus: dict[Id, int] = {}
        names, self._index, _ = cluster.order
        self.vector = np.zeros(len(names), np.int64)
        self.amounts: dict[Id, list[Fraction | None]] = {}

    def open(self, servers: Iterable[Id]) -> None:
        """Make servers usable; they are empty."""
        for name in servers:
            server = self.cluster.by_id[name]
            self._set(name, server.gpus)
            self.amounts[name] = [
                None if amount is None else Fraction(amount)
                for amount in (server.cpus, server.memory)
            ]

    def shut(self, server: Id) -> None:
        """Take a server away.

        Raises
        ------
        PolicyError
            If a job is still on it.
        """
        if self.gpus.get(server) != self.cluster.by_id[server].gpus:
            raise PolicyError(f"server {server} is returned while jobs are on it; preempt them")
        self._set(server, 0)
        del self.gpus[server], self.amounts[server]

    def _set(self, server: Id, gpus: int) -> None:
        self.gpus[server] = self.vector[self._index[server]] = gpus

    def take(self, shares: Iterable[Share], job: Id) -> None:
        """Take what an allocation holds.

        Raises
        ------
        PolicyError
            If a server is not there, or has not as much.
        """
        for share in shares:
            free = self.gpus.get(share.server)
            if free is None:
                raise PolicyError(f"job {job}: there is no server {share.server} at this time")
            if share.gpus > free:
                raise PolicyError(
                    f"job {job}: {share.gpus} GPUs on {share.server}, which has {free} free"
                )
            self._set(share.server, free - share.gpus)
            self._change(share, -1, job)

    def give(self, shares: Iterable[Share]) -> None:
        """Give back what an allocation held."""
        for share in shares:
            self._set(share.server, self.gpus[share.server] + share.gpus)
            self._change(share, 1, "")

    def _change(self, share: Share, sign: int, job: Id) -> None:
        if share.cpus is None and share.memory is None:
            return
        amounts = self.amounts[share.server]
        for i, amount in enumerate((share.cpus, share.memory)):
            free = amounts[i]
            if amount is None or free is None:
                continue
            if sign < 0 and amount > free:
                raise PolicyError(
                    f"job {job}: {float(amount):g} {('CPUs', 'GB')[i]} on {share.server}, "
                    f"which has {float(free):g} free"
                )
            amounts[i] = free + sign * Fraction(amount)


def checked(
    job: Job,
    allocation: Allocation,
    cluster: Cluster,
    matrix: Matrix | None,
    usable: NDArray[np.bool_] | None,
) -> Allocation:
    """Return an allocation in exact numbers; refuse one that is not what the job can run with.

    With a matrix of throughput it has the CPUs and memory that the job holds, stated or not.

    Parameters
    ----------
    usable
        Whether the job may run on each server; None if it may on all.

    Raises
    ------
    PolicyError
        If it has fewer or more GPUs, a server twice, a share without GPUs or with part of a worker,
        a server where the job may not run, servers of both pools that it cannot use together, or an
        amount or a speed that is negative or no finite number.
    """
    names = [share.server for share in allocation.shares]
    gpus = allocation.gpus
    if not job.min_gpus <= gpus <= job.max_gpus:
        wanted: Number | str = job.gpus
        if job.min_gpus != job.max_gpus:
            wanted = f"{job.min_gpus} to {job.max_gpus}"
        raise PolicyError(f"job {job.id} gets {gpus} GPUs; it runs with {wanted}")
    if len(set(names)) != len(names) or any(share.gpus < 1 for share in allocation.shares):
        raise PolicyError(f"job {job.id}: each of its servers is named once, with a GPU or more")
    worker = job.gpus_per_worker
    if worker > 1 and (split := [share for share in allocation.shares if share.gpus % worker]):
        raise PolicyError(
            f"job {job.id}: {split[0].gpus} GPUs on {split[0].server}; "
            f"each of its workers has {worker} on one server"
        )
    if usable is not None:
        _check_servers(job, names, cluster, usable)
    shares = tuple(_exact(job, share) for share in allocation.shares)
    if matrix is not None:
        shares = tuple(_held(matrix, share, cluster) for share in shares)
    return Allocation(shares, allocation.group, amount(job, "speed", allocation.speed))


def _exact(job: Job, share: Share) -> Share:
    """Return a share in exact numbers; it itself if it has no others."""
    server, gpus, cpus, memory = share
    if type(gpus) is int and cpus is None and memory is None:
        return share
    return Share(server, int(gpus), amount(job, "CPUs", cpus), amount(job, "GB", memory))


def _held(matrix: Matrix, share: Share, cluster: Cluster) -> Share:
    server = cluster.by_id.get(share.server)
    if server is None:
        return share
    cpus, memory = matrix.proportional(server, share.gpus)
    return share._replace(
        cpus=cpus if share.cpus is None else share.cpus,
        memory=memory if share.memory is None else share.memory,
    )


def _check_servers(
    job: Job, names: Iterable[Id], cluster: Cluster, usable: NDArray[np.bool_]
) -> None:
    """Refuse servers where a job may not run, and both pools to all but heterogeneous jobs."""
    # Servers that the cluster does not have are refused where they are taken.
    servers = [cluster.by_id[name] for name in names if name in cluster.by_id]
    for server in servers:
        if not usable[cluster.order[1][server.id]]:
            reason = obstacle(job, server)
            raise PolicyError(f"job {job.id} may not run on server {server.id} by its {reason}")
    if len({server.pool == LOAN for server in servers}) > 1 and not job.heterogeneous:
        raise PolicyError(f"job {job.id} gets servers of both pools, but is not heterogeneous")


def amount(job: Job, what: str, value: Number | float | None) -> Number | None:
    """Return what a decision states for a job as an exact number.

    A float counts as the shortest decimal that reads as it, so that the log, which an interrupted
    simulation goes on with, has the same number.

    Raises
    ------
    PolicyError
        If it is negative or no finite number.
    """
    if value is None:
        return None
    try:
        number = value if isinstance(value, Fraction) else exact(value)
    except Flaw as flaw:
        raise PolicyError(f"job {job.id}: {what} {flaw}") from None
    digits = max(number.numerator.bit_length(), number.denominator.bit_length())
    if digits > MOST_BITS:
        raise PolicyError(
            f"job {job.id}: {what} is a fraction of {digits} binary digits; round it to {MOST_BITS}"
        )
    if number < 0:
        raise PolicyError(f"job {job.id}: {what} {value} is negative; give 0 or more")
    if not (number == 0 or LEAST <= number <= LARGEST):
        raise PolicyError(
            f"job {job.id}: {what} is not from {float(LEAST):g} to {float(LARGEST):g}; give 0, or "
            "a number within that range"
        )
    return number
