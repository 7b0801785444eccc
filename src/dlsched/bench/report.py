"""A sweep as one page that needs no network, with its tables and pictures as files beside it."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched import registry
from dlsched.bench import statistics
from dlsched.bench.execution import FAILED
from dlsched.bench.plots import Picture, pictures
from dlsched.bench.safe_csv import csv_bytes
from dlsched.bench.statistics import Judged
from dlsched.bench.store import Store
from dlsched.figures import percent, seconds, spell
from dlsched.files import write_bytes

if TYPE_CHECKING:
    import pandas

MOST_ROWS = 2000
"""More runs than this are not all in the page; the CSV file has them."""
_PERCENTS = ("mean", "median", "90 %", "worst", "gap")
_COUNTS = (
    "runs",
    "proven",
    "feasible",
    "bound only",
    "no solution",
    "failed",
    "at a limit",
    "gaps",
)
_WIDE = ("reason",)
Table = dict[str, Any]


def write_report(folder: str | Path, out: str | Path | None = None) -> list[Path]:
    """Write the report of a sweep.

    Parameters
    ----------
    folder
        What ``dlsched bench`` wrote; the sweep may still be running.
    out
        Where to write ``index.html``, ``runs.csv``, ``runs.parquet``, ``summary.csv``,
        ``gaps.csv`` and the pictures as SVG; ``report`` in `folder` by default.

    Returns
    -------
    list
        The files written. ``runs.parquet`` is among them only if pyarrow is installed.

    Raises
    ------
    InstanceError
        If there are no results.
    """
    with Store(folder) as store:
        rows, about, planned = store.rows(), store.about, store.planned
    target = Path(out) if out is not None else Path(folder) / "report"
    judged = statistics.judge_rows(rows)
    frame = run_table(judged)
    summary, by_level = statistics.summary(judged), statistics.gaps_by_level(judged)
    written = []

    def keep(name: str, content: bytes) -> None:
        write_bytes(target / name, content)
        written.append(target / name)

    for name, table in (("runs", frame), ("summary", summary), ("gaps", by_level)):
        keep(f"{name}.csv", csv_bytes(table))
    parquet = _parquet(frame)
    if parquet is not None:
        keep("runs.parquet", parquet)
    drawn: dict[str, list[dict[str, str]]] = {}
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [run for run in judged if run.row["problem"] == problem]
        drawn[problem] = []
        for picture in pictures(problem, own):
            svg = _svg(picture, problem)
            keep(f"{problem}-{picture.name}.svg", svg)
            drawn[problem].append(_embedded(picture, svg))
    page = _page(judged, summary, by_level, drawn, about, planned)
    keep("index.html", page.encode())
    return written


def run_table(judged: Sequence[Judged]) -> pandas.DataFrame:
    """Return one flat row per run: what the store has, and each level by name with its gap.

    ``gap`` is to the strongest bound known; that of the first level that is not at its bound.
    """
    import pandas as pd

    flat = []
    for run in judged:
        row = {k: v for k, v in run.row.items() if k not in ("record", "objective", "bound")}
        row["own_gap"] = row.pop("gap")
        row |= {"gap": None, "gap_level": None, "bound_kind": None}
        levels = registry.problem(run.row["problem"]).levels
        for i, level in enumerate(levels if run.objective is not None else ()):
            assert run.objective is not None
            row[level.name], row[f"{level.name}_gap"] = float(run.objective[i]), run.gaps[i]
            if run.gaps[i] is not None and not row["gap"]:
                row |= {"gap": run.gaps[i], "gap_level": level.name}
                row["bound_kind"] = run.bound_kinds[i]
        flat.append(row)
    return pd.DataFrame(flat)


def _parquet(frame: pandas.DataFrame) -> bytes | None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False)
    return stream.getvalue()


def _svg(picture: Picture, problem: str) -> bytes:
    import matplotlib as mpl

    stream = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": f"{problem}-{picture.name}"}):  # the same file each time
        picture.figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def _embedded(picture: Picture, svg: bytes) -> dict[str, str]:
    data = base64.b64encode(svg).decode()
    return {"caption": picture.caption, "source": f"data:image/svg+xml;base64,{data}"}


def _page(
    judged: Sequence[Judged],
    summary: pandas.DataFrame,
    by_level: pandas.DataFrame,
    drawn: dict[str, list[dict[str, str]]],
    about: dict[str, str],
    planned: int,
) -> str:
    import jinja2

    source = resources.files("dlsched.bench").joinpath("report.html.jinja").read_text("utf-8")
    template = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(source)
    rows = [run.row for run in judged]
    sections = [
        {
            "name": problem,
            "title": registry.problem(problem).title,
            "level": registry.problem(problem).levels[0].name,
            "summary": _table(
                _of(summary, problem)
                .drop(columns="level")
                .rename(columns={"resolved_method": "ran"})
            ),
            "levels": _table(_of(by_level, problem)),
            "growth": _growth([run for run in judged if run.row["problem"] == problem]),
            "pictures": found,
        }
        for problem, found in drawn.items()
    ]
    return template.render(
        about=about,
        planned=planned,
        made=len(rows),
        sections=sections,
        findings=findings(judged),
        failures=_failures(rows),
        runs=_runs(judged[:MOST_ROWS]),
        most=MOST_ROWS,
        machines=sorted({row["machine"] for row in rows}),
        versions=sorted({_versions(row) for row in rows}),
        began=min((row["started"] for row in rows), default=""),
        shift=statistics.SHIFT_SECONDS,
    )


def findings(judged: Sequence[Judged]) -> list[str]:
    """Return what a reader must know before believing the tables, a sentence each."""
    found = [
        f"{run.label} found {_values(run.objective)} for {name}, better than the library's best "
        f"known {_values(known)}: solution {run.row['solution_sha256'][:12]}"
        for run, name, known in statistics.improvements(judged)
    ]
    false = [run.refuted for run in judged if run.refuted]
    return [*dict.fromkeys(false), *statistics.unsteady(judged), *found]


def _values(objective: Any) -> str:
    return ", ".join(f"{level.name} {spell(value)}" for level, value in objective.pairs())


def _failures(rows: Iterable[dict[str, Any]]) -> Table:
    """Return failed runs by method, status and reason, each with how many and one instance."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if row["status"] in FAILED:
            reason = row["reason"].replace(row["instance"], "…")
            place = row["problem"], row["method"], row["status"], reason
            groups.setdefault(place, []).append(row)
    names = ["problem", "method", "status", "reason", "runs", "one of them"]
    return _spelled(
        names, ([*place, len(own), own[0]["instance"]] for place, own in groups.items())
    )


