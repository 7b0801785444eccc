"""Random workers instances on Lyra's fleet, with the jobs that run there, and small examples."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.workers.definition.schema import KINDS, POOLS, Instance, Job, Kind, Pool
from dlsched.problems.workers.structures.fleet import (
    BestFit,
    Taken,
    place_base,
    place_workers,
    preferred,
    training_first,
)

SIZES = {1: 0.25, 2: 0.35, 4: 0.25, 8: 0.15}
"""Shares of the workers by their GPUs; ours."""
ON_LOAN = 291
"""Servers on loan at most: of 520, less 42 % that inference uses in the quietest hours (Lyra,
Figure 1), and 2 % that are never lent (section 7.1)."""
USED: dict[Pool, tuple[float, float]] = {"training": (0.8, 0.92), "loan": (0.93, 0.98)}
"""Range from which the share of GPUs in use is drawn: 86 % of training in the mean (Lyra, Table 5,
row 2), above 92 % on loan (section 7.3); the widths are ours."""
_INELASTIC = {1: 0.6, 2: 0.25, 4: 0.15}
_ELASTIC = {4: 1 / 3, 8: 1 / 3, 16: 1 / 3}
"""Base workers. With as many flexible ones, elastic jobs have 11 times the GPUs of others, so that
5 % of the jobs account for 36 % of the GPUs (Lyra, section 7.1)."""
_REFUSALS = 20
"""The fleet is full when this number of jobs in a row does not fit."""


@dataclass(frozen=True)
class Scenario:
    """Shares of jobs; ``scaled`` are elastic jobs with the base workers of inelastic ones."""

    fungible: float
    heterogeneous: float
    elastic: float = 0.05
    scaled: float = 0.0


SCENARIOS = {
    "basic": Scenario(0.21, 0.0),
    "advanced": Scenario(0.21, 0.1),
    "heterogeneous": Scenario(0.0, 0.1),
    "ideal": Scenario(0.21, 1.0, scaled=1.0),
}
"""Lyra's scenarios, section 7.1."""


def generate(
    rng: np.random.Generator,
    *,
    training: int = 443,
    loan: int = ON_LOAN,
    gpus: int = 8,
    jobs: int = 500,
    sizes: Mapping[int, float] = SIZES,
    scenario: str = "basic",
    admitted: bool = True,
    separate_groups: bool = True,
    training_used: float | None = None,
    loan_used: float | None = None,
) -> Instance:
    """Return a fleet on which jobs run, and waiting jobs.

    Jobs arrive and are placed by best fit until the fleet is full; then whole jobs leave, drawn at
    random, until the shares of GPUs in use are reached.

    Parameters
    ----------
    training, loan, gpus
        Servers of each pool and GPUs of each; the paper's training cluster has 443 with 8 (section
        7.1), and at most 291 of the 520 inference servers are on loan (Figure 1, section 7.1).
    jobs
        Waiting jobs that are drawn, of this library.
    sizes
        ``{GPUs of a worker: weight}``, of this library; those that fit no server are not drawn.
    scenario
        ``"basic"``, ``"advanced"``, ``"heterogeneous"`` or ``"ideal"`` (section 7.1): the shares of
        elastic, fungible and heterogeneous jobs, drawn independently.
    admitted
        Whether only jobs are kept up to the first whose GPUs do not fit those that are free in its
        pools, after those of the jobs before: so they have the shares of the scenario. Without it
        the order of the jobs decides how many a heuristic places.
    separate_groups
        As the field (section 5.3). The running jobs are placed accordingly; without groups all of
        them prefer training servers, as in Table 6.
    training_used, loan_used
        Shares of the GPUs in use, at most; by default drawn from 0.8 to 0.92 (0.86 in Table 5) and
        0.93 to 0.98 (above 0.92 in section 7.3).
    """
    return with_tenants(**locals())[0]  # all parameters


