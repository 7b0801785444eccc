"""The report of a sweep: one self-contained HTML page, and its tables and pictures as files.

Tables of statistics are plain HTML; that of all runs is made by itables, which sorts and searches
100,000 rows in a browser without a network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched import registry
from dlsched.display import charts, quality
from dlsched.display.drawing.files import picture_bytes
from dlsched.display.page import Picture, drawn, html_table, in_text, template
from dlsched.display.table import Row, data_frame, summary_words
from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.results import performance_profiles as profiles
from dlsched.results import statistics
from dlsched.results.statistics import Line
from dlsched.results.status import FAILED
from dlsched.schema.files import make_folder, replace_file
from dlsched.sweeps.simulation_report import sections
from dlsched.sweeps.simulations import simulation_rows
from dlsched.sweeps.store import Store, writing
from dlsched.sweeps.stored_runs import csv_parts, stored_runs
from dlsched.text.figures import display

if TYPE_CHECKING:
    import pandas

    from dlsched.display.comparison import Comparison

_PACKED = ("runs", "simulations")
"""Tables that are written as Parquet, too."""
_STATISTICS = ("summary", "summary_by_size", "gaps", "paired")
_USED = (
    *("problem", "instance", "method", "options", "variant", "instance_sha256", "seed", "size"),
    *("repetition", "source", "kind", "status", "termination", "reason", "refuted", "seconds"),
    *("resolved_method", "objective", "at_optimum", "optimum_known", "best_bound_kind", "new_best"),
    *("gap_to_best", "solution_sha256", "machine", "versions", "started"),
)
"""Columns that statistics, pictures and the page need, beside those of the levels."""
_RUN_COLUMNS = [
    *("instance", "problem", "size", "method", "options", "seed", "status", "objective"),
    *("gap_to_best", "gap_to_best_level", "seconds", "reason"),
]
"""The columns of the page's table of all runs; ``runs.csv`` has all."""
OVERVIEW = "How far each method is from the optimum, run by run, and how many runs are optimal"
OVERVIEW_INCHES = {"overview": 8.4, "overview-narrow": 4.2}
"""Names and widths of the overview: for a page, and for a telephone."""


def write_report(
    folder: str | Path,
    out: str | Path | None = None,
    on_part: Callable[[str], None] = lambda part: None,
) -> list[Path]:
    """Write the report of a sweep.

    Parameters
    ----------
    folder
        The folder that ``dlsched bench`` wrote; the sweep may still be running.
    out
        The folder for ``index.html``, ``runs.csv``, ``runs.parquet``, ``summary.csv``,
        ``summary_by_size.csv``, ``gaps.csv``, ``paired.csv`` and the pictures as SVG; by default
        ``report`` in `folder`. Simulations are in ``simulations.csv`` and
        ``simulations.parquet``; without other runs these tables are alone.
    on_part
        Called with a name of what is made next.

    Returns
    -------
    list
        The files written. Parquet files are among them only if pyarrow is installed.

    Raises
    ------
    ExtraMissing
        If itables, jinja2 or matplotlib is not installed.
    InstanceError
        If there are no results, or `out` cannot be written.
    """
    for needed in ("itables", "matplotlib", "jinja2"):  # before a file is written
        require(needed, "dlsched report")
    target = Path(out) if out is not None else Path(folder) / "report"
    on_part("the statistics")
    with Store(folder) as store:
        with writing(target):
            make_folder(target)
        runs, about, planned = stored_runs(store), store.about, store.planned
        simulated = simulation_rows(store.simulations())
        workloads = list(sections(store, simulated, on_part))
    written = []

    def keep(name: str, content: bytes | Iterable[bytes]) -> None:
        with writing(target):
            replace_file(target / name, content)
        written.append(target / name)

    def keep_table(name: str, table: pandas.DataFrame) -> None:
        keep(f"{name}.csv", csv_parts(table))
        packed = _parquet(table) if name in _PACKED else None
        if packed is not None:
            keep(f"{name}.parquet", packed)

    lines: dict[str, list[Line]] = {name: [] for name in _STATISTICS}
    parts, rows = [], list[Row]()
    used = [n for n in runs if n in _USED or str(n).endswith(("_gap_to_best", "_best_bound"))]
    every: list[Row] = []
    for problem in dict.fromkeys(runs["problem"]) if len(runs) else ():
        on_part(f"the statistics and charts of {problem}")
        rows = _rows_of(runs.loc[runs["problem"] == problem, used])
        every += rows
        tables = _statistics(rows)
        for kind, found in tables.items():
            lines[kind] += found
        drawings = list(pictures(problem, rows))
        for picture in drawings:
            keep(f"{problem}-{picture.name}.svg", picture.content)
        parts.append(_part(problem, rows, tables) | {"pictures": drawings})
    if len(runs) or not simulated:
        keep_table("runs", runs)
        for name, found in lines.items():
            keep_table(name, data_frame(found))
    if simulated:
        keep_table("simulations", data_frame(simulated))
    runs = runs[[name for name in _RUN_COLUMNS if name in runs]]
    glance = list(_overviews(every))
    for picture in glance:
        keep(f"{picture.name}.svg", picture.content)
    for workload in workloads:
        for picture in workload.pictures:
            keep(f"{workload.place}-{picture.name}.svg", picture.content)
    on_part("the page")
    values = _about([*every, *simulated]) | {
        "about": about,
        "planned": planned,
        "overview": {picture.name: picture for picture in glance},
        "findings": findings(every),
        "sections": parts,
        "workloads": workloads,
        "listed": len(runs),
        "shift": statistics.SHIFT_SECONDS,
        "sizes": profiles.MIN_SIZES,
        "confidence": f"{profiles.CONFIDENCE:.0%}",
    }
    del every, rows  # the table of 100,000 runs takes their memory
    page = template("dlsched.sweeps", "report.html.jinja").generate(
        values | {"all_runs": _all_runs(runs) if len(runs) else ""}
    )
    keep("index.html", (text.encode() for text in page))
    return written


