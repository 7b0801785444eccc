"""Who uses the machines of dispatch: what runs, what is preempted, what starts, and what waits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from dlsched.display.drawing.colours import SAME, Colouring, mix
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.style import width_of
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.definition.workloads import PendingJob, RunningJob
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WITHIN = "#76808e"
OVER = "#d3d8de"
"""Running within quota, and over; on each other their contrast (WCAG 2) is 2.8."""
VICTIM_HATCH = "xxxxx"


class Part(NamedTuple):
    """A workload's share of a machine.

    Attributes
    ----------
    share
        From 0 to 1: the larger of its shares of the machine's GPUs and CPUs.
    name
        The workload's name.
    """

    share: float
    name: str
    colour: str
    hatch: str


@dataclass
class MachineUse:
    """What uses a machine after the decision, and what was preempted on it."""

    kept: list[Part] = field(default_factory=list)
    victims: list[Part] = field(default_factory=list)


class ClusterOfMachines(NamedTuple):
    """A cluster and the numbers of its machines."""

    region: str
    name: str
    machines: range


class Looks:
    """The looks of workloads: by workload or by priority, and pale for what two solutions share."""

    def __init__(self, instance: Instance, colouring: Colouring, kept: frozenset[str] | None):
        self.colouring = colouring
        self.kept = kept
        self.index = {workload.id: w for w, workload in enumerate(instance.pending)}

    def differs(self, name: str) -> bool:
        """Whether a workload keeps its look."""
        return self.kept is None or name in self.kept

    def pending(self, name: str) -> tuple[str, str]:
        """Return colour and hatch of a pending workload."""
        w = self.index[name]
        return self.colouring.colours[w], self.colouring.hatch(w)

    def running(self, name: str, *, within: bool) -> tuple[str, str]:
        """Return colour and hatch of a running workload that stays."""
        if self.kept is not None and name not in self.kept:
            return SAME, ""
        return (WITHIN if within else OVER), ""

    def victim(self, name: str, *, within: bool) -> tuple[str, str]:
        """Return colour and hatch of a running workload that is preempted."""
        return self.running(name, within=within)[0], VICTIM_HATCH


def clusters_of(instance: Instance) -> list[ClusterOfMachines]:
    """Return the clusters in the file's order."""
    found: dict[str, ClusterOfMachines] = {}
    for group in instance.groups:
        last = group.first + group.machines.count
        first = found[group.cluster].machines.start if group.cluster in found else group.first
        region = instance.regions[group.region].id
        found[group.cluster] = ClusterOfMachines(region, group.cluster, range(first, last))
    return list(found.values())


def use_of_machines(
    instance: Instance, solution: Solution | None, looks: Looks
) -> dict[int, MachineUse]:
    """Return the use of each machine that something runs on, by its number."""
    use: dict[int, MachineUse] = {}
    gone = set(solution.preempt) if solution else set()
    for workload in instance.running:
        preempted = workload.id in gone
        look = looks.victim if preempted else looks.running
        colour, hatch = look(workload.id, within=workload.within_quota)
        for job in workload.jobs:
            for machine, share in shares_of(instance, job, job.on):
                here = use.setdefault(machine, MachineUse())
                part = Part(share, workload.id, colour, hatch)
                (here.victims if preempted else here.kept).append(part)
    for name, jobs in started_jobs(instance, solution):
        colour, hatch = looks.pending(name)
        for started, on in jobs:
            for machine, share in shares_of(instance, started, on):
                here = use.setdefault(machine, MachineUse())
                here.kept.append(Part(share, name, colour, hatch))
    return use


def started_jobs(
    instance: Instance, solution: Solution | None
) -> Iterator[tuple[str, list[tuple[PendingJob, Mapping[str, int]]]]]:
    """Yield each workload that starts, with its jobs and the tasks of each by machine."""
    for workload in instance.pending:
        if solution is not None and workload.id in solution.start:
            placed = solution.start[workload.id].jobs
            yield workload.id, [(job, placed[job.id].on) for job in workload.jobs]


