"""The recorded waiting, divided into what the record explains and what it does not.

At every moment of its wait a job is in one of these states, by the recorded occupancy of the nodes:

- *not yet eligible*: from its submission to `eligible`;
- *no room*: it does not fit, in the shape that it had later: as many nodes with as much on each, of
  those where it may run (`dlsched.simulation.eligible`), with as many CPUs free as it needs there;
- *behind*: it fits, but a job of the same partition that became eligible before it waits, too, and
  does not fit: a queue in order would hold it back. That counts only while the first of that queue
  does not fit either, or began to less than `CYCLE` seconds ago: if it fits and does not start,
  something that is not in the record holds the queue back;
- *held back*: it fits, and neither occupancy nor order explains why it waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlsched.records.capacity import Capacity, highest

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
ENOUGH: Final = 0.8
"""Share of the recorded waiting that must be explained for savings to be claimed."""
CYCLE: Final = 60.0
"""Seconds until a scheduler sees what has become free: the default of Slurm's sched_interval."""
CAUSES: Final = {
    "not_eligible": "not yet eligible",
    "no_room": "no room",
    "behind": "behind",
    "held_back": "held back",
}
"""The causes, by the columns of `Explanation.jobs`."""
NOBODY: Final = np.iinfo(np.int64).max
"""The place in the queue of a blocked job where there is none."""


@dataclass(frozen=True)
class Explanation:
    """The recorded waiting from submission to start, divided by its causes.

    Attributes
    ----------
    table
        Data frame with one row per cause and the columns ``cause``, ``hours``, ``gpu_hours``,
        ``share`` (of the hours). The causes are ``"not yet eligible"``, ``"no room"`` (by the
        recorded occupancy), ``"behind"`` (room, but a job before it had none) and ``"held
        back"`` (room, and nobody before it without).
    jobs
        Data frame with one row per job that waited: ``id``, ``gpus``, ``wait``, the seconds of
        each cause (``not_eligible``, ``no_room``, ``behind``, ``held_back``), and
        ``held_back_without_cpus``, if CPUs did not count.
    """

    table: pd.DataFrame
    jobs: pd.DataFrame

    def __repr__(self) -> str:
        """Return the explained share, and how many jobs waited."""
        return f"<{len(self.jobs):,} jobs waited; {int(100 * self.share)} % is explained>"

    @property
    def share(self) -> float:
        """Share of the waiting hours that is explained; 1 if nobody waited."""
        return explained_share(self.jobs, "held_back")

    @property
    def without_cpus(self) -> float:
        """What `share` would be if CPUs did not count: what jobs hold of them no policy sees."""
        return explained_share(self.jobs, "held_back_without_cpus")

    @property
    def delay(self) -> float:
        """Mean seconds that a job was held back: a scheduler's own delay, if all is explained."""
        return float(self.jobs["held_back"].mean()) if len(self.jobs) else 0.0


def explained_share(jobs: pd.DataFrame, column: str) -> float:
    """Return the share of some jobs' waiting that is not in a column of `Explanation.jobs`."""
    total = float(jobs["wait"].sum())
    return 1 - float(jobs[column].sum()) / total if total else 1.0


def explain(
    waiting: pd.DataFrame,
    holding: pd.DataFrame,
    capacity: Capacity,
    others: pd.DataFrame,
    usable: NDArray[np.bool_],
) -> Explanation:
    """Return the waiting of some jobs with a start, divided by its causes.

    `holding` are the jobs that hold something, `others` those that hold CPUs alone; with an end.
    `usable` says where jobs may run, shape (classes, nodes); ``waiting["class"]`` is a job's class.
    """
    import pandas as pd

    order = np.lexsort((waiting["submit"].to_numpy(), waiting["eligible"].to_numpy()))
    waiting = waiting.iloc[order].reset_index(drop=True)
    timeline = Timeline(waiting, holding, capacity, others, usable)
    no_room = np.zeros(len(waiting))
    behind = np.zeros(len(waiting))
    begin, end = (np.searchsorted(timeline.moments, waiting[c]) for c in ("eligible", "start"))
    places = zip(timeline.kind_of, timeline.queue_of, begin.tolist(), end.tolist(), strict=True)
    for j, (kind, queue, first, last) in enumerate(places):
        fits = timeline.fits[kind][first:last]
        length = timeline.lengths[first:last]
        no_room[j] = length[~fits].sum()
        in_order = fits & (timeline.blocked[queue][first:last] < j)
        behind[j] = timeline.in_order[queue][first:last][in_order].sum()
    submit, eligible, start = (
        waiting[name].to_numpy(float) for name in ("submit", "eligible", "start")
    )
    jobs = waiting[["id", "gpus"]].copy()
    jobs["wait"] = start - submit
    jobs["not_eligible"] = eligible - submit
    jobs["no_room"] = no_room
    jobs["behind"] = behind
    # Sums of floats: what is left of a wait that is explained is 0 up to rounding.
    left = start - eligible - no_room - behind
    jobs["held_back"] = np.where(np.abs(left) < 1e-6 * np.maximum(1, start - eligible), 0, left)
    jobs["held_back_without_cpus"] = jobs["held_back"]
    jobs = jobs[jobs["wait"] > 0].reset_index(drop=True)
    causes = list(CAUSES)
    hours = jobs[causes].sum() / 3600
    gpu_hours = jobs[causes].mul(jobs["gpus"], axis=0).sum() / 3600
    total = float(hours.sum())
    table = pd.DataFrame(
        {
            "cause": list(CAUSES.values()),
            "hours": hours.to_numpy(),
            "gpu_hours": gpu_hours.to_numpy(),
            "share": hours.to_numpy() / total if total else np.zeros(len(causes)),
        }
    )
    return Explanation(table, jobs)


