"""Which jobs hold which GPUs, where jobs of two layers hold the same ones (`BasePolicy.layers`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Share
from dlsched.simulation.engine.policy import PolicyError
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.job import Job

PRIORITY: Final = "priority"
"""The only kind of layers: priority 0, and all other priorities."""

Device = tuple[Id, int]
"""A GPU: its server, and its number on the server, from 0."""


def is_opportunistic(job: Job) -> bool:
    """Return whether a job is in the second layer, which uses what the first leaves idle."""
    return bool(job.priority)


class Layers:
    """The jobs of both layers by GPU; jobs are positions in the workload.

    Attributes
    ----------
    disturbed
        Opportunistic jobs beside which a guaranteed one started or ended; the reader clears it.
    """

    def __init__(self, jobs: tuple[Job, ...], cluster: Cluster) -> None:
        self.jobs = jobs
        self._size = {server.id: server.gpus for server in cluster.servers}
        self._guaranteed: dict[Device, int] = {}
        self._opportunistic: dict[Device, int] = {}
        self.disturbed: set[int] = set()

    def take(self, j: int, shares: Iterable[Share]) -> None:
        """Give a job its GPUs.

        Raises
        ------
        PolicyError
            If a share does not state as many GPUs as it has, or one of them is not there, or a job
            of the same layer has it.
        """
        job = self.jobs[j]
        layer = self._layer(j)
        devices = list(self._devices(job, shares))
        for device in devices:
            if device in layer:
                raise PolicyError(
                    f"job {job.id}: GPU {device[1]} of {device[0]} is held by job "
                    f"{self.jobs[layer[device]].id} of the same layer"
                )
            layer[device] = j
        self._disturb(layer, devices)

    def give(self, j: int, shares: Iterable[Share]) -> None:
        """Take a job's GPUs away."""
        layer = self._layer(j)
        devices = list(self._devices(self.jobs[j], shares))
        for device in devices:
            del layer[device]
        self._disturb(layer, devices)

    def beside(self, j: int, shares: Iterable[Share]) -> list[Job]:
        """Return the guaranteed jobs on an opportunistic job's GPUs; none for a guaranteed one."""
        if not is_opportunistic(self.jobs[j]):
            return []
        devices = self._devices(self.jobs[j], shares)
        above = {self._guaranteed[device] for device in devices if device in self._guaranteed}
        return [self.jobs[other] for other in sorted(above)]

    def _layer(self, j: int) -> dict[Device, int]:
        return self._opportunistic if is_opportunistic(self.jobs[j]) else self._guaranteed

    def _disturb(self, layer: dict[Device, int], devices: Iterable[Device]) -> None:
        if layer is self._guaranteed:
            others = self._opportunistic
            self.disturbed.update(others[device] for device in devices if device in others)

    def _devices(self, job: Job, shares: Iterable[Share]) -> Iterator[Device]:
        for server, gpus, _, _, devices in shares:
            size = self._size.get(server, 0)
            if devices is None or len(devices) != gpus or not set(devices) <= set(range(size)):
                raise PolicyError(
                    f"job {job.id}: its share states the GPUs {devices} of {server}; state {gpus} "
                    f"different ones from 0 to {size - 1}, as this policy has layers"
                )
            yield from ((server, device) for device in devices)
