"""What a simulation costs by the number of jobs: processor seconds of one process each."""

import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from runs import Row

from dlsched.simulation import Cluster, Workload, simulate

SIZES, WEIGHTS = (1, 2, 4, 8, 16, 32), (60, 10, 12, 12, 4, 2)
"""GPUs of the synthetic jobs, and how many of each in a hundred."""
MEAN_SECONDS = 11_200
"""About the mean of the running times, which `load` refers to."""


def synthetic(count: int, servers: int, load: float) -> Workload:
    """Return jobs that arrive as a Poisson process; times are log-normal, up to 23 days."""
    rng = random.Random(count)
    gpus = sum(g * w for g, w in zip(SIZES, WEIGHTS, strict=True)) / 100
    rate, now, jobs = servers * 8 * load / (gpus * MEAN_SECONDS), 0.0, []
    for i in range(count):
        now += rng.expovariate(rate)
        work = round(min(rng.lognormvariate(8.2, 1.5), 2e6), 3)
        jobs.append({"id": f"j{i}", "submit": round(now, 3), "work": work})
        jobs[-1]["gpus"] = rng.choices(SIZES, WEIGHTS)[0]
    return Workload.parse({"name": "synthetic", "jobs": jobs}, "synthetic")


def one(policy: str, count: int, servers: int, load: float) -> Row:
    """Simulate into a file, and audit."""
    jobs = synthetic(count, servers, load)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        began = time.process_time()
        run = simulate(jobs, Cluster.uniform(servers, 8), policy, log=path)
        spent = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began = time.process_time()
        assert run.audit()
        decisions = [row[2] for row in run.log.rows("decisions")]
        return {
            "policy": policy, "jobs": f"{count:,}", "load": f"{load:g}",
            "longest queue": max(decisions), "decisions": len(decisions),
            "log, MB": path.stat().st_size / 1e6, "simulation, s": spent,
            "a decision, us": 1e6 * spent / len(decisions), "memory, MB": memory,
            "audit, s": time.process_time() - began, "mean JCT, h": run.summary["mean_jct"] / 3600,
        }  # fmt: skip


def scale(policies: Sequence[str], counts: Sequence[int], **where: float) -> Iterator[Row]:
    """Yield policies by the number of jobs, each in a process of its own for its memory."""
    fresh = multiprocessing.get_context("spawn")
    for policy in policies:
        for count in counts:
            with ProcessPoolExecutor(1, mp_context=fresh) as pool:
                yield pool.submit(one, policy, count, **where).result()