class Timeline:
    """Which kinds of jobs fit, and who is blocked, between each two events of a record.

    `kind_of` and `queue_of` are by waiting job. By interval, of `lengths` seconds from one of the
    `moments` to the next: whether a job of each kind `fits`, where one waits; the first
    place in each queue that waits and does not fit (`blocked`); and the seconds in which the first
    of each queue does not fit, or began to within the last cycle (`in_order`).
    """

    def __init__(
        self,
        waiting: pd.DataFrame,
        holding: pd.DataFrame,
        capacity: Capacity,
        others: pd.DataFrame,
        usable: NDArray[np.bool_],
    ) -> None:
        self._index = {name: i for i, name in enumerate(capacity.nodes["name"])}
        self._free = capacity.nodes["gpus"].to_numpy(float).copy()
        self._begin = waiting["eligible"].to_numpy(float)
        self._end = waiting["start"].to_numpy(float)
        partitions = [name if isinstance(name, str) else None for name in waiting["partition"]]
        shapes = map(_shape, waiting["nodes"], waiting["gpus"], waiting["cpus"])
        needs = list(zip(partitions, waiting["class"].tolist(), shapes, strict=True))
        queues, self.queue_of = _numbered(partitions)
        kinds, self.kind_of = _numbered(needs)
        self._shapes = [np.array(shape) for _, _, shape in kinds]
        self._queue_of_kind = [queues.index(name) for name, _, _ in kinds]
        self._nodes = [np.flatnonzero(usable[c]) for _, c, _ in kinds]
        held = [*_held(holding, self._index), *_held_cpus(others, self._index)]
        self._free_cpus = self._cpus(capacity, held)
        times = [(start, end) for start, end, *_ in held]
        moments = np.concatenate((self._begin, self._end, np.array(times).ravel()))
        self.moments: NDArray[np.float64] = np.unique(moments)
        self.lengths = np.diff(self.moments, append=self.moments[-1:])
        size = len(self.moments)
        self.fits = np.zeros((len(kinds), size), np.bool_)
        self.blocked = np.full((len(queues), size), NOBODY, np.int64)
        self.in_order = np.zeros((len(queues), size))
        self._run(held)

    def _cpus(self, capacity: Capacity, held: Sequence[Held]) -> NDArray[np.float64]:
        """Return what the nodes have of CPUs: as stated, else the most that was held at a time."""
        most = np.full(len(self._index), np.inf)
        if held:
            start, end, node, _, cpus = map(np.array, zip(*held, strict=True))
            peak = highest(node.astype(np.int64), start, end, np.ceil(cpus))
            most[: len(peak)] = np.where(peak > 0, peak, np.inf)
        if "cpus" in capacity.nodes:
            stated = capacity.nodes["cpus"].to_numpy(float)
            most = np.where(np.isnan(stated), most, stated)
        return most

    def _run(self, held: Sequence[Held]) -> None:
        """Go through the events in order; those that end come before those that start."""
        changes = self._changes(held)
        arriving = _by_interval(self.moments, self._begin)
        leaving = _by_interval(self.moments, self._end)
        present: list[dict[int, None]] = [{} for _ in self._shapes]
        known: dict[int, bool] = {}
        # Of each queue, the first that fits without starting, and since when.
        heads: dict[int, tuple[int, float]] = {}
        for k in range(len(self.moments) - 1):
            for node, amount, cpus in changes.get(k, ()):
                self._free[node] += amount
                self._free_cpus[node] += cpus
            if k in changes:
                known.clear()
            for j in arriving.get(k, ()):
                if self._end[j] > self._begin[j]:
                    present[self.kind_of[j]][j] = None
            for j in leaving.get(k, ()):
                present[self.kind_of[j]].pop(j, None)
            first = self._look(k, present, known)
            now, length = float(self.moments[k]), float(self.lengths[k])
            for queue, (place, fits) in first.items():
                if not fits:
                    heads.pop(queue, None)
                    self.in_order[queue, k] = length
                    continue
                if queue not in heads or heads[queue][0] != place:
                    heads[queue] = place, now
                self.in_order[queue, k] = min(max(heads[queue][1] + CYCLE - now, 0.0), length)

    def _look(
        self, k: int, present: list[dict[int, None]], known: dict[int, bool]
    ) -> dict[int, tuple[int, bool]]:
        """Note which kinds fit in an interval; return the first of each queue, and if it fits."""
        first: dict[int, tuple[int, bool]] = {}
        for kind, jobs in enumerate(present):
            if not jobs:
                continue
            if kind not in known:
                known[kind] = self._room(kind)
            fits = self.fits[kind, k] = known[kind]
            place = next(iter(jobs))
            queue = self._queue_of_kind[kind]
            if not fits:
                self.blocked[queue, k] = min(self.blocked[queue, k], place)
            if queue not in first or place < first[queue][0]:
                first[queue] = place, fits
        return first

    def _room(self, kind: int) -> bool:
        """Return whether a job of a kind fits into what is free now."""
        amounts, cpus = self._shapes[kind].T
        nodes = self._nodes[kind]
        free = self._free[nodes[self._free_cpus[nodes] >= cpus.max()]]
        if len(amounts) > len(free):
            return False
        if len(amounts) == 1:
            return bool(free.max() >= amounts[0])
        largest = -np.sort(-free)[: len(amounts)]
        return bool((largest >= amounts).all())

    def _changes(self, held: Sequence[Held]) -> dict[int, list[tuple[int, float, float]]]:
        """Return what becomes free or taken on each node at each moment."""
        changes: dict[int, list[tuple[int, float, float]]] = {}
        starts = np.searchsorted(self.moments, [one.start for one in held]).tolist()
        ends = np.searchsorted(self.moments, [one.end for one in held]).tolist()
        for one, start, end in zip(held, starts, ends, strict=True):
            if start != end:
                changes.setdefault(start, []).append((one.node, -one.amount, -one.cpus))
                changes.setdefault(end, []).append((one.node, one.amount, one.cpus))
        return changes


