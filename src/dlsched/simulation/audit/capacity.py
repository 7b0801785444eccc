"""Capacities at every moment, and that jobs which share GPUs hold the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.record import TOLERANCE, Record, Stretch

WHAT = (("gpus", "GPUs"), ("cpus", "CPUs"), ("memory", "GB"))


def check_capacity(record: Record) -> None:
    """Go through the log in the order of time, and add up what is held.

    What ends at a moment is free for what starts at it. Jobs that share GPUs hold them once. CPUs
    and memory are floats in the log: they are added within a relative tolerance of `TOLERANCE`.
    Where the log's header says that priorities are layers (``layers`` is ``"priority"``), a job
    shares GPUs with jobs of other priorities, and each priority has the whole server.
    """
    held = _Held(record)
    lasting = [stretch for stretch in record.stretches if stretch.start < stretch.end]
    events = [(s.start, 1, i) for i, s in enumerate(lasting)]
    events += [(s.end, 0, i) for i, s in enumerate(lasting)]
    events.sort()
    for _time, kind, i in events:
        if kind:
            held.take(lasting[i])
        else:
            held.give(lasting[i])


class _Held:
    def __init__(self, record: Record) -> None:
        self.record, self.findings = record, record.findings
        self.size = {
            server.id: tuple(
                None if x is None else float(x) for x in (server.gpus, server.cpus, server.memory)
            )
            for server in record.cluster.servers
        }
        self.layered = record.layered
        self.used: dict[tuple[Any, str], list[float]] = defaultdict(lambda: [0, 0, 0])
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

    def _layer(self, stretch: Stretch) -> Any:
        return self.record.jobs[stretch.job].priority if self.layered else None

    def _add(self, stretch: Stretch, sign: int) -> None:
        layer = self._layer(stretch)
        for server, *amounts in stretch.shares:
            used = self.used[layer, server]
            for i, amount in enumerate(amounts):
                used[i] += sign * (amount or 0)

    def _check(self, stretch: Stretch) -> None:
        for server, *_ in stretch.shares:
            if server not in self.size:
                message = f"job {self.record.name(stretch.job)} is on {server}; there is no such"
                self.findings.add("unknown_server", stretch.where, message)
                continue
            used, size = self.used[self._layer(stretch), server], self.size[server]
            for i, (kind, unit) in enumerate(WHAT):
                room = size[i]
                if room is not None and used[i] > room * (1 + (TOLERANCE if i else 0)):
                    message = (
                        f"at {at(stretch.start)} jobs hold {used[i]:g} {unit} of {server}, "
                        f"which has {room:g}"
                    )
                    self.findings.add(kind, stretch.where, message, used[i] - room)

    def _compare(self, stretch: Stretch, other: Stretch) -> None:
        if stretch.shares == other.shares:
            return
        names = self.record.name(stretch.job), self.record.name(other.job)
        message = (
            f"jobs {names[0]} and {names[1]} share GPUs as {stretch.sharing}, but hold "
            f"{words(stretch.shares)} and {words(other.shares)}"
        )
        self.findings.add("group", stretch.where, message)


def words(shares: Iterable[tuple[str, int, float | None, float | None]]) -> str:
    """Return shares in words."""
    return " + ".join(f"{gpus} of {server}" for server, gpus, *_ in shares) or "nothing"
