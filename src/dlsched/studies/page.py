"""The files of a study: a page, all figures as JSON, every job and every row left out as CSV."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dlsched.display import markup
from dlsched.display.page import frame_table, template
from dlsched.names import VERSION
from dlsched.schema.files import make_folder, write_bytes, write_json
from dlsched.studies.figures import GROUPS, UNKNOWN, Figures
from dlsched.studies.pictures import draw_pictures, moment_text
from dlsched.studies.verdict import reach_verdict
from dlsched.sweeps.safe_csv import csv_bytes
from dlsched.text.figures import amount, percent, shorten, span

if TYPE_CHECKING:
    import pandas as pd

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
    headline = markup.line(reach_verdict(study).headline)
    return markup.block(headline, frame_table(shown(study), words))


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
    tables = {"dropped": history.dropped, "table": study.table, "nodes": study.nodes}
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
    hours, later = (
        frame["saved_hours"].map("{:+,.1f} h".format),
        frame["later"].map(" ({:,})".format),
    )
    wide = frame.assign(saved=hours + later).pivot(index=what, columns="policy", values="saved")
    first = frame[frame["policy"] == study.recorded.name].head(MOST_GROUPS)
    words: dict[str, Any] = {what: (what, lambda name: shorten(name, 40))}
    words |= {"jobs": ("jobs", "{:,}".format), "wait_hours": ("recorded", "{:,.1f} h".format)}
    words |= {outcome.name: (outcome.label, str) for outcome in study.outcomes}
    table = frame_table(first.join(wide.drop(columns=study.recorded.name), on=what), words)
    return what, table, len(names) - MOST_GROUPS


def jobs_frame(study: Figures) -> pd.DataFrame:
    """Return one row per counted job: what was recorded, and start, end and wait by policy."""
    columns = [
        "id",
        "user",
        "account",
        "qos",
        "partition",
        "gpus",
        "submit",
        "start",
        "end",
        "wait",
    ]
    jobs = study.recorded.jobs[columns].copy()
    for outcome in (study.ran, *study.outcomes):
        for column in columns[-3:]:
            jobs[f"{column} {outcome.name}"] = outcome.jobs[column].to_numpy()
    return jobs


def study_data(study: Figures) -> dict[str, Any]:
    """Return the figures of a study as plain JSON data; moments are seconds since 1970."""
    history, period, runs = study.history, study.period, study.runs
    stated = ("knows", "delay", "restart", "preemption", "seed", "source_of_stages")
    read = ("format", "rows", "timezone", "resource", "notes", "warnings")
    data = {
        "dlsched_study": FORMAT,
        "version": VERSION,
        "verdict": asdict(reach_verdict(study)),
        "options": {name: getattr(runs, name) for name in stated},
        "file": {"name": Path(history.where).name}
        | {name: getattr(history, name) for name in read},
        "left_out": study.left_out,
        "period": {name: getattr(period, name) for name in ("since", "until", "partition", "notes")}
        | {"roles": period.jobs["role"].value_counts().to_dict()},
        "capacity": {
            "total": period.capacity.total,
            "nodes": len(period.capacity.nodes),
            "source": period.capacity.source,
        },
        "check": {"feasible": bool(study.check), **study.check.details},
        "explained": {"share": study.explained.share, "causes": study.explained.table},
        "table": study.table,
        "parts": study.by_part,
        "by": {what: study.by(what) for what in GROUPS},
        "nodes": study.nodes,
        "bounds": [asdict(limit) for limit in study.limits],
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
