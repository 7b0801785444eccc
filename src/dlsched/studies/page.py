"""study.html: one page without external resources, and a study in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from dlsched.extras import require
from dlsched.names import VERSION
from dlsched.records.readers.values import counted
from dlsched.studies.figures import Figures
from dlsched.studies.groups import GROUPS, UNKNOWN
from dlsched.studies.pictures import Picture
from dlsched.studies.verdict import DROPPED_TOO_MUCH, amount, reach_verdict, span
from dlsched.text.figures import percent, shorten

CAUSE_COLOURS = {
    "not yet eligible": (
        "#9aa5b1",
        "the job was not yet eligible: a dependency, or a time to begin",
    ),
    "no room": ("#0072b2", "no room on the nodes"),
    "behind": ("#56b4e9", "room, but an earlier job had none"),
    "held back": ("#d55e00", "room, but held back for a reason that is not in the record"),
}
"""Colour and words of each cause."""
MOST_GROUPS = 8
"""Groups of a kind on the page; study.json has all."""
MOST_NOTES = 12
COMPLETIONS_TEXT = (
    "Slowdown is the time from submission to end over the running time, on average. The gap is the "
    "share of the mean time that lies above the certified bound, which holds for every schedule of "
    "these jobs on these nodes; it was re-checked in exact arithmetic."
)
GROUPS_TEXT = (
    "Hours of waiting saved against the record, by the policies; negative: they wait longer. In "
    "brackets: jobs that would have waited longer by more than a second."
)
UNITS = {"gpu": "GPU", "cpu": "CPU", "node": "node"}


@dataclass(frozen=True)
class PageTable:
    """A table of texts; the numbers among its columns stand at the right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int]
    marked: Sequence[str] = ()


