"""The pictures of a study, as those of any simulations: queue, GPUs held, waits, a day's Gantt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.display.page import Picture
from dlsched.extras import require
from dlsched.simulation.measures.metrics import count_over_time
from dlsched.simulation.measures.queue import integral
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time, draw_timeline
from dlsched.studies.figures import Figures

SIZE: Final = (4.4, 3.1)
"""Inches of a picture: its letters are legible on a page of 390 pixels, and at 640."""
DAY: Final = 86400.0


def draw_pictures(study: Figures) -> Iterator[Picture]:
    """Yield the pictures; those of which the record says nothing are left out.

    Raises
    ------
    ExtraMissing
        If matplotlib is not installed.
    """
    require("matplotlib", "the pictures of a study")
    period = study.period
    outcomes = [study.recorded] * study.history.recorded_waits + list(study.outcomes)
    runs, names = [o.run for o in outcomes], [o.name for o in outcomes]
    since = moment_text(study, period.origin)
    shown: list[tuple[str, str, Callable[..., Any], str]] = [
        ("queue", f"Jobs that wait, over time; hour 0 is {since}.", draw_over_time, "waiting"),
        ("held", "What jobs hold, over time, and the capacity.", draw_over_time, "gpus"),
        ("waits", "Share of the jobs that waited no longer.", draw_distribution, "queueing"),
    ]
    for name, caption, draw, what in shown:
        picture = _empty(name, caption)
        draw(runs, what, picture.figure.axes[0], names=names)
        yield picture
    first = chosen_day(study)
    window = (
        max(first, period.since - period.origin),
        min(first + DAY, period.until - period.origin),
    )
    when = f"in the day with most waiting, from {moment_text(study, first + period.origin)} on"
    placed = study.history.recorded_waits and period.simulated["nodes"].map(len).all()
    for name, outcome in (("day-recorded", study.recorded), ("day-policy", study.outcomes[0])):
        if placed or name != "day-recorded":
            caption = f"Which job each GPU, CPU or node works for, {outcome.name}, {when}."
            picture = _empty(name, caption)
            draw_timeline(outcome.run, picture.figure.axes[0], window=window)
            yield picture


def _empty(name: str, caption: str) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    figure.subplots()
    return Picture(name, caption, figure)


def moment_text(study: Figures, moment: float) -> str:
    """Return a moment of the record in its zone, or the seconds from its origin."""
    if not study.history.dated:
        return f"{moment:,.0f} s"
    return f"{datetime.fromtimestamp(moment, ZoneInfo(study.history.timezone)):%Y-%m-%d %H:%M}"


def chosen_day(study: Figures) -> float:
    """Return when the day begins in which jobs waited longest in the record.

    It is in seconds of the simulations' clock; days are those of the history's zone.
    """
    period, begin = study.period, study.period.since
    if study.history.dated:
        local = datetime.fromtimestamp(begin, ZoneInfo(study.history.timezone))
        begin = local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    borders = np.arange(begin, max(period.until, begin + 1) + DAY, DAY) - period.origin
    run = study.recorded.run
    waited = np.diff(integral(*count_over_time(run.log, run.jobs, "waiting"), borders))
    return float(borders[int(np.argmax(waited))])
