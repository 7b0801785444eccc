"""Pictures of simulations: GPUs over time, curves over time, distributions of several policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlsched.display.charts import dress, styles
from dlsched.display.drawing.colours import (
    IDLE,
    by_name,
    by_number,
    default_of,
    gpus_of_a,
)
from dlsched.display.drawing.legend import colour_entries, entry, finish
from dlsched.display.drawing.style import SMALL, new_axes, set_labels
from dlsched.errors import OptionError
from dlsched.simulation.measures.metrics import count_over_time, frame
from dlsched.simulation.measures.queue import integral
from dlsched.simulation.pictures.lanes import STRIPE, draw_owners, owners
from dlsched.simulation.run import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 1200
"""Columns of pixels of a timeline."""
MOST_LANES = 2400
"""GPUs of a timeline."""
BUCKETS = 500
"""Points of a curve: of more, it is the mean between as many, so that its file does not grow."""
MOST_EDGES = 20_000
"""More edges than that would be denser than pixels, and are left out."""
HOUR = 3600.0
_MINUTE = 60 / HOUR
COUNTS = {"waiting": "jobs that wait", "running": "jobs that run", "gpus": "GPUs held"}
"""What `draw_over_time` can draw."""
VALUES = {"jct": "completion time", "queueing": "time without GPUs"}
"""What `draw_distribution` can draw."""


def draw_timeline(
    run: Simulation,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    window: tuple[float, float] | None = None,
) -> Axes:
    """Draw which job every GPU works for, over time; jobs that share GPUs alternate in stripes.

    Parameters
    ----------
    color_by
        ``"job"``, or ``"gpus"``, the number that a job asked for; by default the job, if there are
        as many colours.
    window
        The seconds that are shown; by default all. Of more than `MOST_LANES` GPUs the first are.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    ExtraMissing
        If matplotlib is not installed.
    """
    jobs = run.workload.jobs
    chosen = color_by or default_of([job.id for job in jobs], "gpus", patterned=False)
    if chosen not in ("job", "gpus"):
        raise OptionError(f"a timeline cannot be coloured by {chosen!r}, only by: job, gpus")
    sizes = [job.gpus for job in jobs]
    colouring = by_name([job.id for job in jobs])
    if chosen == "gpus":
        colouring = by_number(sizes).renamed(gpus_of_a("job"))
    segments = frame(run.log, "segments")
    begin, end = window or (0.0, float(segments["end"].max()))
    segments = segments[(segments["end"] > begin) & (segments["start"] < end)]
    gpus = run.cluster.gpus
    owner = owners(run.cluster.servers, segments, COLUMNS, (begin, end), MOST_LANES)
    axes = new_axes(min(7.0, 1.2 + 0.06 * gpus)) if ax is None else ax
    draw_owners(axes, owner, colouring.colours, (begin / HOUR, end / HOUR), run.cluster.servers)
    _edges(axes, owner, (begin / HOUR, end / HOUR))
    set_labels(axes, "hours", "GPUs, by server")
    starts = np.cumsum([server.gpus for server in run.cluster.servers])
    for start in starts[:-1] if len(starts) < 40 else ():
        axes.axhline(start, color="#7f7f7f", linewidth=0.3)
    shown = {colouring.labels[j] for j in np.unique(owner[owner >= 0])}
    entries = colour_entries(colouring, shown, "jobs", patterned=False)
    entries += [entry("idle", IDLE)] if (owner < 0).any() else []
    mean = run.jobs["jct"].dropna().mean() / HOUR
    held = float((owner >= 0).mean())
    title = f"{run.name}: {len(jobs):,} jobs on {gpus:,} GPUs, in use {held:.0%} of the time; "
    finish(axes, f"{title}mean completion time {mean:.3g} h", entries, own=ax is None)
    return axes


def _edges(ax: Axes, owner: NDArray[np.int64], hours: tuple[float, float]) -> None:
    """Draw a thin line wherever the job of a GPU changes, over time or to the next GPU.

    Where jobs share GPUs in stripes, and where changes are as close as pixels, there are none.
    """
    begin, step = hours[0], (hours[1] - hours[0]) / owner.shape[1]
    changes = owner[:, 1:] != owner[:, :-1]
    close = np.zeros_like(changes)
    close[:, STRIPE:] |= changes[:, :-STRIPE]
    close[:, :-STRIPE] |= changes[:, STRIPE:]
    rows, places = np.nonzero(changes & ~close)
    look: dict[str, Any] = {"colors": "black", "linewidths": 0.3, "alpha": 0.6}
    if len(rows) <= MOST_EDGES:
        ax.vlines(begin + (places + 1) * step, rows, rows + 1, **look)
    lanes = owner[1:] != owner[:-1]
    starts = np.diff(np.pad(lanes.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    rows, begins = np.nonzero(starts == 1)
    _, ends = np.nonzero(starts == -1)
    if len(rows) <= MOST_EDGES:
        ax.hlines(rows + 1, begin + begins * step, begin + ends * step, **look)


def draw_over_time(
    runs: Iterable[Simulation],
    what: str = "waiting",
    ax: Axes | None = None,
    *,
    names: Sequence[str] = (),
) -> Axes:
    """Draw a count over time, one curve for each simulation.

    Parameters
    ----------
    what
        One of `COUNTS`.
    names
        Names of the simulations in the legend; policy and method by default.

    Raises
    ------
    OptionError
        If there is no such count.
    """
    _require(what, COUNTS)
    runs = list(runs)
    axes = new_axes(2.6) if ax is None else ax
    for run, look in _looks(runs, names):
        axes.plot(*_thinned(*count_over_time(run.log, run.jobs, what)), **look | {"marker": None})
    if what == "gpus":
        for gpus in sorted({run.cluster.gpus for run in runs}):
            axes.axhline(gpus, color="0.35", linewidth=0.8, linestyle=(0, (2, 2)))
            axes.annotate(
                f"{gpus:,} GPUs of the cluster",
                (1, gpus),
                xytext=(0, 2),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                fontsize=SMALL,
            )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)
    set_labels(axes, "hours", COUNTS[what])
    dress(axes, own=ax is None)
    return axes


def draw_distribution(
    runs: Iterable[Simulation],
    what: str = "jct",
    ax: Axes | None = None,
    *,
    names: Sequence[str] = (),
) -> Axes:
    """Draw the share of jobs within a time, one curve for each simulation.

    Time is logarithmic from a minute on, and linear from 0 to a minute: many jobs wait 0 seconds.

    Parameters
    ----------
    what
        One of `VALUES`.
    names
        Names of the simulations in the legend; policy and method by default.

    Raises
    ------
    OptionError
        If there is no such value.
    """
    _require(what, VALUES)
    axes = new_axes(2.6) if ax is None else ax
    longest = 0.0
    for run, look in _looks(list(runs), names):
        values = np.sort(run.jobs[what].dropna().to_numpy(float)) / HOUR
        shares = np.arange(len(values) + 1) / max(1, len(values))
        values = np.concatenate([[0.0], values])
        axes.plot(values, shares, **look | {"markevery": (0.1, 0.25)})
        longest = max(longest, float(values[-1]))
    axes.set_xscale("symlog", linthresh=_MINUTE, linscale=0.4)
    axes.set_xlim(0, max(longest, 2 * _MINUTE) * 1.05)
    axes.set_ylim(0, 1.02)
    _hour_ticks(axes)
    set_labels(axes, f"{VALUES[what]}, hours (linear up to a minute)", "share of jobs within it")
    dress(axes, own=ax is None)
    return axes


def _looks(
    runs: Sequence[Simulation], names: Sequence[str]
) -> Iterator[tuple[Simulation, dict[str, Any]]]:
    """Yield each simulation with the look of its curve, which is one of steps."""
    labels = names or [run.name for run in runs]
    for run, label, style in zip(runs, labels, styles(), strict=False):
        yield run, style | {"drawstyle": "steps-post", "label": label}


def _thinned(
    times: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a curve from 0 on, in hours, of not much more than `BUCKETS` points."""
    if times[0] > 0:
        times, values = np.concatenate([[0.0], times]), np.concatenate([[0.0], values])
    if len(times) > BUCKETS:
        borders = np.linspace(0.0, times[-1], BUCKETS + 1)
        means = np.diff(integral(times, values, borders)) / np.diff(borders)
        times, values = borders, np.append(means, values[-1])
    return times / HOUR, values


def _hour_ticks(axes: Axes) -> None:
    """Write times as far as they have room: 0, a minute, and powers of ten of an hour."""
    from matplotlib.ticker import NullLocator

    end = axes.get_xlim()[1]
    places = {0.0: "0", _MINUTE: "1 min"}
    hours = (0.1, 1, 10, 100, 1_000, 10_000, 100_000)
    places |= {hour: f"{hour:,g} h" for hour in hours if hour <= end}
    axes.set_xticks([*places], [*places.values()])
    axes.xaxis.set_minor_locator(NullLocator())


def _require(what: str, known: Sequence[str] | dict[str, str]) -> None:
    if what not in known:
        raise OptionError(f"{what!r} cannot be drawn, only: {', '.join(known)}")
