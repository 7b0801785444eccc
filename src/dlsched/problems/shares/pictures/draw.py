"""Picture of shares: a bar for each job, its time on each type of GPU."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import (
    EDGE,
    IDLE,
    SAME,
    SAME_LABEL,
    Differences,
    by_name,
    choose,
)
from dlsched.display.drawing.legend import entry, finish, idle_entry
from dlsched.display.drawing.style import TEXT, new_axes, set_labels, short_name
from dlsched.problems.shares.definition.check import check
from dlsched.problems.shares.definition.schema import Instance, Solution
from dlsched.results.summary import solution_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("type",)
"""What bars are coloured by: the type of GPU."""
_ROWS = 40
"""Most jobs that have a bar each; of more the first are drawn."""
_HATCH = "//////"


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw each job's time on each type of GPU; time beside another job is hatched.

    Parameters
    ----------
    solution
        The shares; without one all time is idle.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`.
    other
        A solution to compare with: jobs with the same times in both are pale.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    choose(color_by, COLOR_BY, COLOR_BY[0], instance.problem)
    standalone = ax is None
    jobs = [job.id for job in instance.jobs][:_ROWS]
    kept = differing(instance, solution, other).names if solution and other else set(jobs)
    colours = dict(zip(instance.gpus, by_name(list(instance.gpus)).colours, strict=True))
    times = _times(solution)
    axes = new_axes(0.17 * len(jobs) + 1.35) if ax is None else ax
    look: dict[str, Any] = {"height": 0.7, "edgecolor": EDGE, "linewidth": 0.6}
    for row, job in enumerate(jobs):
        axes.barh(row, 1, color=IDLE, **look)
        left = 0.0
        for (kind, shared), time in times[job].items():
            fill = colours.get(kind, IDLE) if job in kept else SAME
            axes.barh(row, time, left=left, color=fill, hatch=_HATCH * shared, **look)
            left += time
    shown = f"first {_ROWS} of {len(instance.jobs):,} jobs" if len(instance.jobs) > _ROWS else "job"
    set_labels(axes, "share of the job's time", shown)
    axes.set_yticks(range(len(jobs)), [short_name(job, 12) for job in jobs], fontsize=TEXT)
    axes.set_ylim(max(len(jobs), 1) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    entries = [entry(kind, colour) for kind, colour in colours.items()]
    if any(shared for job in jobs for _, shared in times[job]):
        entries.append(entry("beside another job", IDLE, hatch=_HATCH))
    entries += [entry(SAME_LABEL, SAME)] if len(kept) < len(jobs) else []
    finish(axes, _title(instance, solution), [*entries, idle_entry()], own=standalone)
    return axes


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs with other times in two solutions."""
    first, second = _times(a), _times(b)
    jobs = {job.id for job in instance.jobs if first[job.id] != second[job.id]}
    return Differences(jobs, f"{len(jobs):,} of {len(instance.jobs):,} jobs", "times on each type")


def _times(solution: Solution | None) -> dict[str, dict[tuple[str, bool], float]]:
    """Return by job its time on each type, alone and beside another job."""
    times: dict[str, dict[tuple[str, bool], float]] = defaultdict(dict)
    for share in solution.shares if solution else ():
        key = share.type, len(share.jobs) > 1
        for job in share.jobs:
            times[job][key] = times[job].get(key, 0.0) + float(share.time)
    return times


def _title(instance: Instance, solution: Solution | None) -> str:
    gpus = ", ".join(f"{count:,} {kind}" for kind, count in instance.gpus.items())
    text = f"{instance.name}: {len(instance.jobs):,} jobs on {gpus}"
    if solution is None:
        return text
    return f"{text}; {solution_text(solution.method, check(instance, solution).objective)}"
