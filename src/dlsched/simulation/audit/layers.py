"""GPUs by number, where priorities are layers: each at most once in a layer, and who is above."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.record import Record, Stretch

Above = Mapping[int, list[tuple[Any, tuple[int, ...]]]]
"""By row of the log: each moment of a stretch, and the jobs above it from then on."""


def check_layers(record: Record) -> Above:
    """Check the GPUs that stretches state; return who is above those in the second layer.

    Jobs of priority 0, or without one, are the first layer. A log without layers states no GPUs,
    as any of a server's are as good.
    """
    if not record.layered:
        for stretch in record.stretches:
            if stretch.devices:
                message = f"job {record.name(stretch.job)} states its GPUs; the log has no layers"
                record.wrong("device", stretch, message)
        return {}
    sizes = {server.id: server.gpus for server in record.cluster.servers}
    layers: tuple[dict[Any, list[Stretch]], ...] = (defaultdict(list), defaultdict(list))
    lasting = [stretch for stretch in record.stretches if stretch.start < stretch.end]
    for stretch in sorted(lasting, key=lambda s: (s.start, s.end)):
        _check_devices(record, stretch, sizes)
        layer = layers[bool(record.jobs[stretch.job].priority)]
        for device in dict.fromkeys(stretch.devices):
            if layer[device] and layer[device][-1].end > stretch.start:
                other = layer[device][-1]
                message = (
                    f"jobs {record.name(other.job)} and {record.name(stretch.job)} both hold GPU "
                    f"{device[1]} of {device[0]} at {at(stretch.start)}"
                )
                record.wrong("device", stretch, message)
            layer[device].append(stretch)
    guaranteed = layers[0]
    second = (s for s in lasting if record.jobs[s.job].priority)
    return {stretch.row: _above(stretch, guaranteed) for stretch in second}


def _check_devices(record: Record, stretch: Stretch, sizes: Mapping[str, int]) -> None:
    """Check that a stretch states as many GPUs of each server as it holds, and that these exist."""
    for server, gpus, *_ in stretch.shares:
        stated = [device for name, device in stretch.devices if name == server]
        there = all(0 <= device < sizes.get(server, 0) for device in stated)
        if len(set(stated)) != gpus or len(stated) != gpus or not there:
            message = f"it holds {gpus} GPUs of {server}, and states {stated}"
            record.wrong("device", stretch, message)


def _above(
    stretch: Stretch, guaranteed: Mapping[Any, list[Stretch]]
) -> list[tuple[Any, tuple[int, ...]]]:
    """Return the moments within a stretch at which guaranteed jobs come or go, and who is there."""
    beside = set()
    for device in stretch.devices:
        several = guaranteed.get(device, [])
        last = bisect_right(several, stretch.end, key=lambda s: s.start)
        for other in reversed(several[:last]):
            if other.end <= stretch.start:
                break
            beside.add((other.start, other.end, other.job))
    changes = {t for start, end, _ in beside for t in (start, end)}
    return [
        (t, tuple(sorted({job for start, end, job in beside if start <= t < end})))
        for t in sorted({stretch.start, *changes})
        if stretch.start <= t < stretch.end
    ]
