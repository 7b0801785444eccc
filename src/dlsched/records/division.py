"""How a job's GPUs were divided among its nodes, where a record has only their sum.

Slurm's accounting has the nodes of a job and its GPUs altogether. Mostly they are divided evenly.
Where that cannot be (7 GPUs on 2 nodes, or more on a node than it has), this program divides them:

    min  sum_n c_n   s.t.   sum_n x_jn = g_j   for each job j on several nodes,
                            known_n(t) + sum_j x_jn <= c_n   at each moment t, for each node n,
                            1 <= x_jn <= size_n and whole,

where j runs over the jobs that hold n at t and c_n is the node's size, or its excess over a size
that is given. So the nodes have no more than they must for the record to be true. What no division
explains is a contradiction of the record; `overfull` names the jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from dlsched.records.capacity import peaks

if TYPE_CHECKING:
    import pandas as pd

Parts = tuple[tuple[str, int], ...]
"""What a job holds on each of its nodes."""
AT_ONCE: Final = 4000
"""Most amounts of one program; of more jobs, one part after another is divided, each together with
as many of those that started next."""
LARGEST: Final = 200_000
"""Most amounts that are computed at all."""
SECONDS: Final = 60.0
"""Time limit of the solver for one program."""


class Run(NamedTuple):
    """A job that ran: when, its GPUs, and its nodes."""

    start: float
    end: float
    gpus: int
    nodes: tuple[str, ...]


def divide(runs: Sequence[Run], sizes: Mapping[str, int] | None = None) -> list[Parts] | None:
    """Return what each job held on each of its nodes; None if no division is found.

    Parameters
    ----------
    sizes
        What each node has; None if it is not known.
    """
    order = sorted(range(len(runs)), key=lambda j: runs[j].start)
    several = [j for j in order if len(runs[j].nodes) > 1]
    counts = [len(runs[j].nodes) for j in several]
    if not 0 < sum(counts) <= LARGEST:
        return None
    parts: dict[int, Parts] = {
        j: tuple((name, run.gpus) for name in run.nodes)
        for j, run in enumerate(runs)
        if len(run.nodes) <= 1
    }
    known = dict(sizes or {})
    begin = 0
    while begin < len(several):
        end = begin + int(np.searchsorted(np.cumsum(counts[begin:]), AT_ONCE, side="right"))
        end = max(end, begin + 1)
        open_jobs = several[begin:end]
        solved = _solve(runs, open_jobs, parts, known, sizes)
        if solved is None:
            return None
        divided, known = solved
        # The later half only looks ahead: it is divided again, together with those after it.
        settled = end if end == len(several) else begin + max(1, (end - begin) // 2)
        parts |= {j: divided[j] for j in several[begin:settled]}
        begin = settled
    return [parts[j] for j in range(len(runs))]


def _solve(
    runs: Sequence[Run],
    open_jobs: Sequence[int],
    parts: Mapping[int, Parts],
    sizes: Mapping[str, int],
    given: Mapping[str, int] | None,
) -> tuple[dict[int, Parts], dict[str, int]] | None:
    """Divide some jobs, given the parts of others; return the parts and what nodes have by then."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    first: dict[int, int] = {}
    size = 0
    for j in open_jobs:
        first[j] = size
        size += len(runs[j].nodes)
    names = sorted({name for j in open_jobs for name in runs[j].nodes})
    column = {name: size + i for i, name in enumerate(names)}
    least_start = min(runs[j].start for j in open_jobs)
    latest = max(runs[j].end for j in open_jobs)
    events = _events(runs, first, parts, least_start, latest)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    lower: list[float] = []
    upper: list[float] = []

    def add(entries: Sequence[tuple[int, float]], low: float, high: float) -> None:
        for place, value in entries:
            rows.append(len(lower))
            columns.append(place)
            values.append(value)
        lower.append(low)
        upper.append(high)

    most = np.ones(size + len(names))
    for j, at in first.items():
        count = len(runs[j].nodes)
        add([(at + i, 1.0) for i in range(count)], runs[j].gpus, runs[j].gpus)
        most[at : at + count] = runs[j].gpus - count + 1
        if given is not None:
            room = np.array([given.get(name, 0) for name in runs[j].nodes])
            if room.sum() >= runs[j].gpus:
                most[at : at + count] = np.minimum(most[at : at + count], room)
    most[size:] = np.inf
    for name in names:
        for held, places in _peaks(events.get(name, [])):
            limit = sizes.get(name, 0) - held
            add([*((place, 1.0) for place in places), (column[name], -1.0)], -np.inf, limit)
    if (most[:size] < 1).any():
        return None
    cost = np.concatenate((np.zeros(size), np.ones(len(names))))
    least = np.concatenate((np.ones(size), np.zeros(len(names))))
    matrix = coo_array((values, (rows, columns)), shape=(len(lower), len(cost)))
    solved = milp(
        cost,
        constraints=LinearConstraint(matrix.tocsr(), lower, upper),
        integrality=np.ones(len(cost), np.int64),
        bounds=Bounds(least, most),
        options={"time_limit": SECONDS},
    )
    if solved.x is None:
        return None
    amounts = np.round(solved.x).astype(np.int64).tolist()
    divided = {
        j: tuple(zip(runs[j].nodes, amounts[at : at + len(runs[j].nodes)], strict=True))
        for j, at in first.items()
    }
    more = {name: sizes.get(name, 0) + amounts[column[name]] for name in names}
    return divided, {**sizes, **more}


