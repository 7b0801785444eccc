"""The picture of interleaving: the iterations of groups, with a lane for each resource."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlsched.problems.interleaving.check import efficiency, iteration_time
from dlsched.problems.interleaving.schema import Group, Instance, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_GROUPS = 4
"""Most groups in a picture, the largest ones."""
_LETTER = 0.0125
"""Width of a letter, as a share of the axes'."""
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")
"""Okabe and Ito's palette, distinct also for the colour-blind; bars have names besides."""


def draw(instance: Instance, solution: Solution | None = None, ax: Axes | None = None) -> Axes:
    """Draw groups' iterations, or without a solution every job alone.

    The x axis is time; each lane is a resource. A bar is a stage, with its job's name; a hatched
    bar is idle time. Groups follow each other, the largest ones first.

    Parameters
    ----------
    solution
        A feasible solution; by default each of the first jobs alone.
    ax
        Axes to draw into; new ones by default.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(9, 0.6 * len(instance.resources) + 1.4))
    groups = _shown(instance, solution)
    begin = 0.0
    for group in groups:
        begin = draw_group(instance, group, ax, begin) + _space(instance, groups)
    lanes = range(len(instance.resources))
    ax.set_yticks(list(lanes), list(instance.resources))
    ax.set_ylim(len(lanes) - 0.4, -1.0)
    ax.set_xlabel("time of one iteration of each group")
    grouped = any(len(group.jobs) > 1 for group in groups)
    what = f"grouped by {solution.method or 'a solution'}" if solution and grouped else "alone"
    ax.set_title(f"{instance.name}: {what}")
    _hide_wide_names(ax)
    return ax


def _hide_wide_names(ax: Axes) -> None:
    """Hide the names that are wider than their bars, at the axes' current limits."""
    low, high = ax.get_xlim()
    for label in ax.texts:
        width = label.get_gid()
        if width:
            letters = len(label.get_text())
            label.set_visible(float(width) > _LETTER * (high - low) * letters)


def draw_both(instance: Instance, solution: Solution) -> Sequence[Axes]:
    """Draw jobs alone above and grouped below, with the same time axis; return both axes."""
    import matplotlib.pyplot as plt

    height = 1.2 * len(instance.resources) + 2.4
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, height), sharex=True)
    groups = _shown(instance, solution)
    alone = tuple(Group(jobs=(job,), offsets=(0,)) for group in groups for job in group.jobs)
    before = solution.model_copy(update={"groups": alone})
    draw(instance, before, above)
    draw(instance, solution, below)
    for ax in (above, below):
        _hide_wide_names(ax)
    figure.tight_layout()
    return above, below


def draw_group(instance: Instance, group: Group, ax: Axes, begin: float = 0.0) -> float:
    """Draw one iteration of a group that begins at a time; return the time when it ends."""
    k, exact = len(instance.resources), instance.stages_of(group.jobs)
    rows = [[float(s) for s in stages] for stages in exact]
    now = begin
    for slot in range(k):
        stages = [(offset + slot) % k for offset in group.offsets]
        longest = max(row[stage] for row, stage in zip(rows, stages, strict=True))
        busy = dict(zip(stages, range(len(rows)), strict=True))
        for lane in range(k):
            used = rows[busy[lane]][lane] if lane in busy else 0.0
            if used:
                place = busy[lane]
                colour = COLOURS[instance.job_index[group.jobs[place]] % len(COLOURS)]
                ax.barh(lane, used, left=now, color=colour, edgecolor="black", linewidth=0.7)
                name = group.jobs[place]
                label = ax.text(now + used / 2, lane, name, ha="center", va="center")
                label.set_gid(str(used))
            if used < longest:
                idle = longest - used
                ax.barh(
                    lane, idle, left=now + used, color="white", hatch="///", edgecolor="#bbbbbb",
                    linewidth=0.0,
                )  # fmt: skip
        now += longest
        if slot < k - 1:
            ax.plot([now, now], [-0.5, k - 0.5], color="black", linewidth=0.5, linestyle=":")
    gamma = float(efficiency(exact, group.offsets))
    time = float(iteration_time(exact, group.offsets))
    ax.text(begin, -0.55, f"γ {gamma:.2f}, T {time:g}", va="bottom", fontsize="small")
    return now


def _shown(instance: Instance, solution: Solution | None) -> list[Group]:
    if solution is None:
        return [Group(jobs=(job.id,), offsets=(0,)) for job in instance.jobs[:MOST_GROUPS]]
    if len(solution.groups) <= MOST_GROUPS or all(len(g.jobs) == 1 for g in solution.groups):
        return list(solution.groups[: MOST_GROUPS * 4])
    return sorted(solution.groups, key=lambda g: -len(g.jobs))[:MOST_GROUPS]


def _space(instance: Instance, groups: Sequence[Group]) -> float:
    """Return the space between groups: a twentieth of the longest stage sum."""
    sums = [sum(stages) for group in groups for stages in instance.stages_of(group.jobs)]
    return 0.05 * float(max(sums, default=1))