def with_tenants(
    rng: np.random.Generator,
    *,
    training: int = 443,
    loan: int = ON_LOAN,
    gpus: int = 8,
    jobs: int = 500,
    sizes: Mapping[int, float] = SIZES,
    scenario: str = "basic",
    admitted: bool = True,
    separate_groups: bool = True,
    training_used: float | None = None,
    loan_used: float | None = None,
) -> tuple[Instance, list[dict[str, Any]]]:
    """Return an instance as `generate` does, and the running jobs, for `to_reclaiming`."""
    if min(training, loan, jobs) < 0 or gpus < 1:
        raise OptionError("training, loan and jobs must be at least 0, gpus at least 1")
    if min(sizes, default=0) < 1 or min(sizes) > gpus:
        raise OptionError(f"sizes must have workers of 1 to {gpus} GPUs, and none below 1")
    if scenario not in SCENARIOS:
        raise OptionError(f"scenario={scenario!r} must be one of: {', '.join(SCENARIOS)}")
    used: dict[Pool, float] = {}
    for pool, given in zip(POOLS, (training_used, loan_used), strict=True):
        drawn = rng.uniform(*USED[pool])
        used[pool] = float(drawn) if given is None else given
        if not 0 <= used[pool] <= 1:
            raise OptionError(f"{pool}_used={given} must be from 0 to 1")
    servers: list[dict[str, Any]] = [
        {"id": f"{name}{s + 1}", "pool": pool, "gpus": gpus, "free": gpus}
        for name, pool, count in zip(("t", "loan"), POOLS, (training, loan), strict=True)
        for s in range(count)
    ]
    fields = {"name": "unnamed", "separate_groups": separate_groups}
    bare = Instance(**fields, servers=servers, jobs=())
    occupation = _Occupation(bare, _Draw(rng, SCENARIOS[scenario], sizes, gpus))
    occupation.fill()
    for pool in POOLS:
        occupation.leave(pool, used[pool])
    waiting = [occupation.draw.job(f"j{j + 1}") for j in range(jobs)]
    occupation.write(servers)
    if admitted:
        waiting = _fitting(waiting, servers)
    return Instance(**fields, servers=servers, jobs=waiting), occupation.tenants()


def _fitting(jobs: list[Job], servers: list[dict[str, Any]]) -> list[Job]:
    """Return the jobs before the first that does not fit; of them any pool's jobs have their share.

    Jobs that may use both pools take what others leave.
    """
    room = sum(server["free"] for server in servers)
    training = sum(server["free"] for server in servers if server["pool"] == "training")
    kept = []
    for job in jobs:
        gpus = (job.base + job.flexible) * job.gpus_per_worker
        confined = gpus if len(job.pools) == 1 else 0
        if confined > training or gpus > room:
            break
        training -= confined
        room -= gpus
        kept.append(job)
    return kept


class _Draw:
    """Draws jobs of a scenario."""

    def __init__(
        self, rng: np.random.Generator, scenario: Scenario, sizes: Mapping[int, float], gpus: int
    ) -> None:
        self.rng = rng
        self.scenario = scenario
        self.sizes = {size: share for size, share in sizes.items() if size <= gpus}

    def one_of(self, shares: Mapping[int, float]) -> int:
        """Draw a key with probability proportional to its value."""
        weights = np.array(list(shares.values()))
        return int(self.rng.choice(list(shares), p=weights / weights.sum()))

    def job(self, name: str, *, loanable: bool = False) -> Job:
        """Draw a job; with `loanable` one that may use loan servers."""
        scenario = self.scenario
        rng = self.rng
        large = bool(rng.random() < scenario.elastic)
        elastic = large or bool(rng.random() < scenario.scaled)
        base = self.one_of(_ELASTIC if large else _INELASTIC)
        size = self.one_of(self.sizes)
        fungible = bool(rng.random() < scenario.fungible)
        heterogeneous = bool(rng.random() < scenario.heterogeneous)
        if loanable and not (fungible or heterogeneous):
            fungible = scenario.fungible > 0
            heterogeneous = not fungible
        return Job(
            id=name,
            gpus_per_worker=size,
            base=base,
            flexible=base if elastic else 0,
            elastic=elastic,
            fungible=fungible,
            heterogeneous=heterogeneous,
        )


