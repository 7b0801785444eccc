"""Picture of elastic: a bar of GPUs per job with its running time; of many jobs a histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.colours import (
    EDGE,
    IDLE,
    Colouring,
    Differences,
    by_name,
    by_number,
    choose,
    light,
    mix,
)
from dlsched.display.drawing.legend import colour_entries, entry, finish, idle_entry
from dlsched.display.drawing.style import SMALL, TEXT, new_axes, set_labels, short_name
from dlsched.problems.elastic.definition.check import check, of_job
from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    held_by,
    reduction,
    running_time,
    workers_of,
)
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.results.summary import solution_text
from dlsched.schema import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLOR_BY = ("job", "status", "gpus_per_worker")
"""What bars can be coloured by: the job; running, launched or waiting; GPUs of a worker."""
COLOR_BY_OF_MANY = ("outcome", "gpus_per_worker", "running")
"""What the parts of a histogram can be: what jobs get; GPUs of a worker; whether they run."""
_ROWS = 40
"""Most jobs that have a bar each; of more a histogram is drawn."""
_STATUS = {"running": "#0072b2", "launched": "#56b4e9", "waiting": IDLE}
_OUTCOMES = {
    "waits": IDLE,
    "base workers only": "#a6cde8",
    "some extra workers": "#4a90c2",
    "all extra workers": "#124a78",
}
_HATCH = "//////"
"""Of workers on loan."""


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw a bar of GPUs per job: base workers, extra workers, and those that it could still get.

    The running time and the time saved by extra workers are printed at the bar's end. With pools
    the workers on loan are hatched. More than 40
    jobs are drawn as a histogram: jobs by the GPUs of their base workers, and what they get.

    Parameters
    ----------
    instance
        Jobs and capacity.
    solution
        The workers of each job; without one every running job has its base workers.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`, by default the job; of a histogram one of `COLOR_BY_OF_MANY`, by default
        the outcome.
    other
        A solution to compare with: jobs with as many workers in both are pale, but in a histogram.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    given = given_to(instance, solution)
    many = len(instance.jobs) > _ROWS
    possible = COLOR_BY_OF_MANY if many else COLOR_BY
    chosen = choose(color_by, possible, possible[0], instance.problem)
    if many:
        axes, entries = _histogram(instance, given, ax, chosen)
    else:
        kept = None
        if solution is not None and other is not None:
            kept = differing(instance, solution, other).names
        colouring = _colouring(instance, given, chosen).only(
            [job.id for job in instance.jobs], kept
        )
        axes, entries = _bars(instance, given, ax, colouring)
    finish(axes, _title(instance, solution), entries, own=ax is None)
    return axes


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that get other numbers of workers in two solutions."""
    first, second = (given_to(instance, solution) for solution in (a, b))
    jobs = {name for name, workers in first.items() if sum(workers) != sum(second[name])}
    return Differences(jobs, f"{len(jobs):,} of {len(instance.jobs):,} jobs", "number of workers")


def _title(instance: Instance, solution: Solution | None) -> str:
    jobs = f"{len(instance.jobs):,} job{'s' * (len(instance.jobs) != 1)}"
    text = f"{instance.name}: {jobs}, {instance.gpus:,} free GPUs"
    if instance.pools:
        text += f", {instance.by_pool[1].capacity:,} of them on loan"
    if solution is not None:
        report = check(instance, solution)
        text += f", {report.details['gpus']:,} taken; "
        text += solution_text(solution.method, report.objective)
    return text


def _colouring(instance: Instance, given: dict[str, Workers], color_by: str) -> Colouring:
    jobs = instance.jobs
    if color_by == "gpus_per_worker":
        return by_number([job.gpus_per_worker for job in jobs])
    if color_by == "job":
        return by_name([job.id for job in jobs])
    started = ["running" if job.running else "launched" for job in jobs]
    labels = [
        label if any(given[job.id]) else "waiting" for job, label in zip(jobs, started, strict=True)
    ]
    return Colouring(tuple(_STATUS[label] for label in labels), tuple(labels), _STATUS)


def _bars(
    instance: Instance, given: dict[str, Workers], ax: Axes | None, colouring: Colouring
) -> tuple[Axes, list[Any]]:
    """Draw a bar for each job; return the axes and the legend's entries."""
    from matplotlib.ticker import MaxNLocator

    jobs = instance.jobs
    if ax is None:
        ax = new_axes(0.17 * len(jobs) + 1.35)
    parts: set[str] = set()
    for row, job in enumerate(jobs):
        workers = given[job.id]
        worth = outcome(instance, job, workers)
        look = colouring.colours[row], colouring.hatch(row)
        parts |= _bar(ax, row, job, sum(workers), look, worth)
        if instance.pools and hatch_loan(ax, row, instance, job, workers):
            parts.add("loan")
    set_labels(ax, "GPUs", "job")
    ax.set_yticks(range(len(jobs)), [short_name(job.id, 12) for job in jobs], fontsize=TEXT)
    ax.set_ylim(max(len(jobs), 1) - 0.4, -0.6)
    ax.set_xlim(0, max((_end(job, sum(given[job.id])) for job in jobs), default=1))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    shown = [j for j, job in enumerate(jobs) if any(given[job.id])]
    entries = colour_entries(colouring, shown, "jobs")
    base = "#666666"
    looks = {
        "base workers": entry("base workers", base),
        "extra workers": entry("extra workers", light(base)),
        "not given": entry("could still get", IDLE, linestyle="--"),
        "waiting": idle_entry("waits: base workers"),
        "loan": entry("on loan", "none", hatch=_HATCH),
    }
    return ax, entries + [look for name, look in looks.items() if name in parts]


