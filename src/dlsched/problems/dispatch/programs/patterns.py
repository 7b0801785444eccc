"""Classes of equal machines, and the maximal numbers of tasks that fit on one of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.dispatch.structures.fleet import Fleet, Request

Amount3: TypeAlias = tuple[int, int, int]
Occupants: TypeAlias = tuple[tuple[int, Amount3], ...]
"""Victims on a machine with what they hold there."""

MOST_PATTERNS = 5000
"""Upper limit of the victim sets of one machine that are enumerated."""


class Pattern(NamedTuple):
    """A maximal number of tasks of each job on a machine, and the victims that this needs."""

    victims: tuple[int, ...]
    tasks: tuple[int, ...]


class MachineClass(NamedTuple):
    """Machines of one cluster that are equal in rack and patterns."""

    site: int
    rack: int
    patterns: tuple[Pattern, ...]
    machines: tuple[int, ...]


def classes(
    fleet: Fleet, site: int, requests: Sequence[Request], victims: frozenset[int]
) -> list[MachineClass]:
    """Return the classes of a cluster's machines on which some task fits.

    Parameters
    ----------
    victims
        Running workloads that may be preempted.

    Raises
    ------
    OptionError
        If a machine has too many victims to enumerate the sets of them.
    """
    at, held = fleet.sites[site], fleet.holdings[site]
    mine = fleet.running[held.victim] & np.isin(held.victim, list(victims))
    occupants: dict[int, list[tuple[int, Amount3]]] = {}
    entries = zip(
        held.victim[mine].tolist(),
        held.machine[mine].tolist(),
        held.amount[:, mine].T.tolist(),
        strict=True,
    )
    for v, m, amount in entries:
        occupants.setdefault(m, []).append((v, tuple(amount)))
    wanted = {request.kind for request in requests}
    kinds, racks = at.kind.tolist(), at.rack.tolist()
    free = fleet.free[:, at.machines].T.tolist()
    known: dict[tuple[int, Amount3, Occupants], tuple[Pattern, ...]] = {}
    found: dict[tuple[int, tuple[Pattern, ...]], list[int]] = {}
    for m, row in enumerate(free):
        if -1 not in wanted and kinds[m] not in wanted:
            continue
        key = (kinds[m], tuple(row), tuple(sorted(occupants.get(m, ()))))
        if key not in known:
            known[key] = tuple(_patterns(*key, requests))
        if known[key]:
            found.setdefault((racks[m], known[key]), []).append(m)
    return [
        MachineClass(site, rack, patterns, tuple(machines))
        for (rack, patterns), machines in found.items()
    ]


def _patterns(
    kind: int, free: Amount3, occupants: Occupants, requests: Sequence[Request]
) -> list[Pattern]:
    """Return the patterns of a machine that no other one dominates.

    One dominates another if it has no fewer tasks and needs no other victims.
    """
    found: list[Pattern] = []
    enumerated = 0
    everything = set(_maximal(kind, _add(free, (a for _, a in occupants)), requests))
    for k in range(len(occupants) + 1):
        for chosen in combinations(occupants, k):
            enumerated += 1
            if enumerated > MOST_PATTERNS:
                raise OptionError(
                    f"a machine has {len(occupants)} workloads that may be preempted, too many to "
                    f"enumerate their sets; use classes"
                )
            victims = tuple(v for v, _ in chosen)
            for tasks in _maximal(kind, _add(free, (a for _, a in chosen)), requests):
                pattern = Pattern(victims, tasks)
                if not any(_dominates(other, pattern) for other in found):
                    found.append(pattern)
        done = {tasks for victims, tasks in found if not victims}
        if everything <= done:
            break  # no victim makes a difference
    return found


def _dominates(a: Pattern, b: Pattern) -> bool:
    return all(x >= y for x, y in zip(a.tasks, b.tasks, strict=True)) and set(a.victims) <= set(
        b.victims
    )


def _add(free: Amount3, amounts: Iterable[Amount3]) -> Amount3:
    total = list(free)
    for amount in amounts:
        for i in range(3):
            total[i] += amount[i]
    return (total[0], total[1], total[2])


def _maximal(kind: int, free: Amount3, requests: Sequence[Request]) -> Iterator[tuple[int, ...]]:
    """Yield the maximal numbers of tasks of each job; without the one of no tasks."""
    for tasks in _vectors(kind, free, requests):
        if any(tasks):
            yield tasks


def _vectors(kind: int, free: Amount3, requests: Sequence[Request]) -> Iterator[tuple[int, ...]]:
    if not requests:
        yield ()
        return
    first, rest = requests[0], requests[1:]
    most = _room(kind, free, first)
    if not rest:
        yield (most,)
        return
    last: tuple[int, ...] | None = None
    for tasks in range(most, -1, -1):
        left = tuple(have - tasks * need for have, need in zip(free, first.need, strict=True))
        for others in _vectors(kind, (left[0], left[1], left[2]), rest):
            if len(rest) > 1 or last is None or others > last:
                yield (tasks, *others)
                last = others


def _room(kind: int, free: Amount3, request: Request) -> int:
    if request.kind not in (-1, kind):
        return 0
    fits = (have // need for have, need in zip(free, request.need, strict=True) if need)
    return min([request.tasks, *fits])