def shares_of(
    instance: Instance, job: RunningJob | PendingJob, on: Mapping[str, int]
) -> Iterable[tuple[int, float]]:
    """Yield the machines of a job, and the larger of its shares of their GPUs and CPUs."""
    for name, tasks in on.items():
        number = instance.machine_number(name)
        if number is not None:
            machines = instance.kinds[number].machines
            uses = ((job.gpus, machines.gpus), (job.cpus, machines.cpus))
            yield number, max((float(tasks * a / b) for a, b in uses if b), default=0.0)


def size_text(instance: Instance, w: int) -> str:
    """Return the GPUs of a pending workload in words, or its CPUs if it needs no GPU."""
    jobs = instance.pending[w].jobs
    gpus = sum(job.tasks * job.gpus for job in jobs)
    if gpus:
        return f"{gpus:,} GPU{'s' * (gpus != 1)}"
    return f"{float(sum(job.tasks * job.cpus for job in jobs)):,.4g} CPUs"


_NAMED = 40
"""Up to this number of waiting workloads each has a box with its name and size."""
_CHIP_INCHES = 1.05
"""Inches of such a box, at least."""
_SMALL_CHIPS = 100
"""Boxes without names in a row."""
_MOST_CHIPS = 400
"""More workloads are counted by colour, in one bar."""


def chips_in_row(ax_inches: float, count: int) -> int:
    """Return how many boxes a row of the strip has."""
    if count > _MOST_CHIPS:
        return count
    if count > _NAMED:
        return _SMALL_CHIPS
    return max(1, int(ax_inches / _CHIP_INCHES))


def rows_of_chips(ax_inches: float, count: int) -> int:
    """Return how many rows the strip has."""
    return math.ceil(count / chips_in_row(ax_inches, count))


def draw_waiting(
    ax: Axes,
    instance: Instance,
    waiting: list[int],
    looks: Looks,
    *,
    top: float,
    row: float,
    width: float,
) -> None:
    """Draw a box for each waiting workload; of very many a part of a bar for each colour.

    Parameters
    ----------
    waiting
        Positions of the workloads.
    top, row, width
        Where the strip begins, the height of one of its rows, and its width, in the axes' units.
    """
    from matplotlib.patches import Rectangle

    if len(waiting) > _MOST_CHIPS:
        _draw_counts(
            ax, [looks.pending(instance.pending[w].id)[0] for w in waiting], top, row, width
        )
        return
    per_row = chips_in_row(width_of(ax), len(waiting))
    step = width / per_row
    for i, w in enumerate(waiting):
        line, place = divmod(i, per_row)
        name = instance.pending[w].id
        fill, hatch = looks.pending(name)
        box = (place * step, top + (line + 0.08) * row, 0.96 * step, 0.84 * row)
        look: dict[str, Any] = {"edgecolor": mix(fill, "#000000", 0.55), "linewidth": 0.6}
        look |= {"hatch": hatch, "linestyle": "--"}
        ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=fill, **look))
        if len(waiting) <= _NAMED:
            words = f"{shorten(name, 12)}: {size_text(instance, w)}"
            box_label(ax, box, words, fill, opaque=bool(hatch), turn=False)


def _draw_counts(ax: Axes, colours: list[str], top: float, row: float, width: float) -> None:
    """Draw a bar with a part for each colour, as long as its share, with the number."""
    from matplotlib.patches import Rectangle

    left = 0.0
    for colour, count in Counter(colours).most_common():
        box = (left, top + 0.08 * row, width * count / len(colours), 0.84 * row)
        edge = mix(colour, "#000000", 0.55)
        ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=colour, edgecolor=edge, linewidth=0.6))
        box_label(ax, box, f"{count:,}", colour, turn=False)
        left += box[2]
