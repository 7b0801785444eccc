"""Random reclaiming instances with the paper's statistics, and the paper's own example."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.reclaiming.definition.schema import Instance

SIZES = {1: 0.36, 2: 0.16, 4: 0.16, 8: 0.20, 16: 0.08, 32: 0.03, 64: 0.01}
"""GPUs per job and weights; ours, with a mean of 5.8."""
ELASTIC_SIZES = {8: 0.4, 16: 0.5, 32: 0.1}
"""The same of the base workers of elastic jobs; ours, with a mean of 14.4. By section 2.2 and Table
5 they have 2.4 times the GPUs of others: 5 % of the jobs run for 14.2 hours and have 36 % of the
GPU time in use; a job runs for 3.8 hours in the mean."""
ELASTIC_RUNNING = 0.19
"""Share of running jobs that are elastic, as follows from the same numbers."""
SCALED_OUT = 0.14
"""Share of elastic jobs that have flexible workers now; ours, so that servers with flexible workers
only are 53.5 % of the demand (section 7.2)."""
ON_LOAN = 291
"""Servers on loan at most: of the inference cluster's 520 with 8 GPUs, less 42 % that are in use in
the quietest hours (Lyra, Figure 1), and 2 % that are never lent (section 7.1)."""
PLACEMENTS = ("best_fit", "together", "shared", "remnants")
"""Rules that place a job's workers; see `generate`."""