class Held(NamedTuple):
    """What a job holds on a node, from when to when."""

    start: float
    end: float
    node: int
    amount: float
    cpus: float


def _held(holding: pd.DataFrame, index: Mapping[str, int]) -> Iterator[Held]:
    """Yield what jobs hold on the nodes; their CPUs are divided as their GPUs are."""
    columns = (holding[name].tolist() for name in ("start", "end", "gpus", "cpus", "nodes"))
    for start, end, gpus, cpus, nodes in zip(*columns, strict=True):
        each = cpus / gpus if cpus > 0 else 0.0
        for name, amount in nodes:
            if name in index:
                yield Held(start, end, index[name], amount, each * amount)


def _held_cpus(others: pd.DataFrame, index: Mapping[str, int]) -> Iterator[Held]:
    """Yield what jobs without the resource hold of the nodes' CPUs, evenly."""
    columns = (others[name].tolist() for name in ("start", "end", "cpus", "nodes"))
    for start, end, cpus, nodes in zip(*columns, strict=True):
        for name in nodes:
            if name in index and end > start:
                yield Held(start, end, index[name], 0.0, cpus / len(nodes))


def _shape(
    held: tuple[tuple[str, int], ...], gpus: int, cpus: float
) -> tuple[tuple[float, float], ...]:
    """Return what a job needs on how many nodes, and CPUs there, the largest part first."""
    amounts = sorted((amount for _, amount in held), reverse=True) or [int(gpus)]
    each = cpus / gpus if cpus > 0 else 0.0
    return tuple((float(amount), np.floor(each * amount)) for amount in amounts)


def _numbered(values: list[T]) -> tuple[list[T], list[int]]:
    """Return the distinct values, and the number of each value."""
    number: dict[T, int] = {}
    codes = [number.setdefault(value, len(number)) for value in values]
    return list(number), codes


def _by_interval(moments: NDArray[np.float64], times: NDArray[np.float64]) -> dict[int, list[int]]:
    """Return the jobs whose time begins each interval, in their order."""
    found: dict[int, list[int]] = {}
    for j, k in enumerate(np.searchsorted(moments, times).tolist()):
        found.setdefault(k, []).append(j)
    return found