class _Occupation:
    """The running jobs and the free GPUs that they leave."""

    def __init__(self, bare: Instance, draw: _Draw) -> None:
        self.servers = bare.servers
        self.draw = draw
        self.fleet = BestFit(bare)
        self.pools = preferred if bare.separate_groups else training_first
        self.running: list[tuple[Job, dict[Kind, Taken]]] = []

    def fill(self) -> None:
        """Let jobs arrive until none that may use loan servers fits; others stop earlier."""
        refused = {False: 0, True: 0}
        while refused[True] < _REFUSALS:
            full = refused[False] >= _REFUSALS
            job = self.draw.job(f"r{len(self.running) + 1}", loanable=full)
            placed = place_base(self.fleet, job, self.pools)
            loanable = len(job.pools) > 1
            if placed is None:
                refused[loanable] += 1
                continue
            refused[loanable] = 0
            base, home = placed
            pools = self.pools(job, "flexible") if job.heterogeneous else (home,)
            more = place_workers(self.fleet, job, "flexible", job.flexible, pools)
            self.running.append((job, {"base": base, "flexible": more}))

    def leave(self, pool: Pool, share: float) -> None:
        """Let jobs leave, drawn at random, until at most a share of a pool's GPUs is in use."""
        members = {s for s, server in enumerate(self.servers) if server.pool == pool}
        gpus = [server.gpus for server in self.servers]
        most = share * sum(gpus[s] for s in members)
        order = self.draw.rng.permutation(len(self.running)).tolist()
        gone: set[int] = set()
        for r in order:
            if sum(gpus[s] - self.fleet.free[s] for s in members) <= most:
                break
            job, workers = self.running[r]
            servers = {s for places in workers.values() for s, _ in places}
            if servers & members:
                gone.add(r)
                for places in workers.values():
                    self.fleet.release(places, job.gpus_per_worker, gpus)
        self.running = [entry for r, entry in enumerate(self.running) if r not in gone]

    def write(self, servers: list[dict[str, Any]]) -> None:
        """Write free GPUs and groups into the servers' data."""
        for s, server in enumerate(servers):
            server["free"] = self.fleet.free[s]
            if self.fleet.group[s] in KINDS:
                server["group"] = self.fleet.group[s]

    def tenants(self) -> list[dict[str, Any]]:
        """Return the running jobs as a reclaiming instance has them."""
        return [
            {
                "id": job.id,
                "workers": [
                    {
                        "server": self.servers[s].id,
                        "gpus": count * job.gpus_per_worker,
                        "flexible": kind == "flexible",
                    }
                    for kind in KINDS
                    for s, count in workers[kind]
                ],
            }
            for job, workers in self.running
        ]


def examples() -> list[Instance]:
    """Return two small instances: separate groups, and one on which the two readings differ.

    The paper has no numbers for placement; both are ours.
    """
    moves = {"fungible": True}
    groups = {
        "name": "workers-two-groups",
        "servers": [
            {"id": "s1", "pool": "training", "gpus": 8, "free": 3},
            {"id": "s8", "pool": "loan", "gpus": 8, "free": 8},
            {"id": "s9", "pool": "loan", "gpus": 8, "free": 5, "group": "flexible"},
        ],
        "jobs": [
            {"id": "a", "gpus_per_worker": 2, "base": 3, "flexible": 2} | moves | {"elastic": True},
            {"id": "b", "gpus_per_worker": 1, "base": 2} | moves,
        ],
    }
    readings = {
        "name": "workers-two-readings",
        "servers": [{"id": "s1", "pool": "training", "gpus": 8, "free": 4}],
        "jobs": [
            {"id": "a", "gpus_per_worker": 2, "base": 1, "flexible": 1, "elastic": True},
            {"id": "b", "gpus_per_worker": 1, "base": 2},
        ],
    }
    envelope = {"dlsched": 1, "problem": "workers", "source": "of this library"}
    return [Instance.parse(envelope | data, "the generator") for data in (groups, readings)]
