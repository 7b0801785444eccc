"""Records of our own simulations, as `sacct` prints them."""

import random
from pathlib import Path
from typing import Any

import pandas as pd

from dlsched import History, read_history
from dlsched.simulation import Cluster, Workload, simulate
from sacct_writer import write_sacct


def crowded(count: int, seed: int = 1) -> Workload:
    """Return jobs of several users on whole seconds, more than 16 GPUs can run at once."""
    rng = random.Random(seed)
    rows = []
    now = 0
    for i in range(count):
        now += rng.randrange(160)
        work = rng.randrange(60, 3000)
        row: dict[str, Any] = {"id": f"job{i}", "submit": now, "gpus": rng.choice([1, 1, 2, 4, 8])}
        row |= {"work": work, "estimate": work * rng.choice([1, 2, 5])}
        rows.append(row | {"tenant": rng.choice(["ann", "bob", "<b>eve</b>"])})
    return Workload.parse({"name": "crowded", "jobs": rows}, "crowded")


CLUSTER = Cluster.uniform(2, 8)
NODES = pd.DataFrame({"name": ["s1", "s2"], "gpus": [8, 8]})
ACCOUNTS = {"ann": "vision", "bob": "speech"}


def record(path: Path, count: int = 120, *, kept: float = 1.0, policy: str = "fifo") -> History:
    """Return the history of a simulation, of which a share of the rows is kept."""
    run = simulate(crowded(count), CLUSTER, policy)
    write_sacct(run, path, accounts=ACCOUNTS)
    if kept < 1:
        rng = random.Random(3)
        head, *rows = path.read_text().splitlines()
        path.write_text("\n".join([head, *(row for row in rows if rng.random() < kept)]) + "\n")
    return read_history(path, "sacct", timezone="UTC", nodes=NODES)
