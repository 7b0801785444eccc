"""Records for tests: simulations of this library, written as a scheduler would print them."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pandas as pd

from dlsched import History
from dlsched.simulation import Cluster, Simulation, Workload, simulate

HEADER = (
    "JobID|JobIDRaw|User|Account|Partition|State|Submit|Eligible|Start|End|Elapsed|Timelimit|"
    "NNodes|NCPUS|NodeList|ReqTRES|AllocTRES|JobName"
)


def row(number: int = 1, **changes: str) -> str:
    """Return a row of sacct with some cells changed, by the names of the header."""
    cells = {
        "JobID": str(number),
        "JobIDRaw": str(number),
        "User": "ann",
        "Account": "lab",
        "Partition": "gpu",
        "State": "COMPLETED",
        "Submit": "2026-01-08T10:00:00",
        "Eligible": "2026-01-08T10:00:00",
        "Start": "2026-01-08T10:05:00",
        "End": "2026-01-08T10:15:00",
        "Elapsed": "00:10:00",
        "Timelimit": "01:00:00",
        "NNodes": "1",
        "NCPUS": "8",
        "NodeList": "n1",
        "ReqTRES": "billing=8,cpu=8,gres/gpu=2,mem=50M,node=1",
        "AllocTRES": "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=50M,node=1",
        "JobName": "train",
    }
    assert set(changes) <= set(cells)
    return "|".join((cells | changes).values())


@cache
def fifo(jobs: int = 2000, seed: int = 3, shortest: int = 1, gap: int = 220) -> Simulation:
    """Return a simulation of fifo on whole seconds, of jobs of up to 16 GPUs on 8 servers of 8."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    now = 0.0
    for j in range(jobs):
        now += rng.expovariate(1 / gap)
        rows.append(
            {
                "id": f"j{j}",
                "submit": int(now),
                "gpus": rng.choice([1, 1, 1, 2, 2, 4, 8, 16]),
                "work": max(shortest, int(rng.lognormvariate(7, 1))),
                "tenant": f"user{rng.randrange(9)}",
            }
        )
    workload = Workload.parse({"name": "own", "jobs": rows}, "test")
    return simulate(workload, Cluster.uniform(8, 8), "fifo")


def waits(history: History) -> list[float]:
    """Return the recorded waits in the order of submission."""
    outcome: pd.DataFrame = history.within().outcome()
    return outcome["wait"].tolist()
