"""The files of a study: the page, all figures as JSON, every job and every row left out as CSV."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.names import VERSION
from dlsched.schema.files import make_folder, write_bytes, write_json
from dlsched.studies.figures import Figures
from dlsched.studies.groups import GROUPS
from dlsched.studies.page import study_page
from dlsched.studies.pictures import draw_pictures
from dlsched.studies.verdict import reach_verdict
from dlsched.sweeps.safe_csv import csv_bytes

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
"""Version of study.json."""


def save_study(study: Figures, folder: Path) -> list[Path]:
    """Write the files of a study; see `dlsched.studies.comparison.Study.save`."""
    pictures = list(draw_pictures(study))
    contents: dict[str, bytes] = {
        "study.html": study_page(study, pictures).encode(),
        "jobs.csv": csv_bytes(jobs_frame(study)),
        "dropped.csv": csv_bytes(study.history.dropped),
        "table.csv": csv_bytes(study.table),
    }
    contents |= {f"{picture.name}.svg": picture.svg.encode() for picture in pictures}
    make_folder(folder)
    written = []
    for name, content in contents.items():
        write_bytes(folder / name, content)
        written.append(folder / name)
    write_json(folder / "study.json", study_data(study))
    return [*written, folder / "study.json"]


def jobs_frame(study: Figures) -> pd.DataFrame:
    """Return one row per counted job: what was recorded, and start, end and wait by policy."""
    columns = ["id", "user", "account", "partition", "gpus", "submit", "start", "end", "wait"]
    jobs = study.recorded.jobs[columns].copy()
    for outcome in study.outcomes:
        for column in ("start", "end", "wait"):
            jobs[f"{column} {outcome.name}"] = outcome.jobs[column].to_numpy()
    return jobs


def study_data(study: Figures) -> dict[str, Any]:
    """Return the figures of a study as plain JSON data; moments are seconds since 1970."""
    history, period, verdict = study.history, study.period, reach_verdict(study)
    explained = study.explained
    return {
        "dlsched_study": FORMAT,
        "version": VERSION,
        "verdict": {
            "headline": verdict.headline,
            "supported": verdict.supported,
            "sentences": list(verdict.sentences),
            "remedies": list(verdict.remedies),
        },
        "file": {
            "name": Path(history.where).name,
            "format": history.format,
            "rows": history.rows,
            "jobs": len(history.jobs),
            "dropped": len(history.dropped),
            "timezone": history.timezone,
            "resource": history.resource,
            "notes": list(history.notes),
            "warnings": list(history.warnings),
        },
        "period": {
            "since": period.since,
            "until": period.until,
            "partition": period.partition,
            "roles": {str(k): int(v) for k, v in period.jobs["role"].value_counts().items()},
            "capacity": period.capacity.total,
            "nodes": len(period.capacity.nodes),
            "capacity_source": period.capacity.source,
            "notes": list(period.notes),
        },
        "knows": study.knows,
        "check": {
            "feasible": bool(study.check),
            **{name: _plain(value) for name, value in study.check.details.items()},
        },
        "explained": {
            "share": _plain(explained.share),
            "gpu_share": _plain(explained.gpu_share),
            "supported": explained.supported,
            "causes": _records(explained.table),
        },
        "table": _records(study.table),
        "by": {what: _records(study.by(what)) for what in GROUPS},
        "bounds": [
            {
                "mean_jct": limit.mean_jct,
                "mean_wait": limit.mean_wait,
                "source": limit.source,
                "sharing": limit.sharing,
            }
            for limit in study.limits
        ],
        "audit_violations": {outcome.name: outcome.violations for outcome in study.outcomes},
        "assumptions": list(study.assumptions),
    }


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows = frame.to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """Return a number or a text as JSON has it; None for one that is missing."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