def study_page(study: Figures, pictures: Sequence[Picture]) -> str:
    """Return the page.

    Raises
    ------
    ExtraMissing
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", "the page of a study")
    source = resources.files("dlsched.studies").joinpath("study.html.jinja").read_text("utf-8")
    template = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(source)
    page: str = template.render(**_context(study, pictures))
    return page


def _context(study: Figures, pictures: Sequence[Picture]) -> dict[str, Any]:
    history, period = study.history, study.period
    unit = UNITS[history.resource]
    causes, verdict = _causes(study), reach_verdict(study)
    return {
        "title": f"What other schedulers would have done: {Path(history.where).name}",
        "subtitle": f"{len(study.recorded.jobs):,} jobs, {_window(study)}"
        + (f", partition {period.partition}" if period.partition else "")
        + f"; {period.capacity.total:,} {unit}s on {counted(len(period.capacity.nodes), 'node')}",
        "verdict": verdict,
        "warnings": [*history.warnings, *_dropped_much(study)],
        "causes": causes,
        "causes_text": "; ".join(cause["text"] for cause in causes),
        "remedies": verdict.remedies,
        "waits": wait_table(study),
        "waits_text": _waits_text(study),
        "completions": completion_table(study),
        "completions_text": COMPLETIONS_TEXT,
        "pictures": pictures,
        "groups": _groups(study),
        "groups_text": GROUPS_TEXT,
        "facts": _facts(study),
        "notes": [*history.notes[:MOST_NOTES], *period.notes],
        "reasons": _reasons(study),
        "assumptions": study.assumptions,
        "version": VERSION,
    }


def moment_text(study: Figures, moment: float) -> str:
    """Return a moment of the record in its zone, or the seconds from its origin."""
    if not study.history.dated:
        return f"{moment:,.0f} s"
    return f"{datetime.fromtimestamp(moment, ZoneInfo(study.history.timezone)):%Y-%m-%d %H:%M}"


def _window(study: Figures) -> str:
    since, until = (moment_text(study, m) for m in (study.period.since, study.period.until))
    zone = f" ({study.history.timezone})" if study.history.dated else ""
    return f"{since} to {until}{zone}"


def _causes(study: Figures) -> list[dict[str, Any]]:
    """Return the parts of the recorded waiting, for the bar."""
    table = study.explained.table
    if not study.history.recorded_waits or not table["hours"].sum():
        return []
    unit = UNITS[study.history.resource]
    return [
        {
            "colour": CAUSE_COLOURS[cause][0],
            "percent": f"{100 * share:.2f}",
            "text": f"{100 * share:.1f} % ({amount(hours)} h, {amount(gpu_hours)} {unit}-hours): "
            f"{CAUSE_COLOURS[cause][1]}",
        }
        for cause, hours, gpu_hours, share in table[
            ["cause", "hours", "gpu_hours", "share"]
        ].itertuples(index=False)
    ]


def _dropped_much(study: Figures) -> list[str]:
    if study.history.rows and len(study.history.dropped) > DROPPED_TOO_MUCH * study.history.rows:
        return [
            f"{len(study.history.dropped):,} of {study.history.rows:,} rows were left out; "
            "see below."
        ]
    return []


def wait_table(study: Figures) -> PageTable:
    """Return the table of waits."""
    import pandas as pd

    unit = UNITS[study.history.resource]
    heads = [
        "",
        "mean wait",
        "against the record",
        "median",
        "p95",
        "p99",
        "wait less",
        "wait longer",
        f"idle {unit}-hours",
        "preemptions",
    ]
    rows = []
    for row in study.table.to_dict("records"):
        name = str(row["policy"])
        if pd.isna(row["mean_wait"]):
            continue
        own = [name, span(row["mean_wait"])]
        if pd.isna(row["wait_hours"]):
            rows.append([*own, *[""] * (len(heads) - 2)])
            continue
        difference = "" if name == study.recorded.name else _difference(row["saved_wait"])
        counts = (
            ["", ""]
            if name == study.recorded.name
            else [f"{row['earlier']:,.0f}", f"{row['later']:,.0f}"]
        )
        spans = [span(row[f"{part}_wait"]) for part in ("median", "p95", "p99")]
        last = [amount(row["idle_gpu_hours"]), f"{row['preemptions']:,.0f}"]
        rows.append([*own, difference, *spans, *counts, *last])
    if not study.history.recorded_waits:
        rows = rows[1:]
    return PageTable(heads, rows, range(1, len(heads)), (study.recorded.name,))


def completion_table(study: Figures) -> PageTable:
    """Return the table of times from submission to end."""
    import pandas as pd

    heads = ["", "mean", "median", "p95", "p99", "slowdown", "utilization", "gap to the bound"]
    rows = []
    for row in study.table.to_dict("records"):
        own = [str(row["policy"]), span(row["mean_jct"])]
        if pd.isna(row["median_jct"]):
            rows.append([*own, *[""] * (len(heads) - 2)])
            continue
        spans = [span(row[f"{part}_jct"]) for part in ("median", "p95", "p99")]
        gap = row["gap"]
        missing = pd.isna(gap)
        rows.append(
            [
                *own,
                *spans,
                f"{row['mean_slowdown']:,.1f}",
                percent(row["utilization"]),
                "" if missing else percent(max(0.0, gap)),
            ]
        )
    if not study.history.recorded_waits:
        rows = rows[1:]
    return PageTable(heads, rows, range(1, len(heads)), (study.recorded.name,))


def _difference(seconds: float) -> str:
    if abs(seconds) < 0.5:
        return "the same"
    return f"{span(abs(seconds))} {'less' if seconds > 0 else 'more'}"


def _waits_text(study: Figures) -> str:
    shares = [outcome.name for outcome in study.outcomes if outcome.shares_gpus]
    text = (
        "Waiting is the time without "
        f"{UNITS[study.history.resource]}s from submission on. Idle hours are those in which a "
        "counted job waited, whether it would have fitted or not. p95 and p99: 5 % and 1 % of the "
        "jobs waited longer."
    )
    if shares:
        text += (
            f" Under {', '.join(shares)} jobs share GPUs: they wait less and run longer, so "
            "compare the times to the end."
        )
    return text


def _groups(study: Figures) -> list[dict[str, Any]]:
    """Return who gains and who loses, of the groups with most waiting."""
    shown = []
    for what in GROUPS:
        frame = study.by(what)
        names = frame[what].drop_duplicates().tolist()
        if names == [UNKNOWN] or (len(names) < 2 and what != "size"):
            continue
        names_of = [outcome.name for outcome in study.outcomes]
        heads = [what, "jobs", "recorded wait", *names_of]
        rows = []
        for name in names[:MOST_GROUPS]:
            group = frame[frame[what] == name].set_index("policy")
            own = group.loc[study.recorded.name]
            saved = [
                f"{group.at[policy, 'saved_hours']:+,.1f} h ({group.at[policy, 'later']:,})"
                for policy in names_of
            ]
            hours = f"{own['wait_hours']:,.1f} h"
            rows.append([shorten(str(name), 40), f"{own['jobs']:,}", hours, *saved])
        more = len(names) - MOST_GROUPS
        text = f"And {more:,} more, with less waiting; study.json has all." if more > 0 else ""
        table = PageTable(heads, rows, range(1, len(heads)))
        shown.append({"name": what, "table": table, "more": text})
    return shown


def _facts(study: Figures) -> list[tuple[str, str]]:
    history, period = study.history, study.period
    roles = period.jobs["role"].value_counts()
    counts = ", ".join(f"{count:,} {role}" for role, count in roles.items())
    details = study.check.details
    replay = (
        f"{details['jobs']:,.0f} jobs, largest difference {details['largest_difference']:,.6g} s, "
        f"{details['overfull']:,.0f} nodes overfull"
    )
    audits = sum(outcome.violations for outcome in study.outcomes)
    return [
        ("file", f"{Path(history.where).name}: {history.rows:,} rows, {history.format}"),
        ("jobs", f"{len(history.jobs):,}; {len(history.dropped):,} rows left out"),
        ("time zone", history.timezone if history.dated else "none: moments have no dates"),
        ("window", f"{_window(study)}: {counts}"),
        (
            "capacity",
            f"{period.capacity.total:,} {UNITS[history.resource]}s: {period.capacity.source}",
        ),
        ("replay of the recorded starts", replay),
        ("audit of the simulations", f"{audits:,} violations" if audits else "nothing found"),
    ]


def _reasons(study: Figures) -> PageTable:
    counts = study.history.dropped["reason"].value_counts()
    rows = [[shorten(str(reason), 90), f"{count:,}"] for reason, count in counts.head(12).items()]
    return PageTable(["reason", "rows"], rows, [1])


def study_html(study: Figures) -> str:
    """Return the verdict and the table of waits for a notebook."""
    table = wait_table(study)
    head = "".join(f"<th>{escape(text)}</th>" for text in table.heads)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    headline = reach_verdict(study).headline
    return (
        f'<div style="overflow-x:auto;color:inherit"><p><b>{escape(headline)}</b></p>'
        f"<table><tr>{head}</tr>{rows}</table></div>"
    )
