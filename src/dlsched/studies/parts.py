"""The parts of a cluster, and certified lower bounds on what any schedule could have reached there.

Partitions that share no node are clusters of their own. Only the counted jobs enter a bound:
without the others every schedule of all jobs is still one of these, so that a bound on their mean
completion time holds for it. A job's completion counts from when it became eligible there; what it
waited before is added, as no schedule could change it. The whole has the mean of its parts' bounds.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.schema.files import read_json, write_json
from dlsched.simulation import Workload
from dlsched.simulation.bounds import bound
from dlsched.simulation.history import Period


class Part(NamedTuple):
    """Partitions that share nodes, or one alone: names, "" for a cluster that is not divided.

    `jobs` are the positions of its jobs among the counted ones.
    """

    name: str
    jobs: NDArray[np.int64]


class Limit(NamedTuple):
    """A lower bound on mean seconds over the counted jobs, from submission to end and of waiting.

    Where jobs may share GPUs there is none on waiting, as they then run longer. `by_part` is that
    on waiting of each part of the cluster.
    """

    mean_jct: float
    mean_wait: float | None
    source: str
    sharing: bool
    by_part: tuple[float | None, ...]


def parts_of(period: Period) -> tuple[Part, ...]:
    """Return the parts of a period's cluster that have counted jobs, those with most jobs first.

    Jobs that may run on the same node are in one part.
    """
    texts = period.jobs.loc[period.jobs["role"] == "counted", "partition"].fillna("").tolist()
    servers = period.cluster.servers
    groups: list[tuple[set[str], set[str]]] = []
    for text in dict.fromkeys(texts):
        names = {*text.split(",")} if text else set()
        own = [s for s in servers if names and (not s.partitions or names & {*s.partitions})]
        held = {server.id for server in own or servers}
        together = [group for group in groups if group[1] & held]
        groups = [group for group in groups if group not in together]
        groups.append(
            ({text}.union(*(g[0] for g in together)), held.union(*(g[1] for g in together)))
        )
    found = []
    for named, _ in groups:
        name = ", ".join(sorted({name for text in named for name in text.split(",")}))
        jobs = np.flatnonzero([text in named for text in texts])
        found.append(Part(name if len(groups) > 1 else "", jobs))
    return tuple(sorted(found, key=lambda part: (-len(part.jobs), part.name)))


def lower_limit(
    period: Period, parts: Sequence[Part], workload: Workload, sharing: bool, folder: Path | None
) -> Limit:
    """Return the bound of a period's jobs, or that which a folder has of the same jobs.

    With `sharing` it holds for schedules in which jobs share GPUs, too.
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
    before = (counted["eligible"].clip(lower=period.since) - counted["submit"]).to_numpy(float)
    runtime = (counted["end"] - counted["start"]).to_numpy(float)
    jct = [s + before[p.jobs].mean() for s, p in zip(kept["seconds"], parts, strict=True)]
    waits = [max(0.0, m - runtime[p.jobs].mean()) for m, p in zip(jct, parts, strict=True)]
    sizes = [len(part.jobs) for part in parts]
    mean_jct, mean_wait = (_down(float(np.average(v, weights=sizes))) for v in (jct, waits))
    if sharing:
        return Limit(mean_jct, None, kept["source"], True, (None,) * len(parts))
    return Limit(mean_jct, max(0.0, mean_wait), kept["source"], False, tuple(map(float, waits)))


def _down(value: float) -> float:
    """Return the next lower number, so that a bound that is rounded stays one."""
    return float(np.nextafter(value, -np.inf))