def _end(job: Job, given: int) -> int:
    return job.gpus_per_worker * max(job.max_workers, given)


def _bar(
    ax: Axes,
    row: int,
    job: Job,
    given: int,
    look: tuple[str, str],
    worth: tuple[Number, Number] | None,
) -> set[str]:
    """Draw one job's bar and its label, the running time and what is saved; return the parts.

    Parameters
    ----------
    look
        Colour and hatch.
    """
    colour, hatch = look
    size = job.gpus_per_worker
    base = min(given, job.min_workers)
    solid: dict[str, Any] = {"edgecolor": mix(colour, "#000000", 0.55), "linewidth": 0.6}
    empty: dict[str, Any] = {"facecolor": IDLE, "edgecolor": EDGE, "linewidth": 0.6}
    parts: dict[str, tuple[int, int, dict[str, Any]]] = {
        "base workers": (0, base, {"facecolor": colour, "hatch": hatch, **solid}),
        "extra workers": (base, given, {"facecolor": light(colour), "hatch": hatch, **solid}),
        "waiting": (0, 0 if given else job.min_workers, empty),
        "not given": (given or job.min_workers, job.max_workers, {**empty, "linestyle": "--"}),
    }
    drawn = set()
    for name, (begin, end, style) in parts.items():
        if end > begin:
            width = (end - begin) * size
            ax.barh(row, width, left=begin * size, height=0.7, clip_on=False, **style)
            drawn.add(name)
    words = "waits" if not given else "not valid"
    if worth is not None:
        seconds, saved = worth
        words = _seconds(seconds)
        if saved:
            words += f", saves {_seconds(saved)}" if saved > 0 else f", loses {_seconds(-saved)}"
    end_of_bar = (_end(job, given), row)
    ax.annotate(
        words, end_of_bar, xytext=(3, 0), textcoords="offset points", va="center", fontsize=SMALL
    )
    return drawn


def _histogram(
    instance: Instance, given: dict[str, Workers], ax: Axes | None, color_by: str
) -> tuple[Axes, list[Any]]:
    """Draw the number of jobs by the GPUs of their base workers; return axes and entries."""
    from matplotlib.ticker import MaxNLocator

    if ax is None:
        ax = new_axes(2.6)
    jobs = instance.jobs
    if color_by == "outcome":
        labels = [_outcome(job, sum(given[job.id])) for job in jobs]
        key = dict(_OUTCOMES)
    elif color_by == "running":
        labels = ["running" if job.running else "waiting" for job in jobs]
        key = {"running": _STATUS["running"], "waiting": IDLE}
    else:
        sizes = by_number([job.gpus_per_worker for job in jobs])
        sizes = sizes.renamed(lambda size: f"{size} GPU{'s' * (size != '1')} a worker")
        labels = list(sizes.labels)
        key = dict(sizes.key)
    demands = [(job.gpus_per_worker * job.min_workers - 1).bit_length() for job in jobs]
    classes = range(min(demands), max(demands) + 1)
    below = [0] * len(classes)
    for name, colour in key.items():
        of_name = [d for d, label in zip(demands, labels, strict=True) if label == name]
        heights = [of_name.count(c) for c in classes]
        places = range(len(classes))
        ax.bar(places, heights, 0.86, below, color=colour, edgecolor=EDGE, linewidth=0.5)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    names = [f"{2 ** (c - 1) + 1}–{2**c}" if c > 1 else str(2**c) for c in classes]
    ax.set_xticks(range(len(classes)), names)
    what = f"GPUs of the job's base workers (all {len(jobs):,} jobs)"
    set_labels(ax, what, "jobs")
    ax.set_ylim(0, 1.05 * max(below))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    counts = {name: labels.count(name) for name in key}
    return ax, [
        entry(f"{name}: {counts[name]:,}", colour) for name, colour in key.items() if counts[name]
    ]


def _outcome(job: Job, given: int) -> str:
    waits, base, some, most = _OUTCOMES
    if given <= job.min_workers:
        return base if given else waits
    return some if given < job.max_workers else most


def _seconds(value: Any) -> str:
    """Return a time in seconds, minutes or hours."""
    seconds = float(value)
    if abs(seconds) < 600:
        return f"{seconds:.4g} s"
    if abs(seconds) < 36_000:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:,.4g} h" if abs(seconds) < 3.6e7 else f"{seconds / 3600:,.0f} h"


def given_to(instance: Instance, solution: Solution | None) -> dict[str, Workers]:
    """Return the workers of each job; without a solution the base of running jobs."""
    if solution is None:
        return {job.id: held_by(instance, job) for job in instance.jobs}
    return {job.id: workers_of(instance, solution, job) for job in instance.jobs}


def outcome(instance: Instance, job: Job, workers: Workers) -> tuple[Number, Number] | None:
    """Return running time and seconds saved; ``None`` of workers that are not allowed."""
    if not any(workers) or any(of_job(instance, job, workers)):
        return None
    return running_time(instance, job, workers), reduction(instance, job, workers)


def hatch_loan(ax: Axes, row: int, instance: Instance, job: Job, workers: Workers) -> bool:
    """Hatch the part of a job's bar that is on loan; return whether there is one.

    It is at the bar's end, or at its beginning if a running job has its base workers there.
    """
    training, loan = workers
    size = job.gpus_per_worker
    begin = 0 if job.running and base_of(instance, job)[1] else training
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#333333", "linewidth": 0.0}
    if loan:
        ax.barh(
            row, loan * size, left=begin * size, height=0.7, hatch=_HATCH, clip_on=False, **look
        )
    return bool(loan)
