"""Random elastic epochs with the paper's statistics, and the paper's own examples."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import Instance
from dlsched.schema import Number

GPUS_PER_WORKER = {1: 0.4, 2: 0.3, 4: 0.2, 8: 0.1}
"""Weights of the GPUs per worker; chosen here, as the paper does not print its mix."""
LOSS = 0.2
"""Share of its speed that an added worker loses (Lyra, section 7.2)."""
SCALINGS = ("linear", "loss", "power_loss")
LOAN_SPEED = 0.3333
"""Speed of a GPU on loan; three servers on loan equal one training server (Lyra, section 7.5)."""
FUNGIBLE, HETEROGENEOUS = 0.21, 0.1
"""Shares of jobs in the scenario Advanced (Lyra, section 7.1)."""
MIXED_EFFICIENCY = 0.7
"""Share of its workers' speed that a job has on both kinds of GPU (Lyra, section 7.1)."""


def generate(
    rng: np.random.Generator,
    *,
    jobs: int = 100,
    items: int | None = None,
    capacity: int | None = None,
    running: float = 0.5,
    elastic: float = 0.6,
    scaling: str = "linear",
    gpus_per_worker: Mapping[int, float] = GPUS_PER_WORKER,
    max_base: int = 4,
    hours: tuple[float, float] = (0.1, 48.0),
    loan: int | None = None,
    loan_speed: float = LOAN_SPEED,
    fungible: float = FUNGIBLE,
    heterogeneous: float = HETEROGENEOUS,
    mixed_efficiency: float = MIXED_EFFICIENCY,
) -> Instance:
    """Return the randomly drawn jobs of one scheduling epoch.

    Parameters
    ----------
    jobs
        Number of jobs; ignored if `items` is given.
    items
        Draw jobs until the knapsack has this many items, choices that take GPUs, as in the paper's
        worst epoch of 354 items and 245 GPUs; the last job gets fewer workers if needed.
    capacity
        Free GPUs; by default 2 per job.
    running
        Share of jobs that run already; with 1 this is the paper's phase two.
    elastic
        Share of elastic jobs; their most workers are two to four times their least.
    scaling
        ``"linear"``; ``"loss"``: each added worker brings 0.8 of a base worker (section 7.2); or
        ``"power_loss"``, a variant of this library: the n-th added worker brings 0.8**n.
    gpus_per_worker
        ``{GPUs: weight}``.
    max_base
        Base workers are 1 to this.
    hours
        Range of the running time with the most workers, log-uniform, rounded to whole seconds.
    loan
        Free GPUs on loan. If given, the instance has two pools, and `capacity` is that of training;
        jobs and their times are those of the same seed without.
    loan_speed
        Speed of a GPU on loan; that of a training GPU is 1.
    fungible, heterogeneous
        Shares of jobs, of all jobs each; by default Lyra's Advanced scenario (section 7.1). Half of
        the fungible jobs that run have their base workers on loan.
    mixed_efficiency
        Share of its workers' speed that a job has on both kinds of GPU; 1 in Lyra's Ideal scenario.
    """
    if scaling not in SCALINGS:
        raise OptionError(f"scaling={scaling!r} must be one of: {', '.join(SCALINGS)}")
    sizes = np.array(sorted(gpus_per_worker))
    weights = np.array([gpus_per_worker[g] for g in sizes.tolist()], dtype=float)
    rows: list[dict[str, Any]] = []
    left = items
    for j in itertools.count() if items is not None else range(jobs):
        base = int(rng.integers(1, max_base + 1))
        most = base * int(rng.integers(2, 5)) if rng.random() < elastic else base
        runs = bool(rng.random() < running)
        if left is not None:
            if left == 0:
                break
            most = min(most, base + left - (not runs))
            left -= most - base + (not runs)
        seconds = int(3600 * hours[0] * (hours[1] / hours[0]) ** rng.random())
        row: dict[str, Any] = {
            "id": f"j{j + 1}",
            "gpus_per_worker": int(rng.choice(sizes, p=weights / weights.sum())),
            "min_workers": base,
            "max_workers": most,
            "running": runs,
        }
        if scaling == "linear" or most == base:
            row["min_running_time"] = max(1, seconds)
        else:
            row["running_times"] = lossy_times(
                max(1, seconds), base, most, power=scaling == "power_loss"
            )
        rows.append(row)
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "elastic",
        "name": "unnamed",
        "capacity": 2 * len(rows) if capacity is None else capacity,
        "jobs": rows,
    }
    if loan is not None:
        training = data.pop("capacity")
        _draw_kinds(rng, rows, fungible, heterogeneous)
        data["mixed_efficiency"] = mixed_efficiency
        data["pools"] = pools(training, loan, loan_speed)
    return Instance.parse(data, "the generator")


