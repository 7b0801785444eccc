"""Random reclaiming instances with the paper's statistics, and the paper's own example."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.schema import Instance

SIZES = {1: 0.36, 2: 0.16, 4: 0.16, 8: 0.20, 16: 0.08, 32: 0.03, 64: 0.01}
"""GPUs per job: a mean of 5.8, so that 700 jobs nearly fill the paper's 520 servers."""
PLACEMENTS = ("best_fit", "together", "shared", "remnants")
"""Where a job's workers go; see `generate`."""


def generate(
    rng: np.random.Generator,
    *,
    servers: int = 520,
    gpus: int = 8,
    jobs: int | None = None,
    demand: int | None = None,
    sizes: Mapping[int, float] = SIZES,
    placement: str = "best_fit",
    spread: float = 0.2,
    odd: float = 0.0,
    churn: float = 0.0,
    flexible: float = 0.0,
    scattered: int | None = None,
) -> Instance:
    """Fill on-loan servers with jobs.

    How a job's workers lie on the servers decides which rule comes closest to the optimum, and the
    paper does not print it; so it is a parameter here, in four parts: `placement`, `spread`, `odd`
    and `churn`. The paper's Figure 5 has jobs of 10 GPUs with 8 on a server of their own and 2 on
    a shared one: ``placement="remnants"`` with odd sizes.

    Parameters
    ----------
    servers, gpus
        Number of servers and of GPUs on each; the paper's inference cluster has 520 with 8. Of
        those, 291 can be on loan at a time: 42 % of the GPUs are in use in the quietest hours
        (Figure 1) and 2 % are never lent (section 7.1).
    jobs
        Jobs that arrive; one that does not fit is turned away. By default they arrive until the
        first is turned away.
    demand
        Servers to return; a tenth by default.
    sizes
        ``{GPUs of a job: weight}``. A job of n GPUs has workers of 1, 2, 4 or 8 GPUs, each size
        that divides n and fits a server being equally likely.
    placement
        ``"best_fit"``: each worker on the fullest server where it fits. ``"together"``: the whole
        job on one server by best fit, or, if it is larger than a server, on servers that nothing
        else may use. ``"shared"``: whole servers as far as the job fills them, and the rest of the
        job on one server shared with others, by best fit. ``"remnants"``: the same, but the rests
        of jobs larger than a server are gathered on servers that hold nothing else, as server 5 of
        Figure 5. Under the last three a job has one worker per server.
    spread
        Share of jobs whose workers must sit on distinct servers; for ``"best_fit"`` only.
    odd
        Share of jobs of more than 2 GPUs that get fewer GPUs than drawn: from more than half as
        many to one less, each number being equally likely.
    churn
        Departures, per job of the full fleet. Each is of a job drawn at random; then arrivals start
        in their order until one does not fit, which waits for the next departure (with `jobs`, one
        starts at most). So workers end up wherever GPUs became free.
    flexible
        Share of jobs with at least two workers that are elastic; half of their workers, rounded
        down, are flexible.
    scattered
        Give each of `jobs` jobs a base worker of 1 GPU on so many servers drawn at random instead,
        whatever is free: nothing separates and the linear relaxation says little, as in no
        fleet of practice. Then `sizes` and the parameters from `placement` to `flexible` mean
        nothing.
    """
    if servers < 1 or gpus < 1:
        raise OptionError("servers and gpus must be at least 1")
    if min(sizes, default=1) < 1:
        raise OptionError("sizes must be at least 1 GPU")
    if placement not in PLACEMENTS:
        raise OptionError(f"placement={placement!r} must be one of: {', '.join(PLACEMENTS)}")
    if not 0 <= churn < math.inf:
        raise OptionError(f"churn={churn} must be a number from 0")
    if scattered is None:
        fleet = _Fleet(rng, servers, gpus, sizes, placement, spread, odd, flexible)
        placed = fleet.fill(jobs, churn)
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


class _Arrival(NamedTuple):
    size: int
    worker: int
    apart: bool
    elastic: bool


