"""Plot of an elastic instance: one bar of GPUs per job, with its running time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.figures import shorten
from dlsched.problems.elastic.check import check
from dlsched.problems.elastic.schema import Instance, Job, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 40
"""Most jobs that are drawn; of more the largest."""
_STYLES: dict[str, dict[str, Any]] = {
    "base workers, running": {"facecolor": "#3d5a80", "edgecolor": "black"},
    "base workers, launched": {"facecolor": "#98c1d9", "edgecolor": "black"},
    "extra workers": {"facecolor": "#fff3d6", "edgecolor": "black", "hatch": "////"},
    "not given": {"facecolor": "none", "edgecolor": "0.6", "linestyle": "--"},
    "not launched": {"facecolor": "none", "edgecolor": "0.3", "linestyle": ":"},
}
"""The style of each part of a bar, in the order of the legend."""


def draw(instance: Instance, solution: Solution | None = None, ax: Axes | None = None) -> Axes:
    """Draw a bar of GPUs per job: base workers, extra workers, and those that it could still get.

    The running time and the time saved by extra workers are printed at the bar's end. Base workers
    of running jobs are dark, of launched ones light, extra workers hatched, jobs not launched
    dotted. Of more than 40 jobs the 40 that can use the most GPUs are drawn, in the file's order.

    Parameters
    ----------
    instance
        Jobs and capacity.
    solution
        The workers of each job; without one every running job has its base workers.
    ax
        Axes to draw on; those of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib import pyplot as plt

    numbers = range(len(instance.jobs))
    largest = sorted(numbers, key=lambda j: (-_reach(instance.jobs[j]), j))[:_ROWS]
    jobs = [instance.jobs[j] for j in sorted(largest)]
    own = ax is None
    if ax is None:
        size = (8.0, max(2.4, 0.24 * len(jobs) + 1.7))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    workers = {job.id: job.min_workers for job in instance.jobs if job.running}
    if solution is not None:
        workers = dict(solution.workers)
    shown: set[str] = set()
    for row, job in enumerate(jobs):
        shown |= _bar(ax, row, job, workers.get(job.id, 0))
    _finish(ax, instance, jobs, workers, shown, solution, own)
    return ax


def _reach(job: Job) -> int:
    """Return the GPUs that a job can hold, base workers included."""
    return job.gpus_per_worker * job.max_workers


def _parts(job: Job, given: int) -> list[tuple[str, int, int]]:
    """Return (style, from, to) in workers, left to right; `to` is -1 for the most workers."""
    if not given:
        return [("not launched", 0, job.min_workers), ("not given", job.min_workers, -1)]
    base = min(given, job.min_workers)
    kind = "base workers, running" if job.running else "base workers, launched"
    return [(kind, 0, base), ("extra workers", base, given), ("not given", given, -1)]


def _bar(ax: Axes, row: int, job: Job, given: int) -> set[str]:
    """Draw one job's bar and its label; return the styles used."""
    per, used_styles = job.gpus_per_worker, set()
    for style, left, right in _parts(job, given):
        end = job.max_workers if right < 0 else right
        if end > left:
            ax.barh(row, (end - left) * per, left=left * per, height=0.7, **_STYLES[style])
            used_styles.add(style)
    allowed = job.min_workers <= given <= job.max_workers
    words = _seconds(job.running_time(given)) if allowed else "waits" if not given else "not valid"
    if allowed and job.reduction(given):
        saved = job.reduction(given)
        change = f"saves {_seconds(saved)}" if saved > 0 else f"loses {_seconds(-saved)}"
        words += f", {change}"
    end = max(_reach(job), given * per)
    ax.annotate(
        words, (end, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7
    )
    return used_styles


def _finish(
    ax: Axes,
    instance: Instance,
    jobs: list[Job],
    workers: dict[str, int],
    shown: set[str],
    solution: Solution | None,
    own: bool,
) -> None:
    """Set the axes, the title and the legend."""
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    ax.set_yticks(range(len(jobs)), [shorten(job.id, 12) for job in jobs], fontsize=7)
    ax.set_ylim(max(len(jobs), 1) - 0.4, -0.6)
    widest = max(
        (max(_reach(j), workers.get(j.id, 0) * j.gpus_per_worker) for j in jobs), default=1
    )
    ax.set_xlim(0, widest * 1.28)  # space for the longest bar's label
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    ax.set_xlabel("GPUs held", fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    title = f"{instance.name}: {len(instance.jobs)} jobs, {instance.capacity} GPUs free"
    if solution is not None:
        report = check(instance, solution)
        launched, saved = report.objective or (0, 0)
        title += f", {report.details['gpus']} taken"
        title += f"\nlaunched {launched}, running time saved {_seconds(saved)}"
    if len(jobs) < len(instance.jobs):
        title += f"\n(the {len(jobs)} largest of {len(instance.jobs)} jobs)"
    ax.set_title(title, fontsize=10, loc="left")
    handles = [Patch(label=name, **style) for name, style in _STYLES.items() if name in shown]
    place: dict[str, Any] = {"handles": handles, "fontsize": 8}
    if handles and own:  # below the axis label, where no bar is
        ax.figure.legend(loc="outside lower left", ncols=3, frameon=False, **place)
    elif handles:
        ax.legend(**place)


def _seconds(value: Any) -> str:
    """Return a time in seconds, minutes or hours."""
    seconds = float(value)
    if abs(seconds) < 600:
        return f"{seconds:.4g} s"
    if abs(seconds) < 36_000:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.4g} h"
