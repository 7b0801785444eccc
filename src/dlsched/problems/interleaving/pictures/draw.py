"""Picture of interleaving: the iterations of groups, with a lane for each resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import (
    EDGE,
    IDLE,
    Colouring,
    Differences,
    by_name,
    by_number,
    choose,
    gpus_of_a_job,
    mix,
)
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.legend import colour_entries, finish, idle_entry
from dlsched.display.drawing.style import TEXT, new_axes, set_labels, short_name, width_of
from dlsched.problems.interleaving.definition.check import efficiency, evaluate, iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.problems.interleaving.pictures.group_map import draw_map
from dlsched.results.summary import solution_text

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
    other: Solution | None = None,
) -> Axes:
    """Draw the iterations of all groups, or without a solution of every job alone.

    Of up to 6 groups, the x axis is time, from 0 in each group, each lane is a resource, and a bar
    is a stage; white bars are idle time. Of more groups, each is a column: the use of the
    resources, or its jobs.

    Parameters
    ----------
    solution
        A feasible solution; by default each job alone.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`, by default the job; of many groups one of `COLOR_BY_OF_MANY`, by default
        the use, or where two solutions are compared the bottleneck.
    other
        A solution to compare with: jobs with the same partners in both are pale.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    groups = list(solution.groups) if solution else _alone(instance.jobs)
    members = sum(len(group.jobs) for group in groups)
    many = len(groups) > _MOST_GROUPS or members > _MOST_JOBS
    possible = COLOR_BY_OF_MANY if many else COLOR_BY
    default = "bottleneck" if many and other is not None else possible[0]
    chosen = choose(color_by, possible, default, instance.problem)
    own_axes = ax is None
    kept = None
    if solution is not None and other is not None:
        kept = differing(instance, solution, other).names
    colouring = _colouring(instance, chosen).only([job.id for job in instance.jobs], kept)
    gammas = [float(efficiency(instance.stages_of(g.jobs), g.offsets)) for g in groups]
    if many:
        axes, entries = draw_map(
            instance, groups, gammas, ax, None if chosen == "use" else colouring
        )
    else:
        axes, entries = _lanes(instance, groups, ax, colouring)
    finish(axes, _title(instance, solution, groups, gammas), entries, own=own_axes)
    return axes


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that have other partners in two solutions."""
    first, second = (
        {name: frozenset(group.jobs) for group in solution.groups for name in group.jobs}
        for solution in (a, b)
    )
    jobs = {job.id for job in instance.jobs if first.get(job.id) != second.get(job.id)}
    return Differences(jobs, f"{len(jobs):,} of {len(instance.jobs):,} jobs", "partners")


def _title(
    instance: Instance, solution: Solution | None, groups: Sequence[Group], gammas: Sequence[float]
) -> str:
    members = sum(len(group.jobs) for group in groups)
    size = f"{members:,} job{'s' * (members != 1)}"
    if solution is None:
        return f"{instance.name}: {size}, each alone"
    size += f" in {len(groups):,} group{'s' * (len(groups) != 1)}"
    worth = solution_text(solution.method, evaluate(instance, groups))
    mean = f", mean γ {sum(gammas) / len(gammas):.3f}" if len(groups) > 1 else ""
    return f"{instance.name}: {size}; {worth}{mean}"


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
    colouring: Colouring | None = None,
) -> float:
    """Draw one iteration of a group that begins at a time; return the time when it ends.

    Parameters
    ----------
    colouring
        The looks of the instance's jobs; by default one for each job.
    """
    colouring = colouring or by_name([job.id for job in instance.jobs])
    k = len(instance.resources)
    now = begin
    for slot, (longest, busy) in enumerate(_slots(instance, group)):
        for lane in range(k):
            name, used = busy.get(lane, ("", 0.0))
            if used:
                j = instance.job_index[name]
                fill = colouring.colours[j]
                hatch = colouring.hatch(j)
                _bar(ax, lane, now, used, fill, hatch)
                box = (now, lane - 0.4, used, 0.8)
                box_label(ax, box, name, fill, opaque=bool(hatch))
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


def _bar(ax: Axes, lane: int, left: float, width: float, fill: str, hatch: str = "") -> None:
    edge = EDGE if fill == IDLE else mix(fill, "#000000", 0.55)
    look: dict[str, Any] = {"color": fill, "edgecolor": edge, "linewidth": 0.5, "hatch": hatch}
    ax.barh(lane, width, left=left, height=0.8, clip_on=False, **look)


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
        return Colouring(named.colours[k:], named.labels[k:], named.key, named.patterns)
    return by_name([job.id for job in instance.jobs])


def _lanes(
    instance: Instance, groups: Sequence[Group], ax: Axes | None, colouring: Colouring
) -> tuple[Axes, list[Any]]:
    """Draw every stage as a bar; return the axes and the legend's entries."""
    k = len(instance.resources)
    if ax is None:
        ax = new_axes(0.24 * k + 1.35)
    end = gap = 0.0
    spans = []
    for group in groups:
        begin = end + gap
        end = draw_group(instance, group, ax, begin, colouring=colouring)
        spans.append((begin, end))
        gap = _space(instance, groups)
    each = "of each group, from 0, " if len(groups) > 1 else ""
    set_labels(ax, f"time of one iteration {each}in the instance's unit")
    _time_ticks(ax, spans)
    ax.set_yticks(range(k), [short_name(n, 12) for n in instance.resources], fontsize=TEXT)
    ax.set_ylim(k - 0.5, -1.4)
    ax.set_xlim(0, end or 1)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    shown = [instance.job_index[name] for group in groups for name in group.jobs]
    return ax, [*colour_entries(colouring, shown, "jobs"), idle_entry()] if shown else []


def _time_ticks(ax: Axes, spans: Sequence[tuple[float, float]]) -> None:
    """Write the time at ticks that begin at 0 in each group.

    Parameters
    ----------
    spans
        Where each group begins and ends on the axis.
    """
    from matplotlib.ticker import MaxNLocator

    room = sum(end - begin for begin, end in spans)
    steps = MaxNLocator(nbins=max(2, min(8, int(1.4 * width_of(ax))))).tick_values(0, room or 1)
    step = float(steps[1] - steps[0])
    places = []
    names = []
    for i, (begin, end) in enumerate(spans):
        last = i == len(spans) - 1
        for k in range(int((end - begin) / step) + 1):
            if k == 0 or last or end - begin - k * step > 0.4 * step:  # apart from the next 0
                places.append(begin + k * step)
                names.append(f"{k * step:,.10g}")
    ax.set_xticks(places, names)


def _space(instance: Instance, groups: Sequence[Group]) -> float:
    """Return the space between groups: a twentieth of the longest stage sum."""
    sums = [sum(stages) for group in groups for stages in instance.stages_of(group.jobs)]
    return 0.05 * float(max(sums, default=1))