def _rows_of(runs: Comparison) -> list[Row]:
    """Return runs of one problem as rows, without the columns of other problems."""
    others = [name for name in runs if name not in _USED and runs[name].isna().all()]
    rows: list[Any] = charts.rows_of(runs.drop(columns=others), "the report")
    return rows


def _parquet(frame: pandas.DataFrame) -> bytes | None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    return frame.to_parquet(index=False)


def _statistics(rows: Sequence[Row]) -> dict[str, list[Line]]:
    """Return the tables of one problem; methods are compared in pairs if there are gaps."""
    pairs: list[Line] = []
    with suppress(OptionError):
        pairs = statistics.paired(rows)
    found = [
        statistics.summary(rows),
        statistics.summary(rows, by_size=True),
        statistics.gaps_by_level(rows),
        pairs,
    ]
    return dict(zip(_STATISTICS, found, strict=True))


def _part(problem: str, rows: Sequence[Row], tables: Mapping[str, list[Line]]) -> dict[str, Any]:
    """Return what the page says of a problem; level by level only if there are several."""
    levels = tables["gaps"] if len({line["level"] for line in tables["gaps"]}) > 1 else []
    return {
        "name": problem,
        "title": registry.problem(problem).title,
        "summary": html_table(
            (summary_words(line, full=True) for line in tables["summary"]), f"{problem}-summary"
        ),
        "paired": html_table((in_text(line) for line in tables["paired"]), f"{problem}-paired"),
        "levels": html_table((in_text(line) for line in levels), f"{problem}-levels"),
        "growth": html_table(_growth(rows), f"{problem}-growth"),
    }


def _growth(rows: Sequence[Row]) -> Iterator[dict[str, str]]:
    for (_, label), group in statistics.grouped(rows).items():
        time, gaps = profiles.growth(group), statistics.gap_growth(group)
        points = gaps and (
            f"{100 * gaps.slope:+.2f} ({100 * gaps.low:+.2f} to {100 * gaps.high:+.2f}) points"
        )
        if time or gaps:
            yield {
                "method": label,
                "seconds grow as": time.power() if time else "",
                "gap_to_best grows per doubling by": points or "",
                "sizes": str(max(line.sizes for line in (time, gaps) if line)),
            }


