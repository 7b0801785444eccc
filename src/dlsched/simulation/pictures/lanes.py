"""Which of a server's GPUs a job holds: for pictures, since logs have only how many."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Stretch(NamedTuple):
    """One GPU, held by a job from a time to another (seconds).

    Attributes
    ----------
    lane
        Number of the GPU, counted through the servers in the cluster's order.
    job
        Position of the job.
    group
        Name of the group that takes turns on the GPU; None for a job that has it for itself.
    """

    lane: int
    start: float
    end: float
    job: int
    group: str | None


def stretches(servers: Sequence[dict[str, Any]], segments: pd.DataFrame) -> list[Stretch]:
    """Return what every GPU did.

    Each job gets the GPUs of its last stretch again if they are free, else those of the lowest
    numbers. Members of a group share the GPUs; their stretches lie on top of each other.
    """
    import pandas as pd

    first, free = {}, {}
    total = 0
    for server in servers:
        first[server["id"]] = total
        free[server["id"]] = [0.0] * server["gpus"]
        total += server["gpus"]
    held_by: dict[tuple[str, str], tuple[list[int], float]] = {}
    last: dict[tuple[str, str], list[int]] = {}
    drawn = []
    rows = segments.sort_values(["start", "end"], kind="stable")
    for job, start, end, shares, sharing in rows[
        ["job", "start", "end", "shares", "sharing"]
    ].itertuples(index=False):
        alone = pd.isna(sharing)
        owner = str(job) if alone else sharing
        for name, count, *_ in json.loads(shares):
            until = free[name]
            held, busy = held_by.get((owner, name), ([], -1.0))
            if alone or start >= busy or len(held) != count:
                before = last.get((owner, name), [])
                order = sorted(range(len(until)), key=lambda i: (until[i] > start, i not in before))
                held = order[:count]
            for i in held:
                until[i] = max(until[i], end)
                drawn.append(
                    Stretch(first[name] + i, start, end, int(job), None if alone else owner)
                )
            held_by[owner, name] = (held, max(end, busy))
            last[owner, name] = held
    return drawn
