"""Picture of interleaving: the iterations of groups, with a lane for each resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import (
    EDGE,
    IDLE,
    Colouring,
    by_name,
    by_number,
    choose,
    gpus_of_a_job,
    mix,
)
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.legend import colour_entries, finish, idle_entry
from dlsched.display.drawing.style import TEXT, new_axes, set_labels, short_name
from dlsched.problems.interleaving.definition.check import efficiency, iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.problems.interleaving.pictures.group_map import draw_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("job", "gpus", "bottleneck")
"""What bars can be coloured by: the job, its GPUs, the resource of its longest stage."""
COLOR_BY_OF_MANY = ("use", *COLOR_BY)
"""The same for many groups, and the share of time in which each resource is in use."""
_MOST_GROUPS = 6
_MOST_JOBS = 14
"""Up to these numbers every stage of every group has a bar."""


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
) -> Axes:
    """Draw the iterations of all groups, or without a solution of every job alone.

    Of up to 6 groups, the x axis is time, each lane is a resource, and a bar is a stage; white bars
    are idle time. Of more groups, each is a column: the use of the resources, or its jobs.

    Parameters
    ----------
    solution
        A feasible solution; by default each job alone.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`, by default the job; of many groups one of `COLOR_BY_OF_MANY`, by default
        the use.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    groups = list(solution.groups) if solution else _alone(instance.jobs)
    members = sum(len(group.jobs) for group in groups)
    many = len(groups) > _MOST_GROUPS or members > _MOST_JOBS
    possible = COLOR_BY_OF_MANY if many else COLOR_BY
    chosen = choose(color_by, possible, possible[0], instance.problem)
    own_axes = ax is None
    grouped = any(len(group.jobs) > 1 for group in groups)
    who = f"grouped by {solution.method or 'a solution'}" if solution and grouped else "alone"
    gammas = [float(efficiency(instance.stages_of(g.jobs), g.offsets)) for g in groups]
    if many:
        colouring = None if chosen == "use" else _colouring(instance, chosen)
        axes, entries = draw_map(instance, groups, gammas, ax, colouring)
        mean = f", mean γ {sum(gammas) / len(gammas):.3f}"
        what = f"{members:,} jobs in {len(groups):,} groups, {who}{mean}"
    else:
        axes, entries = _lanes(instance, groups, ax, chosen)
        what = who
    finish(axes, f"{instance.name}: {what}", entries, own=own_axes)
    return axes


def draw_both(instance: Instance, solution: Solution) -> Sequence[Axes]:
    """Draw jobs alone above and grouped below, with the same time axis; return both axes."""
    import matplotlib.pyplot as plt

    alone = solution.model_copy(
        update={"groups": _alone(job for group in solution.groups for job in group.jobs)}
    )
    _, (above, below) = plt.subplots(
        2, 1, figsize=(7, 1.0 * len(instance.resources) + 1.6), sharex=True, layout="constrained"
    )
    ends = [draw(instance, s, ax).get_xlim()[1] for s, ax in ((alone, above), (solution, below))]
    below.set_xlim(0, max(ends))
    if above.get_legend() is not None:
        above.get_legend().remove()  # that of the picture below has the same jobs
    return above, below


def draw_group(
    instance: Instance,
    group: Group,
    ax: Axes,
    begin: float = 0.0,
    *,
    colours: Sequence[str] | None = None,
) -> float:
    """Draw one iteration of a group that begins at a time; return the time when it ends.

    Parameters
    ----------
    colours
        One per job of the instance; by default a colour for each job.
    """
    colours = colours or by_name([job.id for job in instance.jobs]).colours
    k = len(instance.resources)
    now = begin
    for slot, (longest, busy) in enumerate(_slots(instance, group)):
        for lane in range(k):
            name, used = busy.get(lane, ("", 0.0))
            if used:
                fill = colours[instance.job_index[name]]
                _bar(ax, lane, now, used, fill)
                box_label(ax, (now, lane - 0.4, used, 0.8), name, fill)
            if used < longest:
                _bar(ax, lane, now + used, longest - used, IDLE)
        now += longest
        if slot < k - 1:
            ax.plot([now, now], [-0.5, k - 0.5], color="#444444", linewidth=0.5, linestyle=":")
    exact = instance.stages_of(group.jobs)
    gamma = float(efficiency(exact, group.offsets))
    time = float(iteration_time(exact, group.offsets))
    box = (begin, -1.35, now - begin, 0.8)
    box_label(ax, box, f"γ {gamma:.2f}\nT {time:,.4g}", None, turn=False)
    return now


def _bar(ax: Axes, lane: int, left: float, width: float, fill: str) -> None:
    edge = EDGE if fill == IDLE else mix(fill, "#000000", 0.55)
    ax.barh(
        lane, width, left=left, height=0.8, color=fill, edgecolor=edge, linewidth=0.5, clip_on=False
    )


def _slots(
    instance: Instance, group: Group
) -> Iterator[tuple[float, dict[int, tuple[str, float]]]]:
    """Yield for each step of an iteration its length, and by resource its job and busy time."""
    k = len(instance.resources)
    rows = [[float(s) for s in stages] for stages in instance.stages_of(group.jobs)]
    for slot in range(k):
        stages = [(offset + slot) % k for offset in group.offsets]
        busy = {
            stage: (name, row[stage])
            for name, row, stage in zip(group.jobs, rows, stages, strict=True)
        }
        yield max(used for _, used in busy.values()), busy


def _alone(jobs: Iterable[Any]) -> list[Group]:
    names = (job if isinstance(job, str) else job.id for job in jobs)
    return [Group(jobs=(name,), offsets=(0,)) for name in names]


def _colouring(instance: Instance, color_by: str) -> Colouring:
    if color_by == "gpus":
        return by_number([job.gpus for job in instance.jobs]).renamed(gpus_of_a_job)
    if color_by == "bottleneck":
        longest = [instance.resources[job.stages.index(max(job.stages))] for job in instance.jobs]
        named = by_name([*instance.resources, *longest])
        k = len(instance.resources)
        return Colouring(named.colours[k:], named.labels[k:], named.key)
    return by_name([job.id for job in instance.jobs])


def _lanes(
    instance: Instance, groups: Sequence[Group], ax: Axes | None, color_by: str
) -> tuple[Axes, list[Any]]:
    """Draw every stage as a bar; return the axes and the legend's entries."""
    k = len(instance.resources)
    if ax is None:
        ax = new_axes(0.24 * k + 1.35)
    colouring = _colouring(instance, color_by)
    begin = gap = 0.0
    for group in groups:
        begin = draw_group(instance, group, ax, begin + gap, colours=colouring.colours)
        gap = _space(instance, groups)
    set_labels(ax, "time of one iteration of each group, in the instance's unit")
    ax.set_yticks(range(k), [short_name(n, 12) for n in instance.resources], fontsize=TEXT)
    ax.set_ylim(k - 0.5, -1.4)
    ax.set_xlim(0, begin or 1)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    shown = [instance.job_index[name] for group in groups for name in group.jobs]
    return ax, [*colour_entries(colouring, shown, "jobs"), idle_entry()] if shown else []


def _space(instance: Instance, groups: Sequence[Group]) -> float:
    """Return the space between groups: a twentieth of the longest stage sum."""
    sums = [sum(stages) for group in groups for stages in instance.stages_of(group.jobs)]
    return 0.05 * float(max(sums, default=1))
