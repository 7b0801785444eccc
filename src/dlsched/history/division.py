"""How a job's GPUs were divided among its nodes, where a record has only their sum.

Slurm's accounting has the nodes of a job and its GPUs altogether. Mostly they are divided evenly.
Where that cannot be (7 GPUs on 2 nodes, or more on a node than it has), this program divides them:

    min  sum_n c_n   s.t.   sum_n x_jn = g_j   for each job j on several nodes,
                            known_n(t) + sum_j x_jn <= c_n   at each moment t, for each node n,
                            x_jn >= 1 and whole,

where j runs over the jobs that hold n at t and c_n is the node's size, or its excess over a size
that is given. So the nodes have no more than they must for the record to be true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Parts = tuple[tuple[str, int], ...]
"""What a job holds on each of its nodes."""
LARGEST: Final = 20_000
"""Most amounts that are computed: a program of as many takes about a minute."""
SECONDS: Final = 60.0
"""Time limit of the solver."""


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
    several = [j for j, run in enumerate(runs) if len(run.nodes) > 1]
    first: dict[int, int] = {}
    size = 0
    for j in several:
        first[j] = size
        size += len(runs[j].nodes)
    if not 0 < size <= LARGEST:
        return None
    amounts = _solve(runs, first, size, sizes or {})
    if amounts is None:
        return None
    parts: list[Parts] = []
    for j, run in enumerate(runs):
        if j in first:
            held = amounts[first[j] : first[j] + len(run.nodes)].tolist()
            parts.append(tuple(zip(run.nodes, held, strict=True)))
        else:
            parts.append(tuple((name, run.gpus) for name in run.nodes))
    return parts


def _solve(
    runs: Sequence[Run], first: Mapping[int, int], size: int, sizes: Mapping[str, int]
) -> NDArray[np.int64] | None:
    """Return the amounts by position: those of job j begin at ``first[j]``."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    names = sorted({name for run in runs for name in run.nodes})
    column = {name: size + i for i, name in enumerate(names)}
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
    most[size:] = np.inf
    for name in names:
        for known, held in _moments(runs, first, name):
            limit = sizes.get(name, 0) - known
            add([*((place, 1.0) for place in held), (column[name], -1.0)], -np.inf, limit)
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
    return None if solved.x is None else np.round(solved.x[:size]).astype(np.int64)


def _moments(
    runs: Sequence[Run], first: Mapping[int, int], name: str
) -> list[tuple[int, list[int]]]:
    """Return what is known to be held on a node, and the positions of what is not, at its peaks.

    A peak is a moment after which a job ends before another starts: at all others less is held.
    """
    events: list[tuple[float, int, int]] = []
    for j, run in enumerate(runs):
        if name in run.nodes and run.end > run.start:
            events += [(run.start, 1, j), (run.end, 0, j)]
    known = 0
    present: dict[int, int] = {}
    peaks: list[tuple[int, list[int]]] = []
    for is_start, several in groupby(sorted(events), key=lambda event: event[1]):
        for _, _, j in several:
            change = 1 if is_start else -1
            if j not in first:
                known += change * runs[j].gpus
            elif is_start:
                present[j] = first[j] + runs[j].nodes.index(name)
            else:
                del present[j]
        if is_start:
            peaks.append((known, list(present.values())))
    return peaks
