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
from typing import TYPE_CHECKING, Final, TypeVar

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

    waiting = waiting.sort_values(["eligible", "submit"], ignore_index=True)
    timeline = Timeline(waiting, holding, capacity, others, usable)
    no_room = np.zeros(len(waiting))
    behind = np.zeros(len(waiting))
    places = zip(timeline.kind_of, timeline.queue_of, *timeline.spans, strict=True)
    for j, (kind, queue, first, last) in enumerate(places):
        fits = timeline.fits[kind][first:last]
        length = timeline.lengths[first:last]
        no_room[j] = length[~fits].sum()
        in_order = fits & (timeline.blocked[queue][first:last] < j)
        behind[j] = timeline.in_order[queue][first:last][in_order].sum()
    submit, eligible, start = (
        waiting[name].to_numpy(float) for name in ("submit", "eligible", "start")
    )
    jobs = waiting[["id", "gpus"]].assign(
        wait=start - submit, not_eligible=eligible - submit, no_room=no_room, behind=behind
    )
    # Sums of floats: what is left of a wait that is explained is 0 up to rounding.
    left = start - eligible - no_room - behind
    jobs["held_back"] = np.where(np.abs(left) < 1e-6 * np.maximum(1, start - eligible), 0, left)
    jobs["held_back_without_cpus"] = jobs["held_back"]
    jobs = jobs[jobs["wait"] > 0].reset_index(drop=True)
    seconds = jobs[list(CAUSES)]
    hours = seconds.sum().to_numpy() / 3600
    gpu_hours = seconds.mul(jobs["gpus"], axis=0).sum().to_numpy() / 3600
    table = pd.DataFrame({"cause": list(CAUSES.values()), "hours": hours, "gpu_hours": gpu_hours})
    table["share"] = hours / (hours.sum() or 1.0)
    return Explanation(table, jobs)


