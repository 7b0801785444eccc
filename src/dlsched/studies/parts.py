"""The parts of a cluster, and certified lower bounds on what any schedule could have reached there.

Partitions that share no node are clusters of their own. Only the counted jobs enter a bound:
without the others every schedule of all jobs is still one of these, so that a bound on their mean
completion time holds for it. A job's completion counts from when it became eligible there; what it
waited before is added, as no schedule could change it. The whole has the mean of its parts' bounds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.schema.files import read_json, write_json
from dlsched.simulation import Workload
from dlsched.simulation.bounds import bound
from dlsched.simulation.history import Period


class Part(NamedTuple):
    """Partitions that share nodes, or one alone.

    Attributes
    ----------
    name
        The partitions; empty for a cluster that is not divided.
    jobs
        The positions of its jobs among the counted ones.
    """

    name: str
    jobs: NDArray[np.int64]


@dataclass(frozen=True)
class Limit:
    """A lower bound.

    Attributes
    ----------
    mean_jct
        Seconds from submission to end, on average over the counted jobs.
    mean_wait
        The same of the waiting; None where jobs may share GPUs, as they then run longer.
    source
        Which bound it is.
    sharing
        Whether it holds for schedules in which jobs share GPUs.
    by_part
        `mean_wait` of each part of the cluster.
    """

    mean_jct: float
    mean_wait: float | None
    source: str
    sharing: bool
    by_part: tuple[float | None, ...]


def parts_of(period: Period) -> tuple[Part, ...]:
    """Return the parts of a period's cluster that have counted jobs, those with most jobs first.

    A job that names several partitions joins them; one that names none may run anywhere, so that
    the cluster is not divided; neither is it where a partition has no nodes of its own.
    """
    texts = period.jobs.loc[period.jobs["role"] == "counted", "partition"].fillna("").tolist()
    nodes = period.partitions
    groups: list[tuple[set[str], set[str]]] = []
    for text in dict.fromkeys(texts):
        names = set(text.split(","))
        if period.partition is not None or not all(map(nodes.get, names)):
            return (Part("", np.arange(len(texts))),)
        held = set().union(*(nodes[name] for name in names))
        for group in [g for g in groups if g[0] & names or g[1] & held]:
            groups.remove(group)
            names, held = names | group[0], held | group[1]
        groups.append((names, held))
    if len(groups) < 2:
        return (Part("", np.arange(len(texts))),)
    first = [text.partition(",")[0] for text in texts]
    found = [
        Part(", ".join(sorted(names)), np.flatnonzero([one in names for one in first]))
        for names, _ in groups
    ]
    return tuple(sorted(found, key=lambda part: (-len(part.jobs), part.name)))


def lower_limit(
    period: Period, parts: Sequence[Part], workload: Workload, sharing: bool, folder: Path | None
) -> Limit:
    """Return the bound of a period, or that which a folder has of the same jobs.

    Parameters
    ----------
    workload
        All simulated jobs.
    sharing
        Whether jobs may share GPUs.
    folder
        Where the bound is kept.
    """
    counted = period.jobs[period.jobs["role"] == "counted"]
    ids = [set(counted["id"].iloc[part.jobs]) for part in parts]
    alone = [
        workload.model_copy(update={"jobs": tuple(j for j in workload.jobs if j.id in own)})
        for own in ids
    ]
    path = None if folder is None else folder / f"bound{'-sharing' if sharing else ''}.json"
    texts = [one.model_dump_json(exclude_defaults=True) for one in alone]
    texts.append(period.cluster.model_dump_json())
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()
    kept = read_json(path) if path is not None and path.exists() else {}
    if kept.get("jobs_sha256") != digest:
        found = [bound(one, period.cluster, "mean_jct", sharing=sharing) for one in alone]
        source = ", ".join(dict.fromkeys(one.source for one in found))
        seconds = [_down(float(one.value)) for one in found]
        kept = {"jobs_sha256": digest, "seconds": seconds, "source": source}
        if path is not None:
            write_json(path, kept)
    submit, eligible, start, end = (
        counted[name].to_numpy(float) for name in ("submit", "eligible", "start", "end")
    )
    before = np.maximum(eligible, period.since) - submit
    added = [float(before[part.jobs].mean()) for part in parts]
    runtime = [float((end - start)[part.jobs].mean()) for part in parts]
    jct = np.array(kept["seconds"]) + added
    waits = (jct - runtime).clip(min=0)
    sizes = [len(part.jobs) for part in parts]
    mean_jct, mean_wait = (_down(float(np.average(v, weights=sizes))) for v in (jct, waits))
    if sharing:
        return Limit(mean_jct, None, kept["source"], True, (None,) * len(parts))
    return Limit(mean_jct, max(0.0, mean_wait), kept["source"], False, tuple(waits.tolist()))


def _down(value: float) -> float:
    """Return the next lower number, so that a bound that is rounded stays one."""
    return float(np.nextafter(value, -np.inf))
