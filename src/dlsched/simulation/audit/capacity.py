"""Capacities at every moment, and that jobs which share GPUs hold the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.record import TOLERANCE, Record, Stretch


class Resource(NamedTuple):
    """What servers have: the kind of its violations, its unit, and a relative tolerance."""

    kind: str
    unit: str
    tolerance: float


RESOURCES = (
    Resource("gpus", "GPUs", 0.0),
    Resource("cpus", "CPUs", TOLERANCE),
    Resource("memory", "GB", TOLERANCE),
)


def check_capacity(record: Record) -> None:
    """Go through the log in the order of time, and add up what is held.

    What ends at a moment is free for what starts at it. Jobs that share GPUs hold them once. CPUs
    and memory are floats in the log: they are added within a relative tolerance of `TOLERANCE`.
    """
    held = _Held(record)
    lasting = [stretch for stretch in record.stretches if stretch.start < stretch.end]
    events = [(s.start, 1, i, held.take) for i, s in enumerate(lasting)]
    events += [(s.end, 0, i, held.give) for i, s in enumerate(lasting)]
    for _, _, i, act in sorted(events, key=lambda event: event[:3]):
        act(lasting[i])


class _Held:
    def __init__(self, record: Record) -> None:
        self.record = record
        self.size = {
            server.id: tuple(
                None if x is None else float(x) for x in (server.gpus, server.cpus, server.memory)
            )
            for server in record.cluster.servers
        }
        self.used: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0])
        self.groups: dict[str, list[Stretch]] = {}

    def take(self, stretch: Stretch) -> None:
        if stretch.sharing is not None:
            members = self.groups.setdefault(stretch.sharing, [])
            members.append(stretch)
            if len(members) > 1:
                self._compare(stretch, members[0])
                return
        self._add(stretch, 1)
        self._check(stretch)

    def give(self, stretch: Stretch) -> None:
        if stretch.sharing is None:
            self._add(stretch, -1)
            return
        members = self.groups[stretch.sharing]
        first = members[0]
        members.remove(stretch)
        if not members:
            self._add(first, -1)
            del self.groups[stretch.sharing]
        elif first is stretch:
            self._add(first, -1)
            self._add(members[0], 1)

    def _add(self, stretch: Stretch, sign: int) -> None:
        for server, *amounts in stretch.shares:
            used = self.used[server]
            for i, amount in enumerate(amounts):
                used[i] += sign * (amount or 0)

    def _check(self, stretch: Stretch) -> None:
        for server, *_ in stretch.shares:
            if server not in self.size:
                message = f"job {self.record.name(stretch.job)} is on {server}; there is no such"
                self.record.wrong("unknown_server", stretch, message)
                continue
            held = self.used[server]
            for resource, used, room in zip(RESOURCES, held, self.size[server], strict=True):
                if room is not None and used > room * (1 + resource.tolerance):
                    message = (
                        f"at {at(stretch.start)} jobs hold {used:g} {resource.unit} of {server}, "
                        f"which has {room:g}"
                    )
                    self.record.wrong(resource.kind, stretch, message, used - room)

    def _compare(self, stretch: Stretch, other: Stretch) -> None:
        if stretch.shares == other.shares:
            return
        message = (
            f"jobs {self.record.name(stretch.job)} and {self.record.name(other.job)} share GPUs as "
            f"{stretch.sharing}, but hold {words(stretch.shares)} and {words(other.shares)}"
        )
        self.record.wrong("group", stretch, message)


def words(shares: Iterable[tuple[str, int, float | None, float | None]]) -> str:
    """Return shares in words."""
    return " + ".join(f"{gpus} of {server}" for server, gpus, *_ in shares) or "nothing"
