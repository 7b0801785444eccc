"""The pictures of a study, as those of any simulations: queue, GPUs held, waits, a day's Gantt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.display.page import Picture, drawn
from dlsched.extras import require
from dlsched.simulation.measures.metrics import count_over_time
from dlsched.simulation.measures.queue import integral
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time, draw_timeline
from dlsched.studies.figures import Figures

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
    caption = f"Jobs that wait, over time; hour 0 is {since}."
    yield drawn("queue", caption, lambda ax: draw_over_time(runs, "waiting", ax, names=names))
    caption = "What jobs hold, over time, and the capacity."
    yield drawn("held", caption, lambda ax: draw_over_time(runs, "gpus", ax, names=names))
    caption = "Share of the jobs that waited no longer."
    yield drawn("waits", caption, lambda ax: draw_distribution(runs, "queueing", ax, names=names))
    first = chosen_day(study)
    window = first, min(first + DAY, period.until - period.origin)
    when = f"in the day with most waiting, from {moment_text(study, first + period.origin)} on"
    placed = study.history.recorded_waits and period.simulated["nodes"].map(len).all()
    for name, outcome in (("day-recorded", study.recorded), ("day-policy", study.outcomes[0])):
        if placed or name != "day-recorded":
            caption = f"Which job each GPU, CPU or node works for, {outcome.name}, {when}."
            yield drawn(name, caption, partial(draw_timeline, outcome.run, window=window))


def moment_text(study: Figures, moment: float) -> str:
    """Return a moment of the record in its zone, or the seconds from its origin."""
    if not study.history.dated:
        return f"{moment:,.0f} s"
    return f"{datetime.fromtimestamp(moment, ZoneInfo(study.history.timezone)):%Y-%m-%d %H:%M}"


def chosen_day(study: Figures) -> float:
    """Return when the day begins in which jobs waited longest in the record.

    It is in seconds of the simulations' clock, at least 0; days are those of the history's zone.
    """
    period, begin = study.period, study.period.since
    if study.history.dated:
        local = datetime.fromtimestamp(begin, ZoneInfo(study.history.timezone))
        begin = local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    borders = np.arange(begin, max(period.until, begin + 1) + DAY, DAY) - period.origin
    run = study.recorded.run
    waited = np.diff(integral(*count_over_time(run.log, run.jobs, "waiting"), borders))
    return max(0.0, float(borders[int(np.argmax(waited))]))
