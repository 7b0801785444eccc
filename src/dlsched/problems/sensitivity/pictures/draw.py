"""Picture of sensitivity: the GPUs, CPUs and memory in use on every server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.display.drawing.bands import Bands, colours_array
from dlsched.display.drawing.colours import (
    EDGE,
    IDLE,
    OTHER,
    Colouring,
    Differences,
    by_name,
    by_number,
    choose,
    default_of,
    gpus_of_a_job,
    mix,
)
from dlsched.display.drawing.labels import box_label
from dlsched.display.drawing.legend import colour_entries, finish, idle_entry
from dlsched.display.drawing.style import TEXT, new_axes, set_labels
from dlsched.problems.sensitivity.definition.check import check, used
from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Solution
from dlsched.problems.sensitivity.heuristics import proportional
from dlsched.results.summary import solution_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_BY = ("job", "model", "gpus")
"""What the bars can be coloured by: the job, its model (profile), its GPUs."""
COLOR_BY_OF_MANY = ("cpus", "use", *COLOR_BY)
"""The same for many servers, and a job's CPUs per GPU against an even share of the server's, and
the share of each resource in use."""
_SHARES = {
    "under half an even share of CPUs": "#b35806",
    "less than an even share": "#f1a340",
    "an even share": OTHER,
    "up to twice an even share": "#998ec3",
    "more than twice": "#542788",
}
"""How many CPUs a GPU of a job has, relative to the server's CPUs per GPU."""
RESOURCES = ("gpus", "cpus", "memory")
_NAMES = ("GPU", "CPU", "memory")
_MOST_SERVERS = 8
"""Up to this number of servers, each has its bars."""


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw the shares of GPUs, CPUs and memory in use on every server.

    Up to 8 servers have three bars each, stacked by job; what is idle is white. Of more servers
    each is a column: the jobs on its GPUs, or the share of each resource in use.

    Parameters
    ----------
    solution
        A feasible solution; by default the proportional allocation.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`, by default the job, or with more jobs than looks the model; of many
        servers one of `COLOR_BY_OF_MANY`, by default the CPUs per GPU.
    other
        A solution to compare with: jobs with as many CPUs and as much memory in both are pale.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    """
    many = instance.servers.count > _MOST_SERVERS
    possible = COLOR_BY_OF_MANY if many else COLOR_BY
    jobs = [job.id for job in instance.jobs]
    models = default_of(list(instance.profiles), "gpus").replace("job", "model")
    default = "cpus" if many else default_of(jobs, models)
    chosen = choose(color_by, possible, default, instance.problem)
    kept = None
    if solution is not None and other is not None:
        kept = differing(instance, solution, other).names
    who = "no solution"
    if solution is None:
        baseline = proportional(instance).solution
        solution = baseline if isinstance(baseline, Solution) else None
    allocation = dict(solution.allocation) if solution else {}
    if solution is not None:
        who = solution_text(solution.method or "proportional", check(instance, solution).objective)
    entries: list[Any] = []
    if chosen == "use":
        made_on = _use(instance, allocation, ax)
    else:
        colouring = _colouring(instance, chosen, allocation).only(jobs, kept)
        made_on = (_cells if many else _bars)(instance, allocation, colouring, ax)
        shown = [j for j, job in enumerate(jobs) if job in allocation]
        what = "models" if chosen == "model" else "jobs"
        entries = colour_entries(colouring, shown, what, patterned=not many)
        held = sum(sum(given.gpus.values()) for given in allocation.values())
        if not many or held < instance.servers.count * instance.servers.gpus:
            entries.append(idle_entry())
    servers = f"{instance.servers.count:,} server{'s' * (instance.servers.count != 1)}"
    title = f"{instance.name}: {servers}, {len(jobs):,} jobs; {who}"
    finish(made_on, title, entries, own=ax is None)
    return made_on


def draw_both(instance: Instance, solution: Solution) -> Sequence[Axes]:
    """Draw the proportional allocation above a solution; return both axes."""
    import matplotlib.pyplot as plt

    _, (above, below) = plt.subplots(2, 1, figsize=(7, 5.2), layout="constrained")
    draw(instance, None, above)
    draw(instance, solution, below)
    if above.get_legend() is not None and below.get_legend() is not None:
        above.get_legend().remove()  # that of the picture below has the same jobs
    return above, below


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs with other CPUs or memory in two solutions, or in only one of them."""
    first, second = (
        {name: (given.cpus, given.memory) for name, given in solution.allocation.items()}
        for solution in (a, b)
    )
    jobs = {job.id for job in instance.jobs if first.get(job.id) != second.get(job.id)}
    return Differences(jobs, f"{len(jobs):,} of {len(instance.jobs):,} jobs", "CPUs and memory")


def _colouring(
    instance: Instance, color_by: str, allocation: Mapping[str, Allocation]
) -> Colouring:
    if color_by == "cpus":
        even = Fraction(instance.servers.cpus) / instance.servers.gpus
        given = [allocation.get(job.id) for job in instance.jobs]
        labels = [_share(Fraction(a.cpus) / even) if a else "an even share" for a in given]
        return Colouring(tuple(_SHARES[label] for label in labels), tuple(labels), _SHARES)
    if color_by == "model":
        return by_name([job.profile for job in instance.jobs])
    if color_by == "gpus":
        by_gpus = by_number([instance.profile(job).gpus for job in instance.jobs])
        return by_gpus.renamed(gpus_of_a_job)
    return by_name([job.id for job in instance.jobs])


def _share(ratio: Fraction) -> str:
    """Return the entry of `_SHARES` for a multiple of an even share."""
    under_half, less, even, more, twice = _SHARES
    if ratio < 1:
        return under_half if 2 * ratio < 1 else less
    if ratio == 1:
        return even
    return more if ratio <= 2 else twice


def _held(
    instance: Instance, allocation: Mapping[str, Allocation]
) -> Iterator[tuple[int, int, int]]:
    """Yield the jobs' positions, a server of each, and its GPUs there."""
    for j, job in enumerate(instance.jobs):
        if job.id in allocation:
            yield from ((j, int(s), gpus) for s, gpus in allocation[job.id].gpus.items())


def _bars(
    instance: Instance, allocation: Mapping[str, Allocation], colouring: Colouring, ax: Axes | None
) -> Axes:
    """Draw three stacked bars for each server."""
    servers = instance.servers
    if ax is None:
        ax = new_axes(2.4)
    bars = [(s, r) for s in range(servers.count) for r in range(len(RESOURCES))]
    for s, r in bars:
        ax.bar(4 * s + r, 1, 0.9, color=IDLE, edgecolor=EDGE, linewidth=0.6)
    tops = dict.fromkeys(bars, 0.0)
    for j, s, gpus in _held(instance, allocation):
        job = instance.jobs[j].id
        fill = colouring.colours[j]
        hatch = colouring.hatch(j)
        look: dict[str, Any] = {"color": fill, "edgecolor": mix(fill, "#000000", 0.55)}
        per_gpu = (1.0, float(allocation[job].cpus), float(allocation[job].memory))
        for r, amount in enumerate(per_gpu):
            share = gpus * amount / float(getattr(servers, RESOURCES[r]))
            x = 4 * s + r
            bottom = tops[s, r]
            ax.bar(x, share, 0.9, bottom, linewidth=0.6, hatch=hatch, **look)
            box_label(ax, (x - 0.45, bottom, 0.9, share), job, fill, opaque=bool(hatch))
            tops[s, r] = bottom + share
    set_labels(ax, "", "share of the server")
    names = _NAMES if servers.count <= 3 else ("G", "C", "M")
    ax.set_xticks([4 * s + r for s, r in bars], [names[r] for _, r in bars], fontsize=TEXT)
    for s in range(servers.count):
        ax.annotate(
            f"server {s}" if servers.count <= 6 else str(s), (4 * s + 1, 0), xytext=(0, -14),
            xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=TEXT,
            ha="center", va="top",
        )  # fmt: skip
    if servers.count > 3:
        words = "GPUs (G), CPUs (C) and memory (M) of each server"
        set_labels(ax, f"\n{words}", "share of the server")
        ax.xaxis.labelpad = 12
    ax.set_xlim(-0.7, 4 * servers.count - 1.3)
    ax.set_ylim(0, 1.02)
    ax.tick_params(axis="x", length=0)
    return ax


def _cells(
    instance: Instance, allocation: Mapping[str, Allocation], colouring: Colouring, ax: Axes | None
) -> Axes:
    """Draw the GPUs of every server as a column of cells."""
    servers = instance.servers
    colours = np.ones((servers.gpus, servers.count, 3))
    filled = [0] * servers.count
    rows = colours_array(colouring.colours)
    for j, s, gpus in _held(instance, allocation):
        colours[filled[s] : filled[s] + gpus, s] = rows[j]
        filled[s] += gpus
    bands = Bands(servers.count, servers.gpus, ax, cell_points=4, below=58, first=0)
    bands.paint(colours)
    bands.finish()
    _label(bands, f"a server is a column of its {servers.gpus} GPUs")
    return bands.ax


def _use(instance: Instance, allocation: Mapping[str, Allocation], ax: Axes | None) -> Axes:
    """Draw the share of GPUs, CPUs and memory in use on every server as a heat map."""
    from matplotlib.colors import LinearSegmentedColormap

    servers = instance.servers
    use = np.zeros((len(RESOURCES), servers.count))
    for s, amounts in used(allocation).items():
        for r, amount in enumerate(amounts):
            use[r, s] = float(amount / getattr(servers, RESOURCES[r]))
    bands = Bands(servers.count, len(RESOURCES), ax, cell_points=9, below=42, first=0)
    colours = LinearSegmentedColormap.from_list("use", ["#ffffff", "#8fb4d9", "#08306b"])
    image = bands.paint(use, lines=True, cmap=colours, vmin=0, vmax=1)
    bands.finish()
    if bands.bands == 1:
        bands.ax.set_yticks([r + 0.5 for r in range(len(RESOURCES))], _NAMES, fontsize=TEXT)
        _label(bands, "a column each")
    else:
        _label(bands, f"from top to bottom: {', '.join(_NAMES)}")
    bar = bands.ax.figure.colorbar(image, ax=bands.ax, fraction=0.04, pad=0.02)
    bar.set_label("share in use", fontsize=TEXT)
    bar.ax.tick_params(labelsize=TEXT, length=2)
    bar.outline.set_linewidth(0.5)
    return bands.ax


def _label(bands: Bands, meaning: str) -> None:
    rows = f", {bands.per_band} in a row" if bands.bands > 1 else ""
    set_labels(bands.ax, f"all {bands.columns:,} servers{rows}; {meaning}")
    bands.ax.tick_params(length=0)
    bands.ax.spines[:].set_visible(False)
