"""Random reclaiming instances with the paper's statistics, and the paper's own example."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.schema import Instance

SIZES = {1: 0.36, 2: 0.16, 4: 0.16, 8: 0.20, 16: 0.08, 32: 0.03, 64: 0.01}
"""GPUs per job: a mean of 5.8, so that 700 jobs nearly fill the paper's 520 servers."""


def generate(
    rng: np.random.Generator,
    *,
    servers: int = 520,
    gpus: int = 8,
    jobs: int | None = None,
    demand: int | None = None,
    sizes: Mapping[int, float] = SIZES,
    spread: float = 0.2,
    flexible: float = 0.0,
    scattered: int | None = None,
) -> Instance:
    """Fill on-loan servers with jobs by best fit.

    Parameters
    ----------
    servers, gpus
        Number of servers and of GPUs on each; the paper's inference cluster has 520 with 8.
    jobs
        Jobs that arrive; one that does not fit is turned away. By default they arrive until the
        first is turned away.
    demand
        Servers to return; a tenth by default.
    sizes
        ``{GPUs of a job: weight}``. A job of n GPUs has workers of 1, 2, 4 or 8 GPUs, each size
        that divides n and fits a server being equally likely.
    spread
        Share of jobs whose workers must sit on distinct servers.
    flexible
        Share of jobs with at least two workers that are elastic; half of their workers, rounded
        down, are flexible.
    scattered
        Give each of `jobs` jobs a base worker of 1 GPU on so many servers drawn at random instead,
        whatever room there is: nothing separates and the linear relaxation says little, as in no
        fleet of practice. Then `sizes`, `spread` and `flexible` mean nothing.
    """
    if servers < 1 or gpus < 1:
        raise OptionError("servers and gpus must be at least 1")
    if min(sizes, default=1) < 1:
        raise OptionError("sizes must be at least 1 GPU")
    if scattered is None:
        placed = _best_fits(rng, servers, gpus, jobs, sizes, spread, flexible)
    elif jobs is None or not 1 <= scattered <= servers:
        raise OptionError(f"scattered must be from 1 to {servers} servers, for a number of jobs")
    else:
        placed = [
            [
                {"server": f"s{s + 1}", "gpus": 1}
                for s in sorted(rng.choice(servers, scattered, replace=False).tolist())
            ]
            for _ in range(jobs)
        ]
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "reclaiming",
        "name": "unnamed",
        "demand": max(1, servers // 10) if demand is None else demand,
        "servers": [{"id": f"s{s + 1}", "gpus": gpus} for s in range(servers)],
        "jobs": [{"id": f"j{j + 1}", "workers": workers} for j, workers in enumerate(placed)],
    }
    return Instance.parse(data, "the generator")


def _best_fits(
    rng: np.random.Generator,
    servers: int,
    gpus: int,
    jobs: int | None,
    sizes: Mapping[int, float],
    spread: float,
    flexible: float,
) -> list[list[dict[str, Any]]]:
    """Return the workers of the jobs that fit."""
    free = np.full(servers, gpus)
    values = np.array(sorted(sizes))
    weights = np.array([sizes[v] for v in values.tolist()], dtype=float)
    placed = []
    for _ in itertools.count() if jobs is None else range(jobs):
        size = int(rng.choice(values, p=weights / weights.sum()))
        fitting = [w for w in (1, 2, 4, 8) if w <= gpus and size % w == 0]
        worker = int(rng.choice(fitting))
        apart = bool(rng.random() < spread)
        elastic = bool(rng.random() < flexible)
        where = best_fit(free, worker, size // worker, apart)
        if where is None and jobs is None:
            break
        if where is None:
            continue
        first_flexible = len(where) - len(where) // 2 if elastic else len(where)
        placed.append(
            [
                {"server": f"s{s + 1}", "gpus": worker, "flexible": i >= first_flexible}
                for i, s in enumerate(where)
            ]
        )
    return placed


def best_fit(
    free: NDArray[np.int64], gpus: int, workers: int, apart: bool = False
) -> list[int] | None:
    """Place a gang of workers, each on the fullest server with room, and book their GPUs.

    Returns
    -------
    list of int or None
        Server of each worker; ``None``, with nothing booked, if they do not all fit.
    """
    chosen: list[int] = []
    room = free.copy()
    usable = room >= gpus
    for _ in range(workers):
        candidates = np.where(usable, room, np.iinfo(room.dtype).max)
        s = int(candidates.argmin())
        if not usable[s]:
            return None
        room[s] -= gpus
        usable[s] = room[s] >= gpus and not apart
        chosen.append(s)
    free[:] = room
    return chosen


def examples() -> list[Instance]:
    """Return the paper's Figure 5, to whose servers Table 1 gives three costs.

    The figure does not print every number; what is free is chosen as simply as possible: 8 GPUs
    per server, job a with 8 on each of its two, job b with 8.
    """
    jobs: dict[str, list[tuple[str, int]]] = {
        "a": [("1", 8), ("2", 8)],
        "b": [("3", 8)],
        "c": [("4", 8), ("5", 2)],
        "d": [("5", 2), ("6", 8)],
    }
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "reclaiming",
        "name": "lyra-fig5",
        "source": "Lyra (EuroSys'23), Figure 5 and Table 1; GPU counts of jobs a and b are ours",
        "demand": 2,
        "servers": [{"id": str(s), "gpus": 8} for s in range(1, 7)],
        "jobs": [
            {"id": job, "workers": [{"server": s, "gpus": g} for s, g in workers]}
            for job, workers in jobs.items()
        ],
    }
    return [Instance.parse(data, "the generator")]
