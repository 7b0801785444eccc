"""The pictures of a study: queue, GPUs held, waits, and the Gantt chart of a day."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.display.drawing.colours import by_name
from dlsched.display.drawing.style import short_name
from dlsched.extras import require
from dlsched.simulation.measures.metrics import frame
from dlsched.simulation.pictures.lanes import draw_owners, owners
from dlsched.studies.figures import Figures
from dlsched.studies.outcome import Outcome
from dlsched.studies.waiting import Floats, Spans

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (4.2, 2.5)
"""Inches of a picture: its letters are legible on a page of 390 pixels, and at 640."""
TALL = 3.4
"""Inches of the height of a Gantt chart."""
BUCKETS = 360
"""Stretches of time of which a curve shows the mean, so that its size does not grow with jobs."""
COLUMNS = 480
"""Columns of pixels of a Gantt chart."""
MOST_LANES = 2400
"""GPUs of a Gantt chart; of a larger cluster the first are drawn."""
DAY = 86400.0
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's palette, in the order of the policies; the record is black."""
DASHES: tuple[Any, ...] = ("solid", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (5, 1, 1, 1)))
"""Distinguish the curves in black and white, too."""


@dataclass(frozen=True)
class Picture:
    """A picture with its name and caption; `svg` is a whole file."""

    name: str
    caption: str
    svg: str

    @property
    def inline(self) -> str:
        """The picture as a part of a page: without the file's head, its ids its own."""
        body = self.svg[self.svg.index("<svg") :]
        body = re.sub(r'\bid="', f'id="{self.name}-', body)
        body = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\g<1>{self.name}-", body)
        body = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", body, count=1)
        body = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", body, count=1)
        label = self.caption.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        return body.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def draw_pictures(study: Figures) -> Iterator[Picture]:
    """Yield the pictures; those of which the record says nothing are left out.

    Raises
    ------
    ExtraMissing
        If matplotlib is not installed.
    """
    require("matplotlib", "the pictures of a study")
    outcomes = [*_with_record(study)]
    unit = {"gpu": "GPUs", "cpu": "CPUs", "node": "nodes"}[study.history.resource]
    axes = _axes(SIZE[1])
    for look, outcome in _looks(outcomes):
        counts = Spans(
            outcome.waits.job,
            outcome.waits.start,
            outcome.waits.end,
            np.ones(len(outcome.waits.job)),
        )
        _curve(study, axes, counts, look)
    yield _finished(study, axes, "queue", "Jobs that wait, over time.", "jobs that wait")
    axes = _axes(SIZE[1])
    for look, outcome in _looks(outcomes):
        _curve(study, axes, outcome.held, look, study.period.capacity.total)
    total = study.period.capacity.total
    axes.axhline(total, color="#7f7f7f", linewidth=0.8, linestyle=(0, (2, 2)))
    caption = f"{unit} that jobs hold, over time; the line above is the capacity, {total:,}."
    yield _finished(study, axes, "held", caption, f"{unit} held")
    yield _waits(study, outcomes)
    yield from _day(study, unit)


def _with_record(study: Figures) -> Sequence[Outcome]:
    record = [study.recorded] if study.history.recorded_waits else []
    return [*record, *study.outcomes]


def _looks(outcomes: Sequence[Outcome]) -> Iterator[tuple[dict[str, Any], Outcome]]:
    """Yield each outcome with the look of its curve."""
    policies = 0
    for outcome in outcomes:
        look: dict[str, Any] = {"label": short_name(outcome.name, 30), "linewidth": 1.1}
        if outcome.run is None:
            look |= {"color": "black", "linewidth": 1.5}
        else:
            look["color"] = COLOURS[policies % len(COLOURS)]
            look["linestyle"] = DASHES[policies % len(DASHES)]
            policies += 1
        yield look, outcome


def _axes(height: float) -> Axes:
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(SIZE[0], height), layout="constrained")
    axes: Axes = figure.subplots()
    axes.tick_params(labelsize=8, length=2.5)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def bucketed(spans: Spans, since: float, until: float) -> tuple[Floats, Floats]:
    """Return the borders of equal stretches of time, and the mean of a curve in each."""
    borders = np.linspace(since, until, BUCKETS + 1)
    if not len(spans.job):
        return borders, np.zeros(BUCKETS)
    times, values = spans.curve()
    total = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times))))
    integral = np.interp(borders, times, total)
    return borders, np.diff(integral) / np.diff(borders)


def _curve(
    study: Figures, axes: Axes, spans: Spans, look: dict[str, Any], most: float = np.inf
) -> None:
    """Draw a curve, no higher than `most`: GPUs that jobs share count once."""
    period = study.period
    borders, means = bucketed(spans, period.since - period.origin, period.until - period.origin)
    means = means.clip(max=most)
    axes.stairs(means, _moments(study, borders), baseline=None, **look)


def _moments(study: Figures, seconds: Floats) -> Any:
    """Return times of the simulations' clock for an axis: dates, or hours from the beginning."""
    period = study.period
    if not study.history.dated:
        return (seconds + period.origin - period.since) / 3600
    from matplotlib.dates import date2num

    begin = datetime.fromtimestamp(period.origin, UTC)
    return date2num([begin + timedelta(seconds=float(second)) for second in seconds])


