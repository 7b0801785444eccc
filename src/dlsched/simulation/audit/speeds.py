"""Speeds, recomputed from the jobs' profiles where the policy did not state them."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from dlsched.problems.interleaving.definition.check import iteration_time
from dlsched.schema import Number
from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.holdings import Held
from dlsched.simulation.audit.record import TOLERANCE, Record, Stretch
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix

Stages = tuple[Number, ...]
Partners = tuple[Stages, ...]


def check_speeds(record: Record, held: Iterable[Iterable[Held]]) -> None:
    """Check the speed of every stretch that takes time.

    The jobs of a group may change within a stretch, as long as its speed does not.
    """
    groups: dict[str, list[Held]] = defaultdict(list)
    speeds = _Speeds(record)
    for entry in itertools.chain.from_iterable(held):
        stretch = entry.stretch
        if stretch.start >= stretch.end:
            continue
        if stretch.sharing is not None:
            groups[stretch.sharing].append(entry)
        elif entry.stated is None:
            speeds.compare(stretch, (), stretch.start)
        else:
            _compare_stated(record, entry)
    for members in groups.values():
        _check_group(record, speeds, members)


def _check_group(record: Record, speeds: _Speeds, members: list[Held]) -> None:
    """Go through the moments at which somebody joins or leaves a group."""
    for entry in members:
        if entry.stated is not None:
            _compare_stated(record, entry)
    events = [(e.stretch.start, 1, i) for i, e in enumerate(members)]
    events += [(e.stretch.end, 0, i) for i, e in enumerate(members)]
    present: dict[int, Held] = {}
    for time, at_once in itertools.groupby(sorted(events), key=lambda event: event[0]):
        for _, joins, i in at_once:
            if joins:
                present[i] = members[i]
            else:
                del present[i]
        for i, entry in present.items():
            if entry.stated is None:
                others = (present[k].stretch.job for k in present if k != i)
                partners = tuple(sorted(record.jobs[j].stages for j in others))
                speeds.compare(entry.stretch, partners, time)


def _compare_stated(record: Record, entry: Held) -> None:
    if entry.stretch.speed != entry.stated:
        _wrong(record, entry.stretch, entry.stated, "the decision states", entry.stretch.start)


def _wrong(record: Record, stretch: Stretch, speed: Any, source: str, time: Any) -> None:
    message = (
        f"job {record.name(stretch.job)} runs at speed {stretch.speed} at {at(time)}; {source} "
        f"{speed}"
    )
    record.wrong("speed", stretch, message, abs(stretch.speed - speed))


class _Speeds:
    """Speeds by what they depend on."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.types = {server.id: server.gpu_type for server in record.cluster.servers}
        self.pools = {server.id: server.pool for server in record.cluster.servers}
        self.known: dict[Hashable, Fraction | None] = {}

    def compare(self, stretch: Stretch, partners: Partners, time: Any) -> None:
        job = self.record.jobs[stretch.job]
        types: Counter[str | None] = Counter()
        for share in stretch.shares:
            types[self.types.get(share[0])] += share[1]
        amounts = frozenset(share[1:] for share in stretch.shares) if job.profile else None
        mixed = len({self.pools.get(share[0]) for share in stretch.shares}) > 1
        key = (
            job.gpus,
            job.min_gpus,
            job.gpu_type,
            job.stages,
            job.profile,
            job.scaling_loss,
            job.mixed_efficiency,
            tuple(job.rates.items()),
            stretch.gpus,
            frozenset(types.items()),
            amounts,
            mixed,
            partners,
        )
        if key not in self.known:
            recomputed = speed(job, types, partners, mixed)
            if recomputed is not None and amounts is not None:
                matrix = self.record.workload.matrices[str(job.profile)]
                recomputed *= min(throughput(matrix, *amount) for amount in amounts)
            self.known[key] = recomputed
        expected = self.known[key]
        if expected is None:
            message = f"job {job.id} shares GPUs at {at(time)}, and its stages do not allow that"
            self.record.wrong("speed", stretch, message)
        elif stretch.speed != expected:
            _wrong(self.record, stretch, expected, "its profile gives", time)


def speed(
    job: Job, types: Mapping[str | None, int], partners: Partners, mixed: bool
) -> Fraction | None:
    """Return the work that a job does per second; None if it cannot run like that.

    Work is counted in seconds with the GPUs that the job asks for, on its own type, alone. With
    more GPUs it is done in proportion, where each above the fewest counts for less if the job
    states a loss; with GPUs of both pools (`mixed`) at the efficiency that it states; on several
    types, given with the numbers of GPUs, at the rate of the slowest, but on those of both pools
    each at its own; in a group one iteration takes that of the group (Muri, eq. 3) instead of its
    own stages' sum.
    """
    gpus = sum(types.values())
    kept = 1 - Fraction(job.scaling_loss)
    held, asked = (job.min_gpus + (g - job.min_gpus) * kept for g in (gpus, job.gpus))
    result = held / asked
    if mixed:
        result *= Fraction(job.mixed_efficiency)
    if job.rates:
        known = {kind: Fraction(job.rates.get(kind, 0)) if kind else Fraction(0) for kind in types}
        pace = min(known.values())
        if mixed and pace:
            pace = sum((known[kind] * n / gpus for kind, n in types.items()), Fraction(0))
        result = result * pace / Fraction(job.rates[job.gpu_type or ""])
    if partners:
        together = least_time(tuple(sorted((job.stages, *partners))))
        if not together:
            return None
        result = result * Fraction(sum(job.stages)) / together
    return result


def throughput(matrix: Matrix, gpus: int, cpus: float | None, memory: float | None) -> Fraction:
    """Return the throughput with amounts on a server, relative to the proportional share.

    It is that of the largest entries of the axes that the amounts per GPU reach (Synergy, section
    3.1). The log has amounts as floats.
    """
    reached: list[int] = []
    usual: list[int] = []
    axes = (matrix.cpus, matrix.memory)
    for axis, amount, share in zip(axes, (cpus, memory), matrix.share, strict=True):
        per_gpu = float(share) if amount is None else amount / gpus * (1 + TOLERANCE)
        reached.append(sum(float(entry) <= per_gpu for entry in axis) - 1)
        usual.append(sum(entry <= share for entry in axis) - 1)
    if min(reached) < 0:
        return Fraction(0)
    row, column = reached
    usual_row, usual_column = usual
    return Fraction(matrix.throughput[row][column]) / matrix.throughput[usual_row][usual_column]


@cache
def least_time(group: Partners) -> Fraction | None:
    """Return a group's iteration time in its best order; None if it has none."""
    resources = len(group[0])
    unlike = any(len(stages) != resources or not any(stages) for stages in group)
    if unlike or len(group) > resources:
        return None
    # The first stages of the jobs, all different; the first job's is 0, as a rotation.
    orders = itertools.product(range(resources), repeat=len(group) - 1)
    distinct = ((0, *order) for order in orders if len({0, *order}) == len(group))
    return min(Fraction(iteration_time(group, order)) for order in distinct)