def _growth(judged: Sequence[Judged]) -> Table:
    found = []
    for (_, label), group in statistics.grouped(judged).items():
        time, gaps = statistics.growth(group), statistics.gap_growth(group)
        if time or gaps:
            found.append([label, str(time) if time else "", str(gaps) if gaps else ""])
    return _spelled(["method", "time grows as", "gap grows by"], found)


def _runs(judged: Sequence[Judged]) -> Table:
    names = ["instance", "problem", "size", "method", "ran", "seed", "status", "objective", "gap",
             "bound", "seconds", "MiB", "reason"]  # fmt: skip
    rows = []
    for run in judged:
        row = run.row
        gaps = [g for g in run.gaps if g is not None]
        deciding = next((g for g in gaps if g), gaps[-1] if gaps else None)
        kind = run.bound_kinds[run.gaps.index(deciding)] if gaps else None
        memory = row["peak_memory_bytes"]
        rows.append(
            [row["instance"], row["problem"], row["size"], run.label,
             row["resolved_method"], row["seed"], row["status"],
             _values(run.objective) if run.objective else "", deciding, kind,
             row["total_seconds"], memory and round(memory / 2**20), row["reason"]]
        )  # fmt: skip
    return _spelled(names, rows)


def _of(frame: pandas.DataFrame, problem: str) -> pandas.DataFrame:
    return frame[frame["problem"] == problem].drop(columns="problem")


def _table(frame: pandas.DataFrame) -> Table:
    records = frame.astype(object).where(frame.notna(), None)
    return _spelled(list(frame.columns), records.to_numpy().tolist())


def _spelled(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a table for the page: cells with their text and what to sort them by."""
    numeric = {*_PERCENTS, *_COUNTS, "seconds", "size", "seed", "MiB"}
    return {
        "columns": [
            {"name": name, "numeric": name in numeric, "wide": name in _WIDE} for name in names
        ],
        "rows": [
            [
                {"text": _cell(name, value), "key": "" if value is None else value}
                for name, value in zip(names, row, strict=True)
            ]
            for row in rows
        ],
    }


def _cell(name: str, value: Any) -> str:
    if name in _PERCENTS:
        return percent(value)
    return seconds(value) if name == "seconds" else spell(value)


def _versions(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in json.loads(row["versions"]).items())
