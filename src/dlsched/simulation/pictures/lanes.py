"""Which of a server's GPUs a job holds: for pictures, since logs have only how many; and a map."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.colours import IDLE
from dlsched.display.drawing.maps import colours_array
from dlsched.display.drawing.style import TEXT, short_name
from dlsched.simulation.workload.cluster import Server

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

STRIPE = 4
"""Columns after which a map changes to the next job of a group."""
MOST_NAMES = 16
"""Servers whose names stand beside a map."""


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


def stretches(servers: Sequence[Server], segments: pd.DataFrame) -> list[Stretch]:
    """Return what every GPU did.

    Each job gets the GPUs of its last stretch again if they are free, else those of the lowest
    numbers. Members of a group share the GPUs; their stretches lie on top of each other.
    """
    import pandas as pd

    first, free = {}, {}
    total = 0
    for server in servers:
        first[server.id] = total
        free[server.id] = [0.0] * server.gpus
        total += server.gpus
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


def owners(
    servers: Sequence[Server],
    segments: pd.DataFrame,
    columns: int,
    window: tuple[float, float],
    most: int | None = None,
) -> NDArray[np.int64]:
    """Return which job each pixel of a map shows, shape (GPUs, columns); -1 for none.

    Jobs that share GPUs alternate in stripes.

    Parameters
    ----------
    window
        The time that is shown, in seconds.
    most
        GPUs that are shown, at most.
    """
    owner = np.full((sum(server.gpus for server in servers), columns), -1, np.int64)[:most]
    turn = np.arange(columns) // STRIPE
    shared = segments.dropna(subset="sharing")
    members = {name: sorted(set(jobs)) for name, jobs in shared.groupby("sharing")["job"]}
    begin, end = window
    for lane, start, stop, job, group in stretches(servers, segments):
        if lane >= len(owner):
            continue
        first, last = (round(columns * (t - begin) / (end - begin)) for t in (start, stop))
        mine = np.arange(max(0, first), min(columns, max(last, first + 1)))
        together = members.get(group or "", [job])
        turns = turn[mine] % len(together) == together.index(job)
        owner[lane, mine[turns | (owner[lane, mine] < 0)]] = job
    return owner


def draw_owners(
    ax: Axes,
    owner: NDArray[np.int64],
    colours: Sequence[str],
    hours: tuple[float, float],
    servers: Sequence[Server],
) -> None:
    """Draw a map that `owners` returned, with the names of as many servers as there is room for."""
    lanes = len(owner)
    palette = colours_array([*colours, IDLE])
    ax.imshow(palette[owner], extent=(*hours, lanes, 0), aspect="auto", interpolation="none")
    starts = np.cumsum([0, *(server.gpus for server in servers)])[:-1]
    every = np.flatnonzero(starts < lanes).tolist()
    places = every[:: max(1, len(every) // MOST_NAMES)]
    ax.set_yticks(starts[places], [short_name(servers[i].id, 16) for i in places], fontsize=TEXT)