def pools(training: int, loan: int, loan_speed: float | Number) -> list[dict[str, Any]]:
    """Return the field ``pools``; GPUs of training have speed 1."""
    return [
        {"id": "training", "capacity": training, "speed": 1},
        {"id": "loan", "capacity": loan, "speed": loan_speed},
    ]


def _draw_kinds(
    rng: np.random.Generator, rows: list[dict[str, Any]], fungible: float, heterogeneous: float
) -> None:
    """Draw which jobs are fungible and heterogeneous, and where running ones have their base."""
    for row in rows:
        row["fungible"] = bool(rng.random() < fungible)
        row["heterogeneous"] = bool(rng.random() < heterogeneous)
        on_loan = bool(rng.random() < 0.5)
        if row["running"]:
            row["base_pool"] = "loan" if row["fungible"] and on_loan else "training"


def lossy_times(seconds: int, base: int, most: int, power: bool = False) -> list[int]:
    """Return running times in seconds from base to most workers when each added one loses 20 %.

    Lyra, section 7.2: the throughput that an added worker brings has a loss of 20 %, so it brings
    0.8 of a base worker. With `power` the n-th brings 0.8**n, a variant of this library. The last
    time is `seconds`; times are rounded to whole seconds.
    """
    keep = 1 - LOSS
    added = [keep**n if power else keep for n in range(1, most - base + 1)]
    speeds = np.cumsum([float(base), *added])
    return [max(1, round(seconds * speeds[-1] / s)) for s in speeds.tolist()]


def examples() -> list[Instance]:
    """Return the epochs of the paper's Tables 2 and 4 and of Figure 6, and one with two pools.

    Table 2: jobs A and B run with 2 to 6 workers, for at least 50 and 20 seconds, on 8 GPUs.
    Table 4: A with 2 to 3 workers for at least 100 seconds. Figure 6 shows the items of such jobs;
    there a worker of A takes 2 GPUs. The last one is that pair with GPUs on loan.
    """
    table2 = _pair("lyra-table2", "Tables 2 and 3", 8, (1, 6, 50), False)
    table4 = _pair("lyra-table4", "Table 4", 8, (1, 3, 100), False)
    fig6 = _pair("lyra-fig6", "Figure 6; the capacity is ours", 4, (2, 3, 100), True)
    return [table2, table4, fig6, _with_loan(fig6)]


def _with_loan(pair: Instance) -> Instance:
    """Return the pair of Figure 6 with 3 GPUs on loan, which B can use."""
    data = pair.to_data() | {
        "name": "lyra-fig6-loan",
        "source": "Lyra (EuroSys'23), Figure 6 and section 2.1; the capacities are ours",
        "pools": pools(2, 6, LOAN_SPEED),
    }
    del data["capacity"]
    data["jobs"][1] |= {"fungible": True, "base_pool": "loan"}
    third = {"id": "C", "gpus_per_worker": 1, "min_workers": 2, "max_workers": 3}
    data["jobs"].append({**third, "min_running_time": 60, "heterogeneous": True})
    return Instance.parse(data, "the generator")


def _pair(name: str, where: str, capacity: int, a: tuple[int, int, int], running: bool) -> Instance:
    fields = ("id", "gpus_per_worker", "max_workers", "min_running_time")
    jobs = [dict(zip(fields, row, strict=True)) for row in (("A", *a), ("B", 1, 6, 20))]
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "elastic",
        "name": name,
        "source": f"Lyra (EuroSys'23), {where}",
        "capacity": capacity,
        "jobs": [{"min_workers": 2, "running": running, **job} for job in jobs],
    }
    return Instance.parse(data, "the generator")
