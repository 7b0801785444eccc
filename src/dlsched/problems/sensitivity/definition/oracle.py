"""Brute force for sensitivity."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

from dlsched.problems.sensitivity.definition.check import LEVELS
from dlsched.problems.sensitivity.definition.schema import Choice, Instance
from dlsched.results.objective import ByLevel, Objective
from dlsched.schema import granularity

Row: TypeAlias = tuple[int, int, int]
"""Free GPUs, CPUs and memory of one server."""
State: TypeAlias = tuple[Row, ...]
"""The rows of all servers, sorted, as servers are identical."""
Value: TypeAlias = tuple[int, int]
"""Throughput, and minus the number of split jobs."""


class _Option(NamedTuple):
    """CPUs, memory and throughput of a choice, as multiples of their granularities."""

    cpus: int
    memory: int
    throughput: int


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over all choices and placements; ``None`` if there is no solution.

    A dynamic program over jobs, whose states are the free resources of the servers, in integers.
    For about five jobs on eight servers.
    """
    servers = instance.servers
    choices = [c for job in instance.jobs for c in instance.choices[job.profile]]
    per_cpu = granularity([servers.cpus, *(c.cpus for c in choices)])
    per_gb = granularity([servers.memory, *(c.memory for c in choices)])
    unit = granularity(c.throughput for c in choices) or Fraction(1)
    full = servers.gpus, int(servers.cpus / per_cpu), int(servers.memory / per_gb)
    best: dict[State, Value] = {(full,) * servers.count: (0, 0)}
    for job in instance.jobs:
        possible = instance.choices[job.profile]
        options = [
            _Option(int(c.cpus / per_cpu), int(c.memory / per_gb), int(c.throughput / unit))
            for c in possible
            if not any(_dominated(c, other) for other in possible)
        ]
        after = dict(best) if instance.may_wait else {}
        gpus = instance.profile(job).gpus
        for state, value in _reached(best, gpus, options, instance.allow_split):
            after[state] = max(value, after.get(state, value))
        best = after
    if not best:
        return None
    throughput, split = max(best.values())
    return ByLevel(LEVELS, (throughput * unit, -split))


def _reached(
    best: Mapping[State, Value], gpus: int, options: Sequence[_Option], allow_split: bool
) -> Iterator[tuple[State, Value]]:
    """Yield each state after a job is placed, and the value with which it is reached."""
    for (state, (throughput, split)), option in product(best.items(), options):
        for placed in _placements(state, gpus, option, allow_split):
            spread = len(placed) - placed.count(0) > 1
            value = throughput + option.throughput, split - spread
            yield _after(state, placed, option), value


def _dominated(a: Choice, b: Choice) -> bool:
    """Whether choice `b` takes no more than `a`, which is another one, and gives no less."""
    return b.cpus <= a.cpus and b.memory <= a.memory and b.throughput >= a.throughput and a != b


def _placements(
    state: State, gpus: int, option: _Option, allow_split: bool
) -> Iterator[tuple[int, ...]]:
    """Yield the GPUs on each server for every placement that fits, up to equal servers."""

    def spread(s: int, left: int, before: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not left:
            yield before + (0,) * (len(state) - s)
            return
        if s == len(state):
            return
        row = state[s]
        most = min(left, row[0], row[1] // option.cpus, row[2] // option.memory)
        if s and state[s - 1] == row:
            most = min(most, before[-1])
        for here in range(most + 1):
            if here in (0, left) or allow_split:
                yield from spread(s + 1, left - here, (*before, here))

    yield from spread(0, gpus, ())


def _after(state: State, placed: tuple[int, ...], option: _Option) -> State:
    rows = (
        (row[0] - n, row[1] - n * option.cpus, row[2] - n * option.memory) if n else row
        for row, n in zip(state, placed, strict=True)
    )
    return tuple(sorted(rows))
