"""The ways in which a job can run by itself: where, and with how many GPUs, CPUs and GB."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from dlsched.schema import Number
from dlsched.simulation.workload.cluster import LOAN, Cluster, Server
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix, Workload

Cell = tuple[str | None, ...]
"""Servers that a job's GPUs must all be on: region, cluster and type of GPU; or all servers."""


class Mode(NamedTuple):
    """One way in which a job can run.

    Attributes
    ----------
    seconds
        Its running time so, without overheads.
    cell
        Where its GPUs are.
    cpus, memory
        CPUs and GB of each GPU; 0 for a job without a matrix of throughput.
    """

    seconds: Fraction
    cell: Cell
    gpus: int
    cpus: Number = 0
    memory: Number = 0


class Modes:
    """The cells of a cluster, and the modes of each job of a workload, fastest first.

    Cells matter where servers have regions, or servers and jobs have types of GPUs; elsewhere all
    servers are one cell. Servers of the loan pool are in none.
    """

    def __init__(self, workload: Workload, cluster: Cluster) -> None:
        servers = [server for server in cluster.servers if server.pool != LOAN]
        typed = any(s.gpu_type for s in servers) and any(j.accepted_types for j in workload.jobs)
        apart = typed or any(s.region is not None for s in servers)
        self.cells: dict[Cell, list[Server]] = {}
        for server in servers:
            cell = (server.region, server.cluster, server.gpu_type) if apart else ()
            self.cells.setdefault(cell, []).append(server)
        self.of_job = [self._modes(job, workload) for job in workload.jobs]

    def _modes(self, job: Job, workload: Workload) -> list[Mode]:
        matrix = None if job.profile is None else workload.matrices[job.profile]
        points = [(Fraction(1), 0, 0)] if matrix is None else _points(matrix)
        worker = job.gpus_per_worker
        sizes = range(job.max_gpus, job.min_gpus - 1, -worker)
        modes = []
        for (cell, servers), gpus in product(self.cells.items(), sizes):
            rate = self._rate(job, cell)
            if not rate or sum(s.gpus // worker * worker for s in servers) < gpus:
                continue
            rate *= Fraction(job.throughput(gpus)) / Fraction(job.throughput(job.gpus))
            for relative, cpus, memory in points:
                if _room(servers, cpus, memory) >= gpus:
                    seconds = Fraction(job.work) / (rate * relative)
                    modes.append(Mode(seconds, cell, gpus, cpus, memory))
        return sorted(modes, key=lambda m: (m.seconds, m.gpus, m.cpus, m.memory))

    @staticmethod
    def _rate(job: Job, cell: Cell) -> Fraction:
        """Return a job's speed on the GPUs of a cell; 0 if it must not run there."""
        if not cell:
            return Fraction(1)
        region, _, kind = cell
        types = job.accepted_types
        if job.regions and region not in job.regions:
            return Fraction(0)
        if types and kind not in types and kind is not None:
            return Fraction(0)
        if job.rates and job.gpu_type is not None:
            return Fraction(job.rates.get(kind or "", 0)) / job.rates[job.gpu_type]
        return Fraction(1)


def _points(matrix: Matrix) -> list[tuple[Fraction, Number, Number]]:
    """Return speed, CPUs and memory per GPU where no other point is as fast for no more."""
    found = []
    for cpus, memory in product(matrix.cpus, matrix.memory):
        speed = matrix.speed(cpus, memory)
        if speed:
            found.append((speed, cpus, memory))
    return [
        point
        for point in found
        if not any(
            o[0] >= point[0] and o[1] <= point[1] and o[2] <= point[2] and o != point for o in found
        )
    ]


def _room(servers: Sequence[Server], cpus: Number, memory: Number) -> int:
    """Return the GPUs of a job with these CPUs and memory each that fit empty servers."""
    return sum(fitting(s.gpus, s.cpus, s.memory, cpus, memory) for s in servers)


def fitting(
    gpus: int, free_cpus: Number | None, free_memory: Number | None, cpus: Number, memory: Number
) -> int:
    """Return how many of a server's GPUs a job can have with these CPUs and memory each."""
    if cpus and free_cpus is not None:
        gpus = min(gpus, int(free_cpus // cpus))
    if memory and free_memory is not None:
        gpus = min(gpus, int(free_memory // memory))
    return gpus