def pictures(problem: str, rows: Sequence[Row]) -> Iterator[Picture]:
    """Yield the pictures of one problem's runs; those without data are left out."""
    owner = registry.problem(problem)
    level = owner.levels[0].name if len(owner.levels) == 1 else None
    proofs = profiles.time_profile(rows)
    if sum(len(steps.values) > 1 for steps in proofs.values()) > 1:
        caption = (
            "Performance profile of the exact methods: the share of the runs proven within a "
            "factor of the fastest proof. Unproven runs are in no share."
        )
        yield drawn("proofs", caption, charts.draw_time_profile, proofs)
    gaps = profiles.gap_profile(rows, level)
    # Where every run is at the best bound, the table says so, and a picture of it shows nothing.
    apart = any(len(steps.values) for steps in gaps.values())
    apart = apart and not all(row["at_optimum"] for row in rows)
    if apart:
        caption = (
            "Share of the runs within each gap_to_best, which is of a run's first level not at "
            "its bound. Runs without a solution or a bound are in no share."
        )
        yield drawn("gaps", caption, charts.draw_gap_profile, gaps, level)
    several = len({row["size"] for row in rows if row.get("size")}) > 1
    if several:
        caption = (
            f"Seconds against the number of {owner.size}. A line is fitted to the medians of at "
            f"least {profiles.MIN_SIZES} sizes; its {profiles.CONFIDENCE:.0%} interval is beside; "
            f"none where that is wider than {profiles.WIDEST:g}."
        )
        yield drawn("time-by-size", caption, charts.draw_time_by_size, rows, owner.size)
    if several and apart:
        caption = f"gap_to_best against the number of {owner.size}: median, quartiles."
        yield drawn("gap-by-size", caption, quality.draw_gap_by_size, rows, owner.size, level)


def _overviews(rows: Sequence[Row]) -> Iterator[Picture]:
    """Yield all problems at a glance in two widths; those without any bound are in no picture."""
    bounded = {row["problem"] for row in rows if row.get("gap_to_best") is not None}
    shown = [row for row in rows if row["problem"] in bounded]
    mpl, plt = (require(name, "dlsched report") for name in ("matplotlib", "matplotlib.pyplot"))
    for name, inches in OVERVIEW_INCHES.items() if shown else ():
        with mpl.rc_context({"figure.figsize": (inches, inches)}), plt.ioff():
            figure = charts.overview(shown)
            yield Picture(name, OVERVIEW, picture_bytes(figure, "svg"))
            plt.close(figure)


def findings(rows: Iterable[Row]) -> list[str]:
    """Return findings: refuted claims, no bounds, different answers for one seed, new bests."""
    rows = list(rows)
    improved = [
        f"{profiles.label_of(row)} found {_values(row)} for {row['instance']}, better than the "
        f"library's best known: solution {row['solution_sha256'][:12]}"
        for row in rows
        if row.get("new_best")
    ]
    refuted = [row["refuted"] for row in rows if row.get("refuted")]
    unbounded = [
        f"{owner.name}: {charts.no_bound(owner)}"
        for owner in map(registry.problem, statistics.without_bounds(rows))
    ]
    return [*dict.fromkeys(refuted), *unbounded, *statistics.unsteady(rows), *improved]


def _values(row: Row) -> str:
    levels = json.loads(row["objective"])
    return ", ".join(f"{name} {display(value)}" for name, value in levels.items())


def _failures(rows: Iterable[Row]) -> Iterator[dict[str, str]]:
    """Yield failed runs by method, status and reason, with counts and an example."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["status"] in FAILED:
            reason = row["reason"].replace(row["instance"], "…")
            place = row["problem"], row["method"], row["status"], reason
            groups.setdefault(place, []).append(row)
    names = ("problem", "method", "status", "reason")
    for place, group in groups.items():
        example = {"runs": display(len(group)), "example": group[0]["instance"]}
        yield dict(zip(names, place, strict=True)) | example


def _about(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the page says of all runs and simulations together."""
    versions = [json.loads(text) for text in dict.fromkeys(row["versions"] for row in rows)]
    return {
        "made": len(rows),
        "failures": html_table(_failures(rows), "failures"),
        "machines": sorted({row["machine"] for row in rows}),
        "versions": [", ".join(f"{k} {v}" for k, v in each.items()) for each in versions],
        "began": min((row["started"] for row in rows), default=""),
    }


def _all_runs(runs: Comparison) -> str:
    """Return the table of all runs, with what shows it in a browser."""
    itables, javascript = (
        require(name, "dlsched report") for name in ("itables", "itables.javascript")
    )
    table: str = itables.to_html_datatable(
        runs,
        connected=False,
        maxBytes=0,
        showIndex=False,
        table_id="all-runs",
        display_logo_when_loading=False,
    )
    return f"{javascript.generate_init_offline_itables_html(itables.options.dt_bundle)}{table}"
