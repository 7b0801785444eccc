"""The files of a study: a page, all figures as JSON, every job and every row left out as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from dlsched.display.markup import lines_html
from dlsched.display.page import Picture, drawn, frame_table, template
from dlsched.names import VERSION
from dlsched.schema.files import make_folder, write_bytes, write_json
from dlsched.simulation.measures.metrics import count_over_time
from dlsched.simulation.measures.queue import integral
from dlsched.simulation.pictures.charts import draw_distribution, draw_over_time, draw_timeline
from dlsched.studies.figures import GROUPS, UNKNOWN, Figures
from dlsched.studies.verdict import reach_verdict
from dlsched.sweeps.stored_runs import csv_bytes
from dlsched.text.figures import amount, percent, shorten, span

if TYPE_CHECKING:
    import pandas as pd

DAY: Final = 86400.0
FORMAT: Final = 2
"""Version of study.json."""
MOST_GROUPS: Final = 8
"""Groups of a kind on the page; study.json has all."""


def shown(study: Figures) -> pd.DataFrame:
    """Return the table of figures, each with its terms, without a record that has no waits."""
    table = study.table
    terms = [f" ({text})" if text else "" for text in table["terms"]]
    table = table.assign(policy=table["policy"] + terms)
    return table if study.history.recorded_waits else table.iloc[1:]


def study_html(study: Figures) -> str:
    """Return the verdict and the waits for a notebook."""
    words: dict[str, Any] = {"policy": ("policy", str)}
    words |= {f"{part}_wait": (part, span) for part in ("mean", "median", "p95", "saved")}
    return lines_html(reach_verdict(study).headline) + frame_table(shown(study), words)


def save_study(study: Figures, folder: Path) -> list[Path]:
    """Write the files of a study; see `dlsched.studies.comparison.Study.save`."""
    pictures = list(draw_pictures(study))
    history, period = study.history, study.period
    page = template("dlsched.studies", "study.html.jinja").render(
        study=study,
        verdict=reach_verdict(study),
        shown=shown(study),
        name=Path(history.where).name,
        unit={"gpu": "GPU", "cpu": "CPU", "node": "node"}[history.resource],
        window=" to ".join(moment_text(study, m) for m in (period.since, period.until)),
        groups=list(filter(None, (_group(study, what) for what in GROUPS))),
        pictures=pictures,
        version=VERSION,
        words={"count": "{:,.0f}".format, "span": span, "amount": amount},
        percent=lambda share: percent(round(share, 9)),
        table_of=frame_table,
        str=str,
    )
    contents = {"study.html": page.encode(), "jobs.csv": csv_bytes(jobs_frame(study))}
    tables = {"dropped": history.dropped, "table": study.table}
    tables |= {"nodes": study.nodes} if len(study.nodes) else {}
    contents |= {f"{name}.csv": csv_bytes(frame) for name, frame in tables.items()}
    contents |= {f"{picture.name}.svg": picture.content for picture in pictures}
    make_folder(folder)
    for name, content in contents.items():
        write_bytes(folder / name, content)
    write_json(folder / "study.json", study_data(study))
    return [folder / name for name in (*contents, "study.json")]


def _group(study: Figures, what: str) -> tuple[str, str, int] | None:
    """Return who gains and who loses, of the groups with most waiting; None if there is one."""
    frame = study.by(what)
    names = frame[what].drop_duplicates()
    if [*names] == [UNKNOWN] or (len(names) < 2 and what != "size"):
        return None
    saved = frame["saved_hours"].map("{:+,.1f} h".format) + frame["later"].map(" ({:,})".format)
    wide = frame.assign(saved=saved).pivot(index=what, columns="policy", values="saved")
    first = frame[frame["policy"] == study.recorded.name].head(MOST_GROUPS)
    words: dict[str, Any] = {what: (what, lambda name: shorten(name, 40))}
    words |= {"jobs": ("jobs", "{:,}".format), "wait_hours": ("recorded", "{:,.1f} h".format)}
    words |= {outcome.name: (outcome.label, str) for outcome in study.outcomes}
    table = frame_table(first.join(wide.drop(columns=study.recorded.name), on=what), words)
    return what, table, len(names) - MOST_GROUPS


def jobs_frame(study: Figures) -> pd.DataFrame:
    """Return one row per counted job: what was recorded, and start, end and wait by policy."""
    jobs = study.recorded.jobs.drop(columns=["jct", "runtime", "preemptions"])
    for outcome in (study.ran, *study.outcomes):
        for column in ("start", "end", "wait"):
            jobs[f"{column} {outcome.name}"] = outcome.jobs[column].to_numpy()
    return jobs


def study_data(study: Figures) -> dict[str, Any]:
    """Return the figures of a study as plain JSON data; moments are seconds since 1970."""
    history, period, runs = study.history, study.period, study.runs
    verdict, capacity = reach_verdict(study), period.capacity
    stated = ("knows", "delay", "restart", "preemption", "seed", "source_of_stages")
    read = ("where", "format", "rows", "timezone", "resource", "notes", "warnings")
    window = ("since", "until", "partition", "notes")
    data = {
        "dlsched_study": FORMAT,
        "version": VERSION,
        "verdict": verdict._asdict() | {"claims": [claim._asdict() for claim in verdict.claims]},
        "options": {name: getattr(runs, name) for name in stated},
        "file": {name: getattr(history, name) for name in read},
        "left_out": study.left_out,
        "period": {name: getattr(period, name) for name in window},
        "roles": period.jobs["role"].value_counts().to_dict(),
        "capacity": {"total": capacity.total, "source": capacity.source},
        "check": {"feasible": bool(study.check), **study.check.details},
        "explained": {"share": study.explained.share, "causes": study.explained.table},
        "table": study.table,
        "parts": study.by_part,
        "by": {what: study.by(what) for what in GROUPS},
        "nodes": study.nodes,
        "bounds": [limit._asdict() for limit in study.limits],
        "audit_violations": {o.name: o.violations for o in (study.ran, *study.outcomes)},
    }
    plain: dict[str, Any] = _plain(data)
    return plain


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: frames as rows, None for a number that is missing."""
    if hasattr(value, "to_dict"):
        value = value.to_dict("records")
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def draw_pictures(study: Figures) -> Iterator[Picture]:
    """Yield the pictures, as those of any simulations; without what the record does not say."""
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