def _finished(study: Figures, axes: Axes, name: str, caption: str, label: str) -> Picture:
    """Label the axes of curves over time."""
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label, fontsize=8)
    _time_axis(study, axes)
    _legend(axes)
    return _picture(name, caption, axes)


def _time_axis(study: Figures, axes: Axes) -> None:
    if not study.history.dated:
        axes.set_xlabel("hours", fontsize=8)
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    zone = ZoneInfo(study.history.timezone)
    locator = AutoDateLocator(tz=zone, minticks=3, maxticks=6)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))
    axes.xaxis.get_offset_text().set_fontsize(7)


def _legend(axes: Axes) -> None:
    axes.figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper left",
        ncols=3,
        fontsize=8,
        frameon=False,
    )


def _waits(study: Figures, outcomes: Sequence[Outcome]) -> Picture:
    axes = _axes(SIZE[1])
    for look, outcome in _looks(outcomes):
        waits = np.sort(outcome.jobs["wait"].to_numpy(float))
        places = np.unique(np.linspace(0, len(waits) - 1, BUCKETS).astype(int))
        shares = (places + 1) / len(waits)
        axes.plot(waits[places].clip(min=1), shares, drawstyle="steps-post", **look)
    axes.set(xscale="log", ylim=(0, 1.02))
    axes.xaxis.set_major_formatter(lambda value, _place: _span(value))
    axes.xaxis.set_minor_formatter(lambda _value, _place: "")
    axes.set_xticks([1, 60, 3600, 86400])
    axes.set_ylabel("share of the jobs", fontsize=8)
    axes.set_xlabel("waited at most", fontsize=8)
    _legend(axes)
    return _picture("waits", "Share of the jobs that waited no longer than a time.", axes)


def _span(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def _day(study: Figures, unit: str) -> Iterator[Picture]:
    """Yield Gantt charts of the day with most waiting: of the record, and of the first policy."""
    period = study.period
    midnight = chosen_day(study)
    first = max(midnight, period.since - period.origin)
    last = min(midnight + DAY, period.until - period.origin)
    nodes = period.cluster.servers
    lanes = sum(node.gpus for node in nodes)
    shown = study.history.timezone if study.history.dated else ""
    when = "the 24 hours with most waiting"
    if study.history.dated:
        begin = datetime.fromtimestamp(midnight + period.origin, ZoneInfo(shown))
        when = f"{begin:%Y-%m-%d}, the day with most waiting"
    limit = f"; the first {MOST_LANES:,} of {lanes:,} {unit}" if lanes > MOST_LANES else ""
    records = []
    if study.history.recorded_waits and period.simulated["nodes"].map(len).all():
        records.append(("day-recorded", "recorded", _recorded_segments(study)))
    for outcome in study.outcomes[:1]:
        if outcome.run is not None and not outcome.shares_gpus:
            records.append(("day-policy", outcome.name, frame(outcome.run.log, "segments")))
    for name, label, segments in records:
        inside = segments[(segments["end"] > first) & (segments["start"] < last)]
        axes = _axes(TALL)
        hours = ((first - midnight) / 3600, (last - midnight) / 3600)
        owner = owners(nodes, inside, COLUMNS, (first, last), MOST_LANES)
        colouring = by_name(period.simulated["id"].tolist())
        draw_owners(axes, owner, colouring.colours, hours, nodes)
        axes.set_xlabel("hour of the day", fontsize=8)
        caption = f"Which job each of the {unit} works for, {label}: {when}{limit}. White is idle."
        yield _picture(name, caption, axes)


def chosen_day(study: Figures) -> float:
    """Return when the day begins in which counted jobs waited longest in the record.

    It is in seconds of the simulations' clock; days are those of the history's zone.
    """
    period = study.period
    if study.history.dated:
        zone = ZoneInfo(study.history.timezone)
        local = datetime.fromtimestamp(period.since, zone)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        begin = midnight.timestamp() - period.origin
    else:
        begin = period.since - period.origin
    end = max(period.until - period.origin, begin + 1)
    borders = np.arange(begin, end + DAY, DAY)
    waits = study.recorded.waits
    if not len(waits.job):
        return float(borders[0])
    counts = Spans(waits.job, waits.start, waits.end, np.ones(len(waits.job)))
    times, values = counts.curve()
    total = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times))))
    return float(borders[int(np.argmax(np.diff(np.interp(borders, times, total))))])


def _recorded_segments(study: Figures) -> pd.DataFrame:
    """Return the record as the segments of a log."""
    import pandas as pd

    jobs = study.period.simulated
    held = study.recorded.held
    shares = [json.dumps([[node, int(gpus)] for node, gpus in nodes]) for nodes in jobs["nodes"]]
    return pd.DataFrame(
        {"job": held.job, "start": held.start, "end": held.end, "shares": shares, "sharing": None}
    )


def _picture(name: str, caption: str, axes: Axes) -> Picture:
    import matplotlib as mpl

    stream = io.StringIO()
    settings = {"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}
    with mpl.rc_context(settings):  # equal pictures give equal files
        cast("Figure", axes.figure).savefig(stream, format="svg", metadata={"Date": None})
    return Picture(name, caption, stream.getvalue())
