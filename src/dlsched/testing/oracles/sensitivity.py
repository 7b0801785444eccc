"""Brute force for sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from dlsched.problems.sensitivity.check import LEVELS
from dlsched.problems.sensitivity.schema import Choice, Instance
from dlsched.result import ByLevel, Objective
from dlsched.schema import Number

Row: TypeAlias = tuple[Number, Number, Number]
"""GPUs, CPUs and memory in use on one server."""
State: TypeAlias = tuple[Row, ...]
"""What is in use on the servers, sorted: they are all alike."""


def sensitivity(instance: Instance) -> Objective | None:
    """Return the optimum over every choice and every placement; ``None`` if there is none.

    Job by job, with the best worth for everything that may then be in use on the servers. For
    about five jobs on eight servers.
    """
    best: dict[State, tuple[Number, int]] = {((0, 0, 0),) * instance.servers.count: (0, 0)}
    for job in instance.jobs:
        profile = instance.profile(job)
        after = dict(best) if instance.may_wait else {}
        for state, (throughput, split) in best.items():
            for choice in instance.choices[job.profile]:
                for placed in _placements(instance, state, profile.gpus, choice):
                    spread = sum(n > 0 for n in placed) > 1
                    worth = throughput + choice.throughput, split - spread
                    reached = _after(state, placed, choice)
                    if reached not in after or worth > after[reached]:
                        after[reached] = worth
        best = after
    if not best:
        return None
    throughput, split = max(best.values())
    return ByLevel(LEVELS, (throughput, -split))


def _placements(
    instance: Instance, state: State, gpus: int, choice: Choice
) -> Iterator[tuple[int, ...]]:
    """Yield GPUs on each server, in every way that fits but for the order of equal servers."""
    servers = instance.servers

    def spread(s: int, left: int, before: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if s == len(state):
            if not left:
                yield before
            return
        row = state[s]
        most = min(left, servers.gpus - row[0])
        if s and state[s - 1] == row:
            most = min(most, before[-1])
        for here in range(most + 1):
            cpus, memory = row[1] + here * choice.cpus, row[2] + here * choice.memory
            if cpus > servers.cpus or memory > servers.memory:
                break
            if here in (0, left) or instance.allow_split:
                yield from spread(s + 1, left - here, (*before, here))

    yield from spread(0, gpus, ())


def _after(state: State, placed: tuple[int, ...], choice: Choice) -> State:
    rows = (
        (row[0] + n, row[1] + n * choice.cpus, row[2] + n * choice.memory)
        for row, n in zip(state, placed, strict=True)
    )
    return tuple(sorted(rows))
