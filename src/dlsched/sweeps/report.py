"""The report of a sweep: one self-contained HTML page, and its tables and pictures as files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched import registry
from dlsched.display.charts import no_bound
from dlsched.display.table import Row, data_frame
from dlsched.extras import require
from dlsched.results import performance_profiles as profiles
from dlsched.results.status import FAILED
from dlsched.schema.files import make_folder, replace_file
from dlsched.sweeps import simulation_report, statistics
from dlsched.sweeps.page_rows import rows_on_demand
from dlsched.sweeps.page_table import Cell, Table, frame_table, page_table
from dlsched.sweeps.plots import embedded, overviews, pictures, svg
from dlsched.sweeps.safe_csv import csv_parts
from dlsched.sweeps.simulation_report import Section
from dlsched.sweeps.simulation_rows import simulation_rows
from dlsched.sweeps.statistics import EvaluatedRun, LevelMean
from dlsched.sweeps.store import Store, frame_of
from dlsched.sweeps.stored_runs import stored_runs
from dlsched.text.figures import display

if TYPE_CHECKING:
    import pandas

MOST_ROWS = 2000
"""Largest number of runs that are lines of the page; of more, lines are made when asked for."""
_PACKED = ("runs", "simulations")
"""Tables that are written as Parquet, too."""
_RUN_COLUMNS = (
    "instance",
    "problem",
    "size",
    "method",
    "resolved_method",
    "seed",
    "status",
    "termination",
    "objective",
    "gap",
    "gap_level",
    "bound_kind",
    "gap_to_best",
    "gap_to_best_level",
    "best_bound_kind",
    "seconds",
    "peak MiB",
    "reason",
)
"""The columns of the table of runs."""
_RARE = ("bound only", "no solution", "failed", "at a limit", "optimum unknown")
"""Counts that the page leaves out where all are 0, so that a summary fits the page."""


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
        ``summary_by_size.csv``, ``gaps.csv`` and the pictures as SVG; by default ``report`` in
        `folder`. Simulations are in ``simulations.csv`` and ``simulations.parquet``; without other
        runs these tables are alone.
    on_part
        Called with a name of what is made next.

    Returns
    -------
    list
        The files written. Parquet files are among them only if pyarrow is installed.

    Raises
    ------
    ExtraMissing
        If jinja2 or matplotlib is not installed.
    InstanceError
        If there are no results.
    """
    for library in ("jinja2", "matplotlib"):  # before a file is written
        require(library, "dlsched report")
    target = Path(out) if out is not None else Path(folder) / "report"
    on_part("the statistics")
    with Store(folder) as store:
        make_folder(target)
        evaluated, about, planned = stored_runs(store), store.about, store.planned
        simulated = simulation_rows(store.simulations())
        workloads = list(simulation_report.sections(store, simulated, on_part))
    frame = frame_of([run.row for run in evaluated])
    summary, by_level = statistics.summary(evaluated), statistics.gaps_by_level(evaluated)
    written = []

    def keep(name: str, content: bytes | Iterable[bytes]) -> None:
        replace_file(target / name, content)
        written.append(target / name)

    tables = {"runs": frame, "summary": summary, "gaps": by_level}
    tables["summary_by_size"] = statistics.summary_by_size(evaluated)
    if not evaluated and simulated:
        tables = {}
    if simulated:
        tables["simulations"] = data_frame(simulated)
    for name, table in tables.items():
        keep(f"{name}.csv", csv_parts(table))
        packed = _parquet(table) if name in _PACKED else None
        if packed is not None:
            keep(f"{name}.parquet", packed)
    del tables, frame
    glance = {}
    if evaluated:
        on_part("the overview")
        for picture, content in overviews([run.row for run in evaluated]):
            keep(f"{picture.name}.svg", content)
            glance[picture.name] = embedded(picture, content)
    drawn: dict[str, list[dict[str, str]]] = {}
    for problem in dict.fromkeys(run.row["problem"] for run in evaluated):
        of_problem = [run for run in evaluated if run.row["problem"] == problem]
        drawn[problem] = []
        on_part(f"the charts of {problem}")
        for picture in pictures(problem, of_problem):
            content = svg(picture, problem)
            keep(f"{problem}-{picture.name}.svg", content)
            drawn[problem].append(embedded(picture, content))
    for workload in workloads:
        for name, content in workload.files():
            keep(name, content)
    on_part("the page")
    page = _page(evaluated, summary, by_level, glance, drawn, workloads, simulated, about, planned)
    keep("index.html", page.encode())
    return written


def _parquet(frame: pandas.DataFrame) -> bytes | None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False)
    return stream.getvalue()


def _page(
    runs: Sequence[EvaluatedRun],
    summary: pandas.DataFrame,
    by_level: pandas.DataFrame,
    glance: dict[str, dict[str, str]],
    drawn: dict[str, list[dict[str, str]]],
    workloads: Sequence[Section],
    simulated: Sequence[Row],
    about: dict[str, str],
    planned: int,
) -> str:
    import jinja2

    source = resources.files("dlsched.sweeps").joinpath("report.html.jinja").read_text("utf-8")
    template = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(source)
    methods = [run.row for run in runs]
    rows = [*methods, *simulated]
    means = {problem: statistics.level_means(by_level, problem) for problem in drawn}
    sections = [
        {
            "name": problem,
            "title": registry.problem(problem).title,
            "closed": [
                level.name
                for level in registry.problem(problem).levels
                if len(registry.problem(problem).levels) > 1 and level.name not in means[problem]
            ],
            "summary": _summary(summary, means[problem], problem),
            "levels": frame_table(_of(by_level, problem, means[problem])),
            "growth": _growth([run for run in runs if run.row["problem"] == problem]),
            "pictures": drawings,
        }
        for problem, drawings in drawn.items()
    ]
    return template.render(
        about=about,
        planned=planned,
        made=len(rows),
        listed=len(methods),
        overview=glance,
        sections=sections,
        workloads=[workload.page() for workload in workloads],
        findings=findings(runs),
        failures=_failures(rows),
        runs=_runs(runs if len(runs) <= MOST_ROWS else ()),
        most=MOST_ROWS,
        rows=rows_on_demand(_RUN_COLUMNS, _run_cells(runs)) if len(runs) > MOST_ROWS else "",
        machines=sorted({row["machine"] for row in rows}),
        versions=sorted({_versions(row) for row in rows}),
        began=min((row["started"] for row in rows), default=""),
        shift=statistics.SHIFT_SECONDS,
        sizes=profiles.MIN_SIZES,
        confidence=f"{profiles.CONFIDENCE:.0%}",
    )


