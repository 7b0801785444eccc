"""How Lyra's jobs start, grow and shrink: what `lyra` does around the problems that it solves."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dlsched.registry.cluster_state import JobState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Share
from dlsched.simulation.engine.speeds import speed
from dlsched.simulation.policies.lyra_draft import Draft
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import LOAN, TRAINING, Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

POOLS = (TRAINING, LOAN)
Counts = Mapping[str, int]
"""Workers by pool."""


def known_time(job: Job, ticks: int) -> Fraction:
    """Return the remaining time in seconds that a scheduler takes for known, of the true one."""
    seconds = Fraction(ticks, TICKS)
    if job.estimate is not None and job.work:
        seconds *= Fraction(job.estimate) / Fraction(job.work)
    return seconds


def remaining_times(draft: Draft, names: Iterable[Id] | None = None) -> dict[Id, Number]:
    """Return the remaining time that a scheduler takes for known, of some jobs or all present."""
    state = draft.state
    arrays = state.arrays if names is None else state.vectors(names)
    jobs = state.workload.jobs
    rows = zip(arrays.job.tolist(), arrays.remaining.tolist(), strict=True)
    return {jobs[j].id: known_time(jobs[j], ticks) for j, ticks in rows}


def room_by_pool(draft: Draft) -> dict[str, int]:
    """Return by pool the GPUs that are idle or hold flexible workers."""
    room = dict.fromkeys(POOLS, 0)
    for server, gpus in draft.free.items():
        room[draft.servers[server].pool] += gpus
    for name in draft.held:
        for server, gpus in draft.flexible(name).items():
            room[draft.servers[server].pool] += gpus
    return room


def may_start(job: Job | JobState, room: Mapping[str, int]) -> bool:
    """Return whether the base demand of a job is no more than a pool that it may use has."""
    most = room[TRAINING]
    if job.heterogeneous:
        most += room[LOAN]
    elif job.fungible:
        most = max(most, room[LOAN])
    return job.min_gpus <= most


def make_room(draft: Draft, jobs: list[JobState]) -> list[JobState]:
    """Return the jobs, in order, whose base demand fits, and take back flexible workers for them.

    Of the workers of a pool those of the jobs started last are taken back first **(D)**.
    """
    room = room_by_pool(draft)
    chosen = []
    needed: Counter[str] = Counter()
    for job in jobs:
        if not may_start(job, room):
            continue
        chosen.append(job)
        missing = job.min_gpus
        for pool in _pools(job):
            gpus = min(missing, room[pool])
            if gpus == missing or job.heterogeneous:
                room[pool] -= gpus
                needed[pool] += gpus
                missing -= gpus
    for pool, gpus in needed.items():
        servers = [s for s in draft.free if draft.servers[s].pool == pool]
        lacks = gpus - sum(draft.free[s] for s in servers)
        for name in reversed(list(draft.held)):
            if lacks > 0:
                size = draft.jobs[name].gpus_per_worker
                lacks -= draft.shrink(name, -(-lacks // size) * size, servers)
    return chosen


def _pools(job: JobState) -> tuple[str, ...]:
    """Return the pools of base workers, the preferred one first (sections 5.3 and 6)."""
    if not (job.fungible or job.heterogeneous):
        return (TRAINING,)
    elastic = job.max_gpus > job.min_gpus and not job.heterogeneous
    return (LOAN, TRAINING) if elastic else (TRAINING, LOAN)


def by_pool(count: Any) -> dict[str, int]:
    """Return the workers of a solution of ``elastic`` by pool."""
    return dict(count) if isinstance(count, Mapping) else {TRAINING: int(count)}


def _workers(draft: Draft, name: Id) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for server, gpus in draft.held[name].items():
        counts[draft.servers[server].pool] += gpus // draft.jobs[name].gpus_per_worker
    return counts


def shrink_to(draft: Draft, name: Id, counts: Counts) -> None:
    """Take from a running job the flexible workers above its new numbers by pool."""
    size = draft.jobs[name].gpus_per_worker
    for pool, held in _workers(draft, name).items():
        surplus = held - counts.get(pool, 0)
        if surplus > 0:
            servers = [s for s in draft.held[name] if draft.servers[s].pool == pool]
            draft.shrink(name, surplus * size, servers)


def still_missing(draft: Draft, name: Id, counts: Counts) -> Iterator[tuple[Id, Any, int]]:
    """Yield (job, pool, workers) that a running job has fewer of than its new numbers by pool."""
    held = _workers(draft, name)
    missing = sum(counts.values()) - sum(held.values())
    for pool, count in counts.items():
        more = min(missing, count - held.get(pool, 0))
        if more > 0:
            yield name, pool, more
            missing -= more


def grow_if_faster(draft: Draft, name: Id, taken: Mapping[Id, int]) -> bool:
    """Give a job more GPUs, but no more than it can have, if it becomes faster by them.

    With GPUs of both pools it loses efficiency, and with types of several rates it runs at the
    slowest. If all GPUs do not make it faster, it gets those of its first pool if these do.

    Returns
    -------
    bool
        Whether it got all.
    """
    job = draft.jobs[name]
    held = Counter(draft.held[name])
    home = {draft.servers[s].pool for s in held}
    own = {s: gpus for s, gpus in taken.items() if {draft.servers[s].pool} == home}
    for gpus in (taken, own):
        if _speed(draft, job, held + Counter(gpus)) > _speed(draft, job, held):
            draft.grow(name, gpus)
            return gpus is taken
    return False


def _speed(draft: Draft, job: Job, held: Mapping[Id, int]) -> Fraction:
    shares = tuple(Share(server, gpus) for server, gpus in held.items())
    part = 0
    if job.goodput is not None:
        part = job.part(job.work_ticks - int(draft.state.vectors([job.id]).remaining[0]))
    return speed(job, Allocation(shares), draft.state.cluster, (), part=part)


def loan_speed(workload: Workload, cluster: Cluster) -> Fraction:
    """Return the speed of a GPU on loan, that of a GPU of training being 1.

    It is what `Job.rates` say of the jobs that may be on loan. `elastic` has one speed for a pool:
    where these jobs or the types in a pool differ, it is the least **(D)**. It is rounded to 15
    digits, as instances have no more.
    """
    kinds: dict[str, set[str]] = {TRAINING: set(), LOAN: set()}
    for server in cluster.servers:
        kinds[server.pool].add(server.gpu_type or "")
    rates = (job.rates for job in workload.jobs if job.fungible or job.heterogeneous)
    least = min(
        (
            Fraction(known[lent]) / known[own]
            for known in rates
            for lent in kinds[LOAN] & known.keys()
            for own in kinds[TRAINING] & known.keys()
        ),
        default=1,
    )
    return Fraction(f"{float(least):.15g}")
