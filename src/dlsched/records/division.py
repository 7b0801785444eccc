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

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dlsched.records.capacity import held_parts, peaks
from dlsched.records.readers.rows import objects
from dlsched.records.readers.values import counted

if TYPE_CHECKING:
    import pandas as pd

Parts = tuple[tuple[str, int], ...]
"""What a job holds on each of its nodes."""
Sizes = Mapping[str, int]
AT_ONCE: Final = 4000
"""Most amounts of one program; of more jobs, one part after another is divided, each together with
as many of those that started next."""
LARGEST: Final = 200_000
"""Most amounts that are computed at all."""
SECONDS: Final = 60.0
"""Time limit of the solver for one program."""


def spread_jobs(jobs: pd.DataFrame, amounts: Any, sizes: Sizes | None) -> None:
    """Set what jobs held on each node that they name: as recorded in `amounts`, or evenly."""
    known: dict[tuple[Any, ...], Parts] = {}
    for key in zip(jobs["nodes"], amounts, jobs["gpus"].tolist(), strict=True):
        if key not in known:
            names, recorded, gpus = key
            held: Counter[str] = Counter()  # a node may be named more than once
            for name, amount in zip(names, recorded or _even(names, gpus, sizes), strict=False):
                held[name] += amount
            known[key] = tuple((name, amount) for name, amount in held.items() if amount)
    keys = zip(jobs["nodes"], amounts, jobs["gpus"].tolist(), strict=True)
    jobs["nodes"] = objects([known[key] for key in keys])


def _even(names: Sequence[str], amount: int, sizes: Sizes | None) -> list[int]:
    """Return how much of an amount is on each node, evenly; what is over on the first.

    No node has more than its size, if sizes are given and what they have together suffices.
    """
    each, over = divmod(amount, max(len(names), 1))
    parts = [each + (i < over) for i in range(len(names))]
    room = [0 if sizes is None else sizes.get(name, 0) for name in names]
    if sum(room) >= amount and len({*names}) == len(names):
        rest = sum(max(part - most, 0) for part, most in zip(parts, room, strict=True))
        for i, most in enumerate(room):
            parts[i] = min(parts[i], most)
            more = min(rest, most - parts[i])
            parts[i] += more
            rest -= more
    return parts


def divide_jobs(jobs: pd.DataFrame, sizes: Sizes | None, unit: str) -> Iterator[str]:
    """Divide the amounts of jobs on several nodes where an even division cannot be; yield notes."""
    import pandas as pd

    held = jobs["nodes"].map(len)
    ran = jobs["start"].notna() & (held > 0)
    several = ran & (held > 1)
    uneven = several & (jobs["gpus"] % held.clip(lower=1) > 0)
    if not several.any() or not (uneven.any() if sizes is None else overfull(jobs, sizes)):
        return
    rows = jobs.loc[ran, ["start", "end", "gpus", "nodes"]].fillna({"end": np.inf})
    runs = [
        Run(start, end, gpus, tuple(name for name, _ in nodes))
        for start, end, gpus, nodes in rows.itertuples(index=False, name=None)
    ]
    parts = divide(runs, sizes)
    if parts is not None:
        jobs.loc[ran, "nodes"] = pd.Series(objects(parts), index=rows.index, dtype=object)
    how = "divided so that the nodes need to have least"
    how = "divided evenly, what is over on the first ones" if parts is None else how
    count = counted(int(several.sum()), "job")
    yield f"{count} on several nodes, whose {unit} are not recorded by node: {how}"


class Run(NamedTuple):
    """A job that ran: when, its GPUs, and its nodes."""

    start: float
    end: float
    gpus: int
    nodes: tuple[str, ...]


def divide(runs: Sequence[Run], sizes: Sizes | None = None) -> list[Parts] | None:
    """Return what each job held on each of its nodes; None if no division is found."""
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
    sizes: Sizes,
    given: Sizes | None,
) -> tuple[dict[int, Parts], dict[str, int]] | None:
    """Divide some jobs, given the parts of others; return the parts and what nodes have by then."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    counts = [len(runs[j].nodes) for j in open_jobs]
    begins = np.concatenate(([0], np.cumsum(counts))).tolist()
    first = dict(zip(open_jobs, begins, strict=False))
    size = begins[-1]
    names = sorted({name for j in open_jobs for name in runs[j].nodes})
    column = {name: size + i for i, name in enumerate(names)}
    since, until = min(runs[j].start for j in open_jobs), max(runs[j].end for j in open_jobs)
    events = _events(runs, first, parts, since, until)
    entries: list[tuple[int, int, float]] = []  # row, column, value
    limits: list[tuple[float, float]] = []
    most = np.full(size + len(names), np.inf)
    for j, at in first.items():
        run, count = runs[j], len(runs[j].nodes)
        entries += [(len(limits), at + i, 1.0) for i in range(count)]
        limits.append((run.gpus, run.gpus))
        most[at : at + count] = run.gpus - count + 1
        room = np.array([0 if given is None else given.get(name, 0) for name in run.nodes])
        if room.sum() >= run.gpus:
            most[at : at + count] = np.minimum(most[at : at + count], room)
    for name in names:
        for held, places in _peaks(events.get(name, [])):
            entries += [(len(limits), place, 1.0) for place in places]
            entries.append((len(limits), column[name], -1.0))
            limits.append((-np.inf, sizes.get(name, 0) - held))
    if (most[:size] < 1).any():
        return None
    of_node = np.arange(len(most)) >= size
    row, place, value = map(list, zip(*entries, strict=True))
    matrix = coo_array((value, (row, place)), shape=(len(limits), len(most)))
    solved = milp(
        of_node.astype(float),
        constraints=LinearConstraint(matrix.tocsr(), *zip(*limits, strict=True)),
        integrality=np.ones(len(most), np.int64),
        bounds=Bounds((~of_node).astype(float), most),
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


def overfull(jobs: pd.DataFrame, sizes: Sizes) -> list[tuple[str, int, list[str]]]:
    """Return the nodes that held more than they have: node, most at a time, the jobs then."""
    import pandas as pd

    most = peaks(jobs)
    full = most.loc[most["gpus"] > most["name"].map(sizes).fillna(0), "name"]
    found = []
    parts = held_parts(jobs).sort_values(["start", "amount", "id"])
    for node, own in parts[parts["name"].isin(full)].groupby("name"):
        moments = pd.concat([own["start"], own["end"]])
        changes = pd.concat([own["amount"], -own["amount"]])
        level = changes.groupby(moments.to_numpy()).sum().cumsum()
        highest = level.idxmax()
        then = own[(own["start"] <= highest) & (own["end"] > highest)]
        found.append((str(node), int(level.max()), then["id"].tolist()))
    return found