def findings(runs: Sequence[EvaluatedRun]) -> list[str]:
    """Return findings: refuted claims, no bounds, different answers for one seed, new bests."""
    improved = [
        f"{run.label} found {_values(run.objective)} for {name}, better than the library's best "
        f"known {_values(known)}: solution {run.row['solution_sha256'][:12]}"
        for run, name, known in statistics.improvements(runs)
    ]
    refuted = [run.row["refuted"] for run in runs if run.row["refuted"]]
    unbounded = [
        f"{owner.name}: {no_bound(owner)}"
        for owner in map(registry.problem, statistics.without_bounds(runs))
    ]
    return [*dict.fromkeys(refuted), *unbounded, *statistics.unsteady(runs), *improved]


def _values(objective: Any) -> str:
    return ", ".join(f"{level.name} {display(value)}" for level, value in objective.pairs())


def _failures(rows: Iterable[Row]) -> Table:
    """Return a table of failed runs by method, status and reason, with counts and an example."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row["status"] in FAILED:
            reason = row["reason"].replace(row["instance"], "…")
            place = row["problem"], row["method"], row["status"], reason
            groups.setdefault(place, []).append(row)
    names = ["problem", "method", "status", "reason", "runs", "example"]
    return page_table(
        names, ([*place, len(group), group[0]["instance"]] for place, group in groups.items())
    )


def _growth(runs: Sequence[EvaluatedRun]) -> Table:
    rows = []
    for (_, label), group in statistics.grouped(runs).items():
        time, gaps = statistics.growth(group), statistics.gap_growth(group)
        points = gaps and (
            f"{100 * gaps.slope:+.2f} ({100 * gaps.low:+.2f} to {100 * gaps.high:+.2f}) points"
        )
        if time or gaps:
            sizes = max(line.sizes for line in (time, gaps) if line)
            rows.append([label, time and time.power(), points, sizes])
    names = ["method", "seconds grow as", "gap_to_best grows per doubling by", "sizes"]
    return page_table(names, rows)


def _runs(runs: Sequence[EvaluatedRun]) -> Table:
    return page_table(_RUN_COLUMNS, _run_cells(runs))


def _run_cells(runs: Iterable[EvaluatedRun]) -> Iterator[list[Any]]:
    """Yield the cells of the table of runs."""
    for run in runs:
        memory = run.row["peak_memory_bytes"]
        row = run.row | {
            "method": run.label,
            "objective": _values(run.objective) if run.objective else "",
            "peak MiB": memory and round(memory / 2**20),
        }
        yield [row.get(name) for name in _RUN_COLUMNS]


def _summary(
    frame: pandas.DataFrame, means: Mapping[str, Mapping[str, LevelMean]], problem: str
) -> Table:
    """Return a problem's summary: what tells most first, without counts that are all 0."""
    lines = frame[frame["problem"] == problem].astype(object).where(frame.notna(), None)
    numbers = ["mean gap", *(f"mean gap: {level}" for level in means)]
    names = [
        "method",
        "at optimum",
        numbers[0],
        *statistics.PERCENTILES,
        "worst",
        *numbers[1:],
        "seconds",
        "runs",
        "proven",
        "feasible",
        *(name for name in _RARE if lines[name].any()),
        "bounds",
        *(["resolved_method"] if any(lines["resolved_method"] != lines["method"]) else []),
    ]
    rows = []
    for line in lines.to_dict("records"):
        cells: dict[str, Any] = {str(name): value for name, value in line.items()}
        cells["at optimum"] = Cell(optimum_text(cells), line["at optimum"])
        of_line = {level: by_method[line["method"]] for level, by_method in means.items()}
        for name, mean in zip(numbers, (LevelMean.of(line), *of_line.values()), strict=True):
            cells[name] = Cell(mean.text(), mean.mean)
        rows.append([cells[name] for name in names])
    return page_table(names, rows, ["at optimum", *numbers])


def optimum_text(line: Mapping[Any, Any]) -> str:
    """Return how many runs of a row of the summary are at the optimum in all levels: "k of n".

    Empty if the method only gives bounds, or if there is no bound on what it found.
    """
    if line["bound only"] == line["runs"] or (line["optimum unknown"] and not line["gaps"]):
        return ""
    return f"{line['at optimum']:,} of {line['runs']:,}"


def _of(frame: pandas.DataFrame, problem: str, levels: Collection[str]) -> pandas.DataFrame:
    """Return the rows of one problem and some of its levels."""
    chosen = (frame["problem"] == problem) & frame["level"].isin([*levels])
    return frame[chosen].drop(columns=["problem", "runs"])


def _versions(row: Row) -> str:
    return ", ".join(f"{name} {version}" for name, version in json.loads(row["versions"]).items())