def generate(
    rng: np.random.Generator,
    *,
    servers: int = ON_LOAN,
    gpus: int = 8,
    jobs: int | None = None,
    demand: int | None = None,
    sizes: Mapping[int, float] = SIZES,
    placement: str = "best_fit",
    spread: float = 0.2,
    odd: float = 0.0,
    churn: float = 0.0,
    flexible: float = ELASTIC_RUNNING,
    scattered: int | None = None,
) -> Instance:
    """Return servers on loan, filled with randomly drawn jobs.

    Which heuristic is closest to the optimum depends on how jobs are spread over servers, which the
    paper does not describe. Four parameters determine it: `placement`, `spread`, `odd` and `churn`.
    Jobs c and d of the paper's Figure 5 have 0.8 of their GPUs on a server of their own and 0.2 on
    a shared one (Table 1), as 8 and 2 of 10 GPUs: ``placement="remnants"`` with odd sizes.

    Parameters
    ----------
    servers, gpus
        Number of servers, see `ON_LOAN`, and of GPUs on each.
    jobs
        Number of arrivals; a job that does not fit is rejected. By default jobs arrive until the
        first is rejected, so that above 92 % of the GPUs are in use (section 7.3).
    demand
        Servers to return; a tenth of them by default, of this library. In the paper it is at times
        above 60 (section 7.3).
    sizes
        ``{GPUs of a job: weight}``, of this library. A job of n GPUs has workers of 1, 2, 4 or 8
        GPUs, each size that divides n and fits a server being equally likely.
    placement
        ``"best_fit"``: each worker on the fullest server where it fits. ``"together"``: the whole
        job on one server by best fit, or, if it is larger than a server, on servers of its own.
        ``"shared"``: whole servers as far as the job fills them, and the remaining GPUs on one
        server shared with other jobs, by best fit. ``"remnants"``: the same, but the remaining GPUs
        of jobs larger than a server share servers with each other only, as server 5 of Figure 5.
        With the last three a job has one worker per server.
    spread
        Share of jobs whose workers must sit on distinct servers, of this library; for
        ``"best_fit"`` only.
    odd
        Share of jobs of more than 2 GPUs whose number of GPUs n is replaced by a number drawn
        uniformly from n // 2 + 1 to n - 1; of this library.
    churn
        Departures per job of the full fleet, of this library. Each removes a job drawn at random;
        then arrivals start in their order until one does not fit, which waits for the next
        departure (with `jobs`, at most one starts). So workers are placed where GPUs became free.
    flexible
        Share of jobs that are elastic; 0.19 of the running ones, as follows from section 2.2 and
        Table 5. With ``"best_fit"`` elastic jobs are larger, a seventh of them have as many
        flexible workers as base workers (section 7.1, Ideal), and no server has workers of both
        kinds (section 5.3). Otherwise half of an elastic job's workers, rounded down, are flexible.
    scattered
        Give each of `jobs` jobs a base worker of 1 GPU on this number of servers drawn at random
        instead: an artificial fleet without separate components and with a weak linear relaxation.
        `sizes` and the parameters from `placement` to `flexible` are then ignored.
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
        held = fleet.fill(jobs, churn)
    else:
        held = _scattered(rng, servers, gpus, jobs, scattered)
    rows = []
    for j, places in enumerate(held):
        workers = [
            {"server": f"s{s + 1}", "gpus": count, "flexible": stops} for s, count, stops in places
        ]
        rows.append({"id": f"j{j + 1}", "workers": workers})
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "reclaiming",
        "name": "unnamed",
        "demand": max(1, servers // 10) if demand is None else demand,
        "servers": [{"id": f"s{s + 1}", "gpus": gpus} for s in range(servers)],
        "jobs": rows,
    }
    return Instance.parse(data, "the generator")


class _Place(NamedTuple):
    """Where a worker is, its GPUs, and whether it may stop alone."""

    server: int
    gpus: int
    flexible: bool


def _scattered(
    rng: np.random.Generator, servers: int, gpus: int, jobs: int | None, workers: int
) -> list[list[_Place]]:
    """Return jobs with a base worker of 1 GPU on each of some servers."""
    if jobs is None or not 1 <= workers <= servers:
        raise OptionError(f"scattered must be from 1 to {servers} servers, for a number of jobs")
    drawn = [sorted(rng.choice(servers, workers, replace=False).tolist()) for _ in range(jobs)]
    most = max(Counter(s for row in drawn for s in row).values(), default=0)
    if most > gpus:
        raise OptionError(f"gpus={gpus} must be at least {most}, the most that a server drew")
    return [[_Place(s, 1, False) for s in row] for row in drawn]


class _Arrival(NamedTuple):
    """A job: its GPUs, those of a worker, and whether workers must sit on distinct servers."""

    size: int
    worker: int
    apart: bool
    elastic: bool
    scaled_out: bool


@dataclass
class _Fleet:
    """The free GPUs of each server and the workers of each running job."""

    rng: np.random.Generator
    servers: int
    gpus: int
    sizes: Mapping[int, float]
    placement: str
    spread: float
    odd: float
    flexible: float

    def __post_init__(self) -> None:
        self.free = np.full(self.servers, self.gpus)
        self.closed = np.zeros(self.servers, dtype=bool)  # to other jobs
        self.gathers = np.zeros(self.servers, dtype=bool)  # remnants of larger jobs only
        self.group = np.full(self.servers, -1)  # 1 with flexible workers, 0 with others
        self.running: list[list[_Place]] = []

    def fill(self, jobs: int | None, churn: float) -> list[list[_Place]]:
        """Simulate arrivals and departures; return the workers of the jobs that run afterwards."""
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
        elastic = bool(rng.random() < self.flexible)
        larger = elastic and self.placement == "best_fit"
        size = _one_of(rng, ELASTIC_SIZES if larger else self.sizes)
        if self.odd and rng.random() < self.odd and size > 2:
            size = int(rng.integers(size // 2 + 1, size))
        fitting = [w for w in (1, 2, 4, 8) if w <= self.gpus and size % w == 0]
        worker = int(rng.choice(fitting))
        apart, scaled_out = rng.random(2) < (self.spread, SCALED_OUT)
        return _Arrival(size, worker, bool(apart), elastic, bool(scaled_out))

    def start(self, job: _Arrival) -> bool:
        """Place a job if it fits; return whether it does."""
        held = self.in_groups(job) if self.placement == "best_fit" else self.whole_servers(job)
        if held:
            self.running.append(held)
        return bool(held)

    def in_groups(self, job: _Arrival) -> list[_Place]:
        """Place base workers, and flexible ones if they fit, on servers of their groups.

        Nothing is placed, and the list is empty, if base workers do not fit.
        """
        held: list[_Place] = []
        for flexible in (False, True)[: 1 + (job.elastic and job.scaled_out)]:
            free = np.where(self.group == (not flexible), 0, self.free)
            where = best_fit(free, job.worker, job.size // job.worker, job.apart) or ()
            for s in where:
                self.free[s] -= job.worker
                self.group[s] = flexible
                held.append(_Place(s, job.worker, flexible))
            if not where:
                break
        return held

    def whole_servers(self, job: _Arrival) -> list[_Place]:
        """Place a job on as few servers as possible; the list is empty if it does not fit."""
        whole, rest = divmod(job.size, self.gpus)
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
        base = len(held) - len(held) // 2 if job.elastic else len(held)
        return [_Place(s, taken, i >= base) for i, (s, taken) in enumerate(held)]

    def leave(self, j: int) -> None:
        """Remove a job and free its GPUs; a server that was closed to others is opened."""
        for s, gpus, _ in self.running.pop(j):
            self.free[s] += gpus
            if self.closed[s]:
                self.free[s], self.closed[s] = self.gpus, False
            if self.free[s] == self.gpus:
                self.gathers[s], self.group[s] = False, -1


def _one_of(rng: np.random.Generator, weights: Mapping[int, float]) -> int:
    shares = np.array(list(weights.values()), dtype=float)
    return int(rng.choice(list(weights), p=shares / shares.sum()))


def best_fit(
    free: NDArray[np.int64], gpus: int, workers: int, apart: bool = False
) -> list[int] | None:
    """Place a gang of workers, each on the fullest server where it fits; update `free`.

    Returns
    -------
    list of int or None
        Server of each worker; ``None``, with `free` unchanged, if they do not all fit.
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
    """Return the paper's Figure 5; Table 1 gives three costs for each of its servers.

    Servers have 8 GPUs. The figure draws the GPUs of each job; the text states their shares only.
    The numbers are chosen here: jobs a and b with 8 on each of their servers, c and d with 8 and 2.
    With at most 2 of job a on each server, `lyra` would find the optimum with
    ``ties="collateral"``, too.
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
