"""Pictures of simulations: GPUs over time, curves over time, distributions of several policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlsched.display.charts import dress, styles
from dlsched.display.drawing.bands import colours_array
from dlsched.display.drawing.colours import IDLE, by_name, by_number, default_of
from dlsched.display.drawing.legend import colour_entries, finish, idle_entry
from dlsched.display.drawing.style import new_axes, set_labels
from dlsched.errors import OptionError
from dlsched.simulation.engine.layers import is_opportunistic
from dlsched.simulation.measures.metrics import frame
from dlsched.simulation.measures.queue import steps
from dlsched.simulation.pictures.lanes import stretches
from dlsched.simulation.run import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 1200
"""Columns of pixels of a timeline."""
STRIPE = 4
"""Columns after which a timeline changes to the next job of a group."""
UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0))
COUNTS = {"waiting": "jobs that wait", "running": "jobs that run", "gpus": "GPUs held"}
"""What `draw_over_time` can draw."""
VALUES = {"jct": "completion time", "queueing": "time without GPUs"}
"""What `draw_distribution` can draw."""


def draw_timeline(run: Simulation, ax: Axes | None = None, *, color_by: str | None = None) -> Axes:
    """Draw which job every GPU works for, over time; jobs that share GPUs alternate in stripes.

    Parameters
    ----------
    color_by
        ``"job"``, or ``"gpus"``, the number that a job asked for; by default the job, if there are
        as many colours.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    ExtraMissing
        If matplotlib is not installed.
    """
    jobs = run.workload.jobs
    chosen = color_by or default_of([job.id for job in jobs], "gpus")
    if chosen not in ("job", "gpus"):
        raise OptionError(f"a timeline cannot be coloured by {chosen!r}, only by: job, gpus")
    sizes = [job.gpus for job in jobs]
    colouring = by_name([job.id for job in jobs]) if chosen == "job" else by_number(sizes)
    segments = frame(run.log, "segments")
    end = float(segments["end"].max())
    unit, length = _unit(end)
    gpus = run.cluster.gpus
    owner = _owners(run, segments, gpus, end)
    palette = colours_array([*colouring.colours, IDLE])
    axes = new_axes(min(7.0, 1.2 + 0.06 * gpus)) if ax is None else ax
    axes.imshow(
        palette[owner],
        extent=(0, end / length, gpus, 0),
        aspect="auto",
        interpolation="none",
    )
    set_labels(axes, unit, "GPUs, by server")
    _server_ticks(axes, run)
    shown = np.unique(owner[owner >= 0]).tolist()
    entries = [*colour_entries(colouring, shown, "jobs"), idle_entry()]
    finish(axes, f"{_name(run)}: every GPU over time", entries, own=ax is None)
    return axes


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
    unit, length = _unit(max(float(run.jobs["end"].max()) for run in runs))
    for run, look in _looks(runs, names):
        times, values = _count(run, what)
        axes.plot(times / length, values, **look | {"marker": None})
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)
    set_labels(axes, unit, COUNTS[what])
    dress(axes, own=ax is None)
    return axes


def draw_distribution(
    runs: Iterable[Simulation],
    what: str = "jct",
    ax: Axes | None = None,
    *,
    names: Sequence[str] = (),
) -> Axes:
    """Draw the share of jobs within a time, one curve for each simulation, time logarithmic.

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
    for run, look in _looks(list(runs), names):
        values = np.sort(run.jobs[what].dropna().to_numpy(float))
        shares = np.arange(1, len(values) + 1) / len(values)
        axes.plot(np.maximum(values, 1.0), shares, **look | {"markevery": (0.1, 0.25)})
    axes.set(xscale="log", ylim=(-0.02, 1.02))
    _decimal_ticks(axes)
    set_labels(axes, f"{VALUES[what]}, seconds", "share of jobs within it")
    dress(axes, own=ax is None)
    return axes


def _looks(
    runs: Sequence[Simulation], names: Sequence[str]
) -> Iterator[tuple[Simulation, dict[str, Any]]]:
    """Yield each simulation with the look of its curve, which is one of steps."""
    labels = names or [_name(run) for run in runs]
    for run, label, style in zip(runs, labels, styles(), strict=False):
        yield run, style | {"drawstyle": "steps-post", "label": label}


def _owners(run: Simulation, segments: Any, gpus: int, end: float) -> NDArray[np.int64]:
    """Return which job each pixel shows, shape (GPUs, columns); -1 for none."""
    servers = [server.model_dump() for server in run.cluster.servers]
    owner = np.full((gpus, COLUMNS), -1, np.int64)
    turn = np.arange(COLUMNS) // STRIPE
    shared = segments.dropna(subset="sharing")
    members = {name: sorted(set(jobs)) for name, jobs in shared.groupby("sharing")["job"]}
    layers = None
    if "layers" in run.meta:
        layers = [int(is_opportunistic(job)) for job in run.workload.jobs]
    for lane, start, stop, job, group in stretches(servers, segments):
        first, last = (round(COLUMNS * t / end) for t in (start, stop))
        mine = np.arange(first, max(last, first + 1))[: COLUMNS - first]
        together = members.get(group or "", [job])
        turns = turn[mine] % len(together) == together.index(job)
        if layers is not None:
            turns = turn[mine] % 2 == layers[job]
        owner[lane, mine[turns | (owner[lane, mine] < 0)]] = job
    return owner


def _count(run: Simulation, what: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    segments = frame(run.log, "segments")
    size = segments["gpus"].to_numpy() if what == "gpus" else np.ones(len(segments))
    times = [segments["start"], segments["end"]]
    changes = [size, -size]
    if what == "waiting":
        jobs = run.jobs.dropna(subset=["end"])
        ones = np.ones(len(jobs))
        times = [jobs["submit"], jobs["end"], *times]
        changes = [ones, -ones, -size, size]
    return steps(np.concatenate(times), np.concatenate(changes))


def _server_ticks(ax: Axes, run: Simulation) -> None:
    """Mark where servers begin, as far as there is room."""
    starts = np.cumsum([0, *(server.gpus for server in run.cluster.servers)])
    every = max(1, len(starts) // 17)
    names = [server.id for server in run.cluster.servers]
    ax.set_yticks(starts[:-1:every], names[::every])
    for start in starts[1:-1]:
        if len(starts) < 40:
            ax.axhline(start, color="#7f7f7f", linewidth=0.3)


def _decimal_ticks(axes: Axes) -> None:
    """Write times as decimal numbers, as many as have room beside each other."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axes.get_xlim()
    few = high > 1000 * low
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if few else (1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _unit(end: float) -> tuple[str, float]:
    return next(((name, length) for name, length in UNITS if end >= 3 * length), ("seconds", 1.0))


def _name(run: Simulation) -> str:
    method = run.meta["method"]
    return str(run.meta["policy"]) + (f" ({method})" if method else "")


def _require(what: str, known: Sequence[str] | dict[str, str]) -> None:
    if what not in known:
        raise OptionError(f"{what!r} cannot be drawn, only: {', '.join(known)}")
