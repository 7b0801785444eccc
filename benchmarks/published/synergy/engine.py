"""The rounds of Synergy's public simulator (msr-fiddle/synergy, ``simulator``)."""

import json
import math
import time
from typing import Any

from dlsched.errors import InstanceError, UnknownName
from dlsched.problems.sensitivity.instances.state import Rounds, Wish
from dlsched.simulation.policies.synergy_rounds import OPT, server_size, throughput_tables
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload
from published.log import Log
from published.synergy.jobs import SimulatedJob
from published.synergy.mechanisms import Mechanism
from published.synergy.queue import KEYS, Queue
from published.synergy.record import Record

INTERVAL = 300
"""Seconds of a round."""


def run(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    log: Log,
    *,
    seed: int = 0,
    method: Any = None,
    order: str = "fifo",
    **options: Any,
) -> None:
    """Simulate as the public code does, and fill the log.

    Rounds start at multiples of 300 s, the first one at or after the first arrival. At each, every
    lease has ended; the jobs present are sorted and the mechanism allocates. A job does
    ``floor(300 / seconds per iteration)`` iterations in a round and ends with the round in which it
    has done all of its own.

    Where the public code reads the best case of a model, or of a job that a server's CPUs or memory
    limit, from constants or by interpolation, it is read from the matrix here, which is the same
    for one GPU at 3 CPUs per GPU.

    Parameters
    ----------
    method
        ``"tune"`` by default, ``"proportional"``, ``"greedy"``, ``"opt"`` (stage one, a bound on
        the round's throughput that servers need not attain), or a method of the problem
        sensitivity, as ``"exact"``.
    order
        One of ``fifo``, ``srtf``, ``las``, ``drf``, ``tetris``, ``ftf_least`` (or ``ftf``, the
        public code's), and ``ftf_largest``, which the public code does not have.
    **options
        Options of `dlsched.solve` for a method of sensitivity.

    Raises
    ------
    UnknownName
        If there is no such order.
    InstanceError
        If a job has no profile or no iterations, naming it.
    PolicyError
        Where the public code stops.
    """
    if order not in KEYS:
        raise UnknownName("order", order, KEYS)
    rounds = Rounds(server_size(cluster), throughput_tables(workload))
    mechanism = Mechanism("tune" if method is None else method, rounds, seed, options)
    names = [server.id for server in cluster.servers]
    record = Record(log, names, INTERVAL, mechanism.method == OPT)
    jobs = _jobs(workload, rounds)
    queue = Queue(jobs, order, mechanism.fair, mechanism.total)
    arrived = completed = 0
    now = 0.0
    while completed < len(jobs):
        if not len(queue.present):
            now = max(now, math.ceil(jobs[arrived].arrival / INTERVAL) * float(INTERVAL))
        while arrived < len(jobs) and jobs[arrived].arrival <= now:
            queue.add(arrived)
            arrived += 1
        began = time.perf_counter()
        waiting = len(queue.present) - len(record.open)
        placed = mechanism.decide(queue.sorted(now), order)
        queue.tried(mechanism.tried, now)
        seconds = time.perf_counter() - began
        record.round(now, waiting, placed, seconds, json.dumps({"method": str(mechanism.method)}))
        now += INTERVAL
        for job in placed:
            iterations = min(job.progress(INTERVAL), job.total - job.done)
            job.done += iterations
            job.attained += INTERVAL
            record.open[job.index].work += iterations
            if job.done >= job.total:
                record.complete(job.index, now)
                completed += 1
        queue.ran(placed, now)
    log.meta["end"] = now


def _jobs(workload: Workload, rounds: Rounds) -> list[SimulatedJob]:
    wishes = []
    for j, job in enumerate(workload.jobs):
        if job.profile is None or job.iterations is None or not job.iteration_time:
            raise InstanceError(
                f"workload {workload.name}",
                f"jobs[{j}]",
                "has no profile, iterations or iteration_time",
                'read the trace with profiles="synergy"',
            )
        wishes.append(Wish(job.id, job.profile, job.gpus))
    instance = rounds.instance(wishes)
    simulated = []
    for j, (job, wish) in enumerate(zip(workload.jobs, instance.jobs, strict=True)):
        best, share = instance.best_cases[wish.profile], instance.shares[wish.profile]
        simulated.append(
            SimulatedJob(
                index=j,
                gpus=job.gpus,
                profile=str(job.profile),
                arrival=float(job.submit),
                seconds=float(job.iteration_time or 0),
                total=job.iterations or 0,
                best=(job.gpus * float(best.cpus), job.gpus * float(best.memory)),
                fair=(job.gpus * float(share.cpus), job.gpus * float(share.memory)),
                best_speedup=float(best.throughput) / float(share.throughput),
            )
        )
    return simulated
