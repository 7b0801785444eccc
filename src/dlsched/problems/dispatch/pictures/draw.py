"""Picture of dispatch: every machine as a column, with what runs, starts and is preempted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.bands import Bands, colours_array
from dlsched.display.drawing.colours import (
    BAD,
    EDGE,
    IDLE,
    OTHER,
    PALETTE,
    Colouring,
    by_name,
    by_number,
    choose,
    mix,
)
from dlsched.display.drawing.legend import colour_entries, entry, finish, idle_entry
from dlsched.display.drawing.style import set_labels
from dlsched.problems.dispatch.definition.ranking import rank
from dlsched.problems.dispatch.definition.schema import Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("workload", "priority")
"""What starts can be coloured by the workload or by its priority."""
_CELLS = 8
"""Cells of a column."""
_RUNNING, _OVER = OTHER, mix(OTHER, "#ffffff", 0.5)


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
) -> Axes:
    """Draw every machine as a column, filled by the shares of its GPUs or CPUs in use.

    Of each workload the larger of the two shares counts.

    Running workloads are grey, those over quota lighter; what starts has a colour. Machines on
    which a workload is preempted are framed.

    Parameters
    ----------
    solution
        A feasible solution; by default nothing starts.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`; by default the workload, or if more wait than there are colours the
        priority.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    started = [w for w in instance.pending if solution is not None and w.id in solution.start]
    default = "workload" if len(instance.pending) <= len(PALETTE) else "priority"
    colouring = _colouring(instance, choose(color_by, COLOR_BY, default, instance.problem))
    machines = len(instance.kinds)
    cells = np.ones((_CELLS, machines, 3)) * colours_array([IDLE])[0]
    filled = np.zeros(machines)
    framed = set()
    for machine, share, colour in _shares(instance, solution, colouring):
        if share is None:
            framed.add(machine)
            continue
        low, high = (
            min(_CELLS, round(_CELLS * f)) for f in (filled[machine], filled[machine] + share)
        )
        cells[_CELLS - high : _CELLS - low, machine] = colours_array([colour])[0]
        filled[machine] += share
    own = ax is None
    bands = Bands(max(1, machines), _CELLS, ax, cell_points=6, below=60, first=1)
    if machines:
        bands.paint(cells)
        for numbers in _clusters(instance):
            bands.frames(numbers, edgecolor=EDGE, linewidth=1.2, zorder=2)
        bands.frames(framed, edgecolor=BAD, linewidth=1.6, zorder=3)
    bands.finish()
    rows = f", {bands.per_band:,} in a row" if bands.bands > 1 else ""
    what = "a column each: the share of GPUs or CPUs in use"
    set_labels(bands.ax, f"all {machines:,} machines{rows}; {what}; lines between clusters")
    shown = [w for w, workload in enumerate(instance.pending) if workload in started]
    entries = [
        *colour_entries(colouring, shown, "workloads"),
        entry("running within quota", _RUNNING),
        entry("running over quota", _OVER),
        idle_entry(),
    ]
    if framed:
        entries.append(entry("someone is preempted", "none", edgecolor=BAD, linewidth=1.6))
    finish(bands.ax, _title(instance, solution, len(started)), entries, own=own)
    return bands.ax


def _clusters(instance: Instance) -> Iterable[range]:
    """Return the numbers of the machines of each cluster."""
    found: dict[str, range] = {}
    for group in instance.groups:
        last = group.first + group.machines.count
        first = found.get(group.cluster, range(group.first, last)).start
        found[group.cluster] = range(first, last)
    return found.values()


def _title(instance: Instance, solution: Solution | None, started: int) -> str:
    waiting = len(instance.pending)
    text = f"{instance.name}: {waiting:,} pending, {len(instance.running):,} running"
    if solution is None:
        return text
    who = solution.method or "a solution"
    return f"{text}; {who}: {started:,} started, {len(solution.preempt):,} preempted"


def _colouring(instance: Instance, color_by: str) -> Colouring:
    if color_by == "workload":
        return by_name([workload.id for workload in instance.pending])
    priority = {ranked.position: ranked.priority for ranked in rank(instance)}
    made = by_number([priority[w] for w in range(len(instance.pending))])
    return made.renamed(lambda label: f"priority {label}")


def _shares(
    instance: Instance, solution: Solution | None, colouring: Colouring
) -> Iterator[tuple[int, float | None, str]]:
    """Yield (machine, share in use, colour); the share is ``None`` where someone is preempted."""
    gone = set(solution.preempt) if solution else set()
    for workload in instance.running:
        colour = _RUNNING if workload.within_quota else _OVER
        for job in workload.jobs:
            for machine, share in _of_job(instance, job, job.on):
                yield machine, None if workload.id in gone else share, colour
    start: Mapping[str, Any] = solution.start if solution else {}
    for w, pending in enumerate(instance.pending):
        if pending.id in start:
            for own in pending.jobs:
                on = start[pending.id].jobs[own.id].on
                for machine, share in _of_job(instance, own, on):
                    yield machine, share, colouring.colours[w]


def _of_job(instance: Instance, job: Any, on: Mapping[str, int]) -> Iterable[tuple[int, float]]:
    for name, tasks in on.items():
        number = instance.machine_number(name)
        if number is not None:
            machines = instance.kinds[number].machines
            uses = ((job.gpus, machines.gpus), (job.cpus, machines.cpus))
            yield number, max((float(tasks * a / b) for a, b in uses if b), default=0.0)