class _Fleet:
    """The free GPUs of each server and the workers of each job, while jobs come and go."""

    def __init__(
        self,
        rng: np.random.Generator,
        servers: int,
        gpus: int,
        sizes: Mapping[int, float],
        placement: str,
        spread: float,
        odd: float,
        flexible: float,
    ) -> None:
        self.rng, self.gpus, self.placement = rng, gpus, placement
        self.spread, self.odd, self.flexible = spread, odd, flexible
        self.free = np.full(servers, gpus)
        self.closed = np.zeros(servers, dtype=bool)  # to other jobs
        self.gathers = np.zeros(servers, dtype=bool)  # remnants of larger jobs, and nothing else
        self.values = np.array(sorted(sizes))
        weights = np.array([sizes[v] for v in self.values.tolist()], dtype=float)
        self.shares = weights / weights.sum()
        self.running: list[list[dict[str, Any]]] = []

    def fill(self, jobs: int | None, churn: float) -> list[list[dict[str, Any]]]:
        """Return the workers of the jobs that run in the end."""
        waiting = self.draw()
        for _ in itertools.count() if jobs is None else range(jobs):
            if not self.start(waiting) and jobs is None:
                break
            waiting = self.draw()
        for _ in range(round(churn * len(self.running))):
            if self.running:
                self.leave(int(self.rng.integers(len(self.running))))
            while self.start(waiting):
                waiting = self.draw()
                if jobs is not None:
                    break
        return self.running

    def draw(self) -> _Arrival:
        """Draw the next job."""
        rng = self.rng
        size = int(rng.choice(self.values, p=self.shares))
        if self.odd and rng.random() < self.odd and size > 2:
            size = int(rng.integers(size // 2 + 1, size))
        fitting = [w for w in (1, 2, 4, 8) if w <= self.gpus and size % w == 0]
        worker = int(rng.choice(fitting))
        return _Arrival(
            size, worker, bool(rng.random() < self.spread), bool(rng.random() < self.flexible)
        )

    def start(self, job: _Arrival) -> bool:
        """Place a job if it fits; say whether it did."""
        if self.placement == "best_fit":
            where = best_fit(self.free, job.worker, job.size // job.worker, job.apart)
            held = [(s, job.worker) for s in where or ()]
        else:
            held = self.whole_servers(job.size)
        if not held:
            return False
        first_flexible = len(held) - len(held) // 2 if job.elastic else len(held)
        self.running.append(
            [
                {"server": f"s{s + 1}", "gpus": g, "flexible": i >= first_flexible}
                for i, (s, g) in enumerate(held)
            ]
        )
        return True

    def whole_servers(self, size: int) -> list[tuple[int, int]]:
        """Place a job on as few servers as it can, and book them.

        Returns
        -------
        list of (int, int)
            Servers with the GPUs taken there; empty, with nothing booked, if the job does not fit.
        """
        whole, rest = divmod(size, self.gpus)
        remnant = whole > 0 and rest > 0
        alone = whole + (remnant and self.placement == "together")
        empty = np.flatnonzero(self.free == self.gpus)
        if len(empty) < alone:
            return []
        own = empty[:alone].tolist()
        held = [(s, self.gpus) for s in own]
        if alone > whole:
            held[-1] = (own[-1], rest)
            self.closed[own[-1]] = True
        elif rest:
            free = np.where(self.closed, 0, self.free)
            free[own] = 0
            if self.placement == "remnants":
                free[(self.gathers != remnant) & (free < self.gpus)] = 0
            last = best_fit(free, rest, 1)
            if last is None:
                return []
            held.append((last[0], rest))
            self.gathers[last[0]] = remnant
        for s, taken in held:
            self.free[s] -= taken
        return held

    def leave(self, j: int) -> None:
        """End a job and free its GPUs; a server that it had for itself becomes free."""
        for worker in self.running.pop(j):
            s = int(worker["server"][1:]) - 1
            self.free[s] += worker["gpus"]
            if self.closed[s]:
                self.free[s], self.closed[s] = self.gpus, False
            if self.free[s] == self.gpus:
                self.gathers[s] = False


def best_fit(
    free: NDArray[np.int64], gpus: int, workers: int, apart: bool = False
) -> list[int] | None:
    """Place a gang of workers, each on the fullest server where it fits, and book their GPUs.

    Returns
    -------
    list of int or None
        Server of each worker; ``None``, with nothing booked, if they do not all fit.
    """
    chosen: list[int] = []
    left = free.copy()
    usable = left >= gpus
    for _ in range(workers):
        candidates = np.where(usable, left, np.iinfo(left.dtype).max)
        s = int(candidates.argmin())
        if not usable[s]:
            return None
        left[s] -= gpus
        usable[s] = left[s] >= gpus and not apart
        chosen.append(s)
    free[:] = left
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