class Timeline:
    """Which kinds of jobs fit, and who is blocked, between each two events of a record.

    `kind_of`, `queue_of` and `spans`, the first interval and the one after the last, are by waiting
    job. By interval, of `lengths` seconds from one of the moments to the next: whether a job of
    each kind `fits`, where one waits; the first place in each queue that waits and does not fit
    (`blocked`); and the seconds in which the first of each queue does not fit, or began to within
    the last cycle (`in_order`).
    """

    def __init__(
        self,
        waiting: pd.DataFrame,
        holding: pd.DataFrame,
        capacity: Capacity,
        others: pd.DataFrame,
        usable: NDArray[np.bool_],
    ) -> None:
        partitions = [name if isinstance(name, str) else None for name in waiting["partition"]]
        shapes = map(_shape, waiting["nodes"], waiting["gpus"], waiting["cpus"])
        needs = list(zip(partitions, waiting["class"].tolist(), shapes, strict=True))
        queues, self.queue_of = _numbered(partitions)
        self._kinds, self.kind_of = _numbered(needs)
        index = {name: i for i, name in enumerate(capacity.nodes["name"])}
        # Start, end, node, what is held there, and CPUs.
        held = np.array([*_held(holding, index), *_held_cpus(others, index)], float).reshape(-1, 5)
        times = waiting[["eligible", "start"]].to_numpy(float)
        moments = np.unique(np.concatenate((times.ravel(), held[:, :2].ravel())))
        self.lengths = np.diff(moments, append=moments[-1:])
        self.spans = np.searchsorted(moments, times).T.tolist()
        self.fits = self._fitting(held, moments, capacity, usable)
        self._look(queues, moments)

    def _fitting(
        self,
        held: NDArray[np.float64],
        moments: NDArray[np.float64],
        capacity: Capacity,
        usable: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Return where a job of each kind fits; what ends comes before what starts."""
        waits = np.zeros((len(self._kinds), len(moments)), np.bool_)
        for kind, first, last in zip(self.kind_of, *self.spans, strict=True):
            waits[kind, first:last] = True
        free = np.array((capacity.nodes["gpus"], _cpus(capacity, held)), float)
        held = held[held[:, 0] != held[:, 1]]
        node = np.repeat(held[:, 2].astype(np.int64), 2)
        change = np.stack((-held[:, 3:], held[:, 3:]), axis=1).reshape(-1, 2).T
        moment = np.searchsorted(moments, held[:, :2]).ravel()
        order = np.argsort(moment, kind="stable")
        edges = np.searchsorted(moment[order], np.arange(len(moments) + 1)).tolist()
        nodes = [np.flatnonzero(usable[c]) for _, c, _ in self._kinds]
        parts = [np.array(shape).T for _, _, shape in self._kinds]
        shapes = [(amounts, float(cpus.max())) for amounts, cpus in parts]
        fits = np.zeros_like(waits)
        known: dict[int, bool] = {}
        for k in range(len(moments) - 1):
            now = order[edges[k] : edges[k + 1]]
            if len(now):
                for amounts, changed in zip(free, change[:, now], strict=True):
                    np.add.at(amounts, node[now], changed)
                known.clear()
            for kind in np.flatnonzero(waits[:, k]).tolist():
                if kind not in known:
                    known[kind] = _room(free[:, nodes[kind]], *shapes[kind])
                fits[kind, k] = known[kind]
        return fits

    def _look(self, queues: Sequence[str | None], moments: NDArray[np.float64]) -> None:
        """Note who is blocked, and when the first of a queue holds it back."""
        self.blocked, head = np.full((2, len(queues), len(moments)), NOBODY)
        fits = np.zeros(head.shape, np.bool_)
        for kind, (name, *_) in enumerate(self._kinds):
            queue = queues.index(name)
            first = np.full(len(moments), NOBODY)
            for j in np.flatnonzero(np.array(self.kind_of) == kind)[::-1].tolist():
                first[self.spans[0][j] : self.spans[1][j]] = j
            out = np.where(self.fits[kind], NOBODY, first)
            self.blocked[queue] = np.minimum(self.blocked[queue], out)
            leads = first < head[queue]
            head[queue, leads], fits[queue, leads] = first[leads], self.fits[kind, leads]
        fresh = np.ones(head.shape, np.bool_)
        fresh[:, 1:] = (head[:, 1:] != head[:, :-1]) | ~fits[:, :-1]
        since = np.maximum.accumulate(np.where(fresh, np.arange(len(moments)), 0), axis=1)
        left = np.clip(moments[since] + CYCLE - moments, 0, self.lengths)
        self.in_order = np.where(head < NOBODY, np.where(fits, left, self.lengths), 0)


def _cpus(capacity: Capacity, held: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the nodes have of CPUs: as stated, else the most that was held at a time."""
    most = np.full(len(capacity.nodes), np.inf)
    if len(held):
        start, end, node, _, cpus = held.T
        peak = highest(node.astype(np.int64), start, end, np.ceil(cpus))
        most[: len(peak)] = np.where(peak > 0, peak, np.inf)
    if "cpus" in capacity.nodes:
        stated = capacity.nodes["cpus"].to_numpy(float)
        most = np.where(np.isnan(stated), most, stated)
    return most


def _room(free: NDArray[np.float64], amounts: NDArray[np.float64], cpus: float) -> bool:
    """Return whether parts of a job, the largest first, fit into what is free on some nodes."""
    able = free[0, free[1] >= cpus]
    if len(amounts) > len(able):
        return False
    if len(amounts) == 1:
        return bool(able.max() >= amounts[0])
    return bool((np.sort(able)[::-1][: len(amounts)] >= amounts).all())


def _held(holding: pd.DataFrame, index: Mapping[str, int]) -> Iterator[tuple[float, ...]]:
    """Yield what jobs hold on the nodes; their CPUs are divided as their GPUs are."""
    columns = (holding[name].tolist() for name in ("start", "end", "gpus", "cpus", "nodes"))
    for start, end, gpus, cpus, nodes in zip(*columns, strict=True):
        each = cpus / gpus if cpus > 0 else 0.0
        for name, amount in nodes:
            if name in index:
                yield start, end, index[name], amount, each * amount


def _held_cpus(others: pd.DataFrame, index: Mapping[str, int]) -> Iterator[tuple[float, ...]]:
    """Yield what jobs without the resource hold of the nodes' CPUs, evenly."""
    columns = (others[name].tolist() for name in ("start", "end", "cpus", "nodes"))
    for start, end, cpus, nodes in zip(*columns, strict=True):
        for name in nodes:
            if name in index and end > start:
                yield start, end, index[name], 0.0, cpus / len(nodes)


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