class Event(NamedTuple):
    """A start (1) or an end (0): a known amount, or the position of an unknown one."""

    time: float
    is_start: int
    amount: int
    place: int


def _events(
    runs: Sequence[Run],
    first: Mapping[int, int],
    parts: Mapping[int, Parts],
    since: float,
    until: float,
) -> dict[str, list[Event]]:
    """Return the starts and ends on each node of the jobs that ran within a time."""
    events: dict[str, list[Event]] = {}
    for j, run in enumerate(runs):
        if run.end <= since or run.start >= until or run.end <= run.start:
            continue
        if j in first:
            held = [(name, 0, first[j] + i) for i, name in enumerate(run.nodes)]
        else:
            held = [(name, amount, -1) for name, amount in parts.get(j, ())]
        for name, amount, place in held:
            own = events.setdefault(name, [])
            own.append(Event(run.start, 1, amount, place))
            own.append(Event(run.end, 0, amount, place))
    return events


def _peaks(events: list[Event]) -> list[tuple[int, list[int]]]:
    """Return what is known to be held on a node, and the positions of what is not, at its peaks.

    A peak is a moment after which a job ends before another starts: at all others less is held.
    """
    known = 0
    present: dict[int, None] = {}
    peaks: list[tuple[int, list[int]]] = []
    for is_start, several in groupby(sorted(events), key=lambda event: event.is_start):
        for event in several:
            known += event.amount if is_start else -event.amount
            if event.place >= 0 and is_start:
                present[event.place] = None
            elif event.place >= 0:
                del present[event.place]
        if is_start:
            peaks.append((known, list(present)))
    return peaks


def overfull(
    jobs: pd.DataFrame, sizes: Mapping[str, int], horizon: float
) -> list[tuple[str, int, list[str]]]:
    """Return the nodes that held more than they have: node, most at a time, the jobs then."""
    most = peaks(jobs[jobs["start"].notna()], horizon)
    full = {
        name
        for name, gpus in zip(most["name"], most["gpus"], strict=True)
        if gpus > sizes.get(name, 0)
    }
    if not full:
        return []
    events: dict[str, list[tuple[float, int, int, str]]] = {name: [] for name in sorted(full)}
    ends = jobs["end"].fillna(horizon)
    for name, start, end, held in zip(jobs["id"], jobs["start"], ends, jobs["nodes"], strict=True):
        for node, amount in held if end > start else ():
            if node in events:
                events[node] += [(start, 1, amount, name), (end, 0, amount, name)]
    found = []
    for node, listed in events.items():
        present: dict[str, int] = {}
        highest: tuple[int, list[str]] = 0, []
        for _, is_start, amount, name in sorted(listed):
            present[name] = amount
            if not is_start:
                del present[name]
            highest = max(highest, (sum(present.values()), list(present)), key=lambda peak: peak[0])
        found.append((node, *highest))
    return found
