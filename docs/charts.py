"""Draws the site's pictures as SVG: an example of each problem, and charts of measured tables.

The tables are those of benchmarks/figures. Pictures stand on a white plate on light and dark pages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "figures"
CLAIMS = ROOT / "docs" / "claims.md"
INCHES = 6.2
MOST_ROWS = 14
"""Rows of a table that a chart has at most."""
VERDICTS = {
    "holds": "#009E73", "holds in part": "#56B4E9", "does not hold": "#E69F00",
    "cannot be tested": "#CCCCCC",
}  # fmt: skip
"""Colours of verdicts."""
Row = dict[str, str]


def tables(text: str) -> dict[str, list[list[Row]]]:
    """Return the tables of a Markdown file by the heading above them, each as a list of rows."""
    found: dict[str, list[list[Row]]] = defaultdict(list)
    heading, columns = "", list[str]()
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().removeprefix("|").removesuffix("|").split("|")]
        if line.startswith("## "):
            heading = line[3:]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
            found[heading].append([])
        elif not set(line) <= set("|-: "):  # a row may end early, with the reason
            found[heading][-1].append(dict(zip(columns, cells, strict=False)))
    return found


def between(page: str, script: str, *parts: str) -> str:
    """Return a page with each part between two marks of a script, in their order."""
    begin, end = (
        f"<!-- Written by docs/{script}. -->",
        f"<!-- End of what docs/{script} writes. -->",
    )
    pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
    left = iter(parts)
    page, marked = re.subn(
        pattern, lambda _: f"{begin}\n{next(left)}\n{end}", page, flags=re.DOTALL
    )
    assert marked == len(parts), (script, marked)
    return page


def number(cell: str) -> float | None:
    """Return the number that a cell begins with; ``None`` if it begins with none."""
    match = re.match(r"[+-]?[\d,]*\.?\d+(e[+-]?\d+)?", cell)
    return float(match[0].replace(",", "")) if match else None


def _tables(name: str) -> dict[str, list[list[Row]]]:
    return tables((FIGURES / f"{name}.md").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Gaps:
    """Where the gaps of a problem's heuristics by size are: section, number of the table, columns.

    Attributes
    ----------
    sizes
        The size by section; ``None`` where the column `x` has it.
    """

    x: str
    columns: tuple[str, ...]
    sizes: dict[str, float | None]
    note: str
    y: str = "gap, %"
    column: str = ""
    table: int = 0
    keep: Callable[[Row], bool] = lambda row: True
    read: Callable[[Row, str], float] = lambda row, column: number(row[column]) or 0.0


def _of_cost(row: Row, column: str) -> float:
    """Return the gap of a cost, stated above the optimum, or to the bound in the same row."""
    if "`indivisible_bound`" in row:
        return 100 * (1 - float(row["`indivisible_bound`"]) / float(row[column]))
    above = (number(row[column]) or 0.0) / 100
    return 100 * above / (1 + above)


GAPS: dict[str, Gaps] = {
    "reclaiming": Gaps(
        "servers to return, of 520", ("densest", "lyra", "gpu_fraction"),
        {"Above the optimum": None}, column="demand", y="jobs preempted above the optimum, %",
        note="10 fleets for each demand, all proved. Not shown: scf, 303 % to 19 %.",
    ),
    "elastic": Gaps(
        "items of the knapsack", ("lyra", "afs", "fifo"), {"Heuristics by size": None},
        column="items", y="gap in launched jobs, %", note="The mean of five seeds, all proved.",
    ),
    "interleaving": Gaps(
        "GPUs of the cluster", ("swap", "muri", "greedy"),
        {"The head of the queue, as in Algorithm 1, generated": None}, column="GPUs", table=1,
        note="Heads of queues with 48 profiles, the mean of the seeds, all proved.",
    ),
    "utility": Gaps(
        "jobs", ("insertion", "hadar", "srtf", "tiresias"),
        {"8 jobs, 20 slots, 6 GPUs": 8, "20 jobs, 40 slots, 12 GPUs": 20,
         "60 jobs, 100 slots, 24 GPUs": 60},
        keep=lambda row: row["utility"] == "effective_throughput",
        note="The mean of the seeds, effective throughput; to a certified bound where the optimum "
        "of some seed is not proved.",
    ),
    "placement": Gaps(
        "tables", ("annealing", "hill_climbing", "no_moves"),
        {"15 x 4 x 20 and 30 x 4 x 40 (tables, regions, jobs), 120 s": None,
         "1,000 x 10 x 3,000": 1000},
        column="size", keep=lambda row: row.get("version") != "v1", read=_of_cost,
        note="The mean of the seeds, version 2. At 1,000 tables to a bound that is not tight.",
    ),
    "dispatch": Gaps(
        "machines of a cluster", ("counted", "mast", "top_k", "federated"),
        {"Batches of 15 workloads, 3 regions of 2 clusters": None}, column="machines",
        y="instances below the optimum, %", note="The share of ten instances, all proved.",
    ),
    "sensitivity": Gaps(
        "servers of 8 GPUs", ("tune", "tune_public", "proportional"),
        {"Proven optima, measured profiles, seed 1": None}, column="servers",
        keep=lambda row: row["status"] == "optimal", note="The mean over workloads, all proved.",
    ),
    "workers": Gaps(
        "servers of 8 GPUs", ("bfd", "bases_first", "confined_first"),
        {"Gaps in placed jobs by size": None}, column="servers", y="gap in placed jobs, %",
        keep=lambda row: (row["scenario"], row["groups"]) == ("basic", "separate"),
        note="Scenario basic, the mean of five seeds, all proved.",
    ),
}  # fmt: skip


def gaps(problem: str) -> pd.DataFrame:
    """Return the mean gap of each method, in per cent, by size."""
    spec, rows = GAPS[problem], []
    for section, size in spec.sizes.items():
        for row in filter(spec.keep, _tables(problem)[section][spec.table]):
            at = number(row[spec.column]) if size is None else size
            rows.append({spec.x: at} | {name: spec.read(row, name) for name in spec.columns})
    return pd.DataFrame(rows).groupby(spec.x).mean()


def gap_note(problem: str) -> str:
    """Return what stands below a problem's chart."""
    return f"{GAPS[problem].note} Measured by `python benchmarks/{problem}.py`."


BARS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "cold_start": (("command",), {"processor, s": "processor time, s"}),
    "elastic_pools": (("scenario", "running"), {"dp, ms": "dp, ms", "HiGHS, ms": "HiGHS, ms"}),
    "exact_against_heuristics": (("instance",), {"processor s": "best heuristic, s"}),
    "hadar_simulation": (("policy",), {"duration": "duration, h", "median": "median, h"}),
    "histories": (
        ("record", "policy"),
        {"mean wait, s": "mean wait, s", "mean completion, s": "mean completion, s"},
    ),
    "lyra_simulation": (
        ("scheme",),
        {"mean queueing s": "mean queueing, s", "mean completion s": "completion, s"},
    ),
    "mast_simulation": (("policy",), {"waits over 10 min": "waits over 10 min, %"}),
    "muri_published": (("policy",), {"mean_jct, ours": "mean JCT, s", "p99_jct, ours": "p99, s"}),
    "muri_simulation": (("policy", "method"), {"mean completion s": "mean, s", "p99 s": "p99, s"}),
    "overhead": (("jobs",), {"own ms per run": "own, ms", "overhead ms per run": "overhead, ms"}),
    "simulation_bounds": (("trace",), {"gap": "gap, %"}),
    "synergy_simulation": (
        ("mechanism",),
        {"published": "makespan, h", "mean, published": "mean completion, h"},
    ),
    "worst_cases": (("method",), {"gap": "gap, %"}),
}
"""By page the columns that name a row, and those that are drawn, with their titles. Other pages
begin with two columns of numbers of their first table."""


def names() -> list[str]:
    """Return the pages that begin with a chart of their first table, besides the problems'."""
    pages = sorted(path.stem for path in FIGURES.glob("*.md"))
    return [name for name in pages if name not in GAPS and _tables(name) and bars(name)[1]]


def bars(name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return which columns of a page's first table name a row, and which are drawn."""
    if name in BARS:
        return BARS[name]
    rows = next(iter(_tables(name).values()))[0]
    first, *others = rows[0]
    numeric = [c for c in others if sum(number(r.get(c, "")) is not None for r in rows) > 0]
    return (first,), {column: column for column in numeric[:2]}


def title(name: str) -> str:
    """Return the words of a chart."""
    said = {
        "peers": "Time of other solvers as a multiple of ours",
        "frontiers": "Every nondominated point of two levels, each proved",
        "claims": "Verdicts on the claims of each paper",
    }
    if name in GAPS:
        return f"Gap against size: {GAPS[name].y} by {GAPS[name].x}"
    return said.get(name) or next(iter(_tables(name)))


def _draw_gaps(name: str) -> Any:
    frame = gaps(name)
    ax = frame.plot(logx=True, marker="o", xlabel=GAPS[name].x, ylabel=GAPS[name].y)
    ax.set_xticks(list(frame.index), [f"{size:,.0f}" for size in frame.index])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    return ax.figure


def _draw_bars(name: str) -> Any:
    labels, values = bars(name)
    rows = next(iter(_tables(name).values()))[0][:MOST_ROWS]
    index = [", ".join(filter(None, (row.get(n, "") for n in labels)))[:34] for row in rows]
    columns = {v: [number(row.get(c, "")) for row in rows] for c, v in values.items()}
    frame = pd.DataFrame(columns, index=[label.replace("`", "") for label in index])
    panels = frame.plot.barh(
        subplots=True, layout=(1, len(values)), sharex=False, sharey=True, legend=False,
        figsize=(INCHES, 0.8 + 0.27 * len(rows)),
    )  # fmt: skip
    for ax, column in zip(panels[0], values, strict=True):
        cells = [row.get(column, "").partition(" (")[0] for row in rows]
        ax.bar_label(ax.containers[0], labels=cells, padding=3, fontsize=9)
        ax.margins(x=0.3)
        ax.set_xticks([])
        ax.invert_yaxis() if ax is panels[0][0] else None
    return panels[0][0].figure


def _draw_peers(_: str) -> Any:
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for problem, (first, *_others) in _tables("peers").items():
        for peer in list(first[0])[2:] if problem != "Regimes" else ():
            cells = [number(row.get(peer, "")) for row in first]
            if multiples := [cell for cell in cells if cell is not None]:
                means[peer][problem] = float(np.exp(np.mean(np.log(multiples))))
    frame = pd.DataFrame(means)
    ax = frame.plot(style=["o", "s", "D", "^", "v", "P", "X"], logy=True, rot=20)
    ax.axhline(1, color="black", linewidth=0.9)
    ax.set_ylabel("multiple of our time")
    return ax.figure


def _draw_frontiers(_: str) -> Any:
    from matplotlib import pyplot as plt

    found = _tables("frontiers")
    figure, panels = plt.subplots(1, len(found), figsize=(INCHES, 2.5))
    for ax, (instance, (rows, *_others)) in zip(panels, found.items(), strict=True):
        first, second = list(rows[0])[:2]
        points = [(number(row[first]), number(row[second])) for row in rows]
        ax.plot(*zip(*points, strict=True), ".-")
        ax.set(title=f"{instance}, {len(points)}", xlabel=first, ylabel=second)
    return figure


def _draw_claims(_: str) -> Any:
    said = [
        (paper.partition(" (")[0], row["verdict"].partition("**:")[0].strip("*"))
        for paper, found in tables(CLAIMS.read_text(encoding="utf-8")).items()
        for row in found[0] if row.get("verdict", "").startswith("**")
    ]  # fmt: skip
    frame = pd.DataFrame(said, columns=["paper", "verdict"])
    counts = pd.crosstab(frame.paper, frame.verdict)
    colours = [VERDICTS.get(verdict, "#F0E442") for verdict in counts]
    ax = counts.plot.barh(
        stacked=True, color=colours, figsize=(INCHES, 3), xlabel="claims", ylabel=""
    )
    containers: Any = ax.containers
    for container in containers:
        ax.bar_label(container, label_type="center", fmt=lambda n: f"{n:.0f}" if n else "")
    return ax.figure


_OWN = {"peers": _draw_peers, "frontiers": _draw_frontiers, "claims": _draw_claims}


def picture(name: str) -> bytes:
    """Return the chart of a page of figures, or of docs/claims.md, as SVG."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    from dlsched.display.drawing.files import picture_bytes

    look = {"figure.figsize": (INCHES, 3.5), "figure.constrained_layout.use": True, "font.size": 9}
    look |= {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    with mpl.rc_context(look):
        figure = _OWN.get(name, _draw_gaps if name in GAPS else _draw_bars)(name)
        content = picture_bytes(figure, "svg", "transparent")
    plt.close(figure)
    return content


def example(problem: str) -> bytes:
    """Return the problem's first example with its optimum as SVG."""
    from matplotlib import pyplot as plt

    import dlsched
    from dlsched import registry
    from dlsched.display.drawing.files import picture_bytes
    from dlsched.display.plotting import draw_function

    owner = registry.problem(problem)
    instance = owner.module("generate").examples()[0]
    axes = draw_function(owner)(instance, dlsched.solve(instance).solution)
    content = picture_bytes(axes.figure, "svg", "transparent")
    plt.close(axes.figure)
    return content


def all_pictures() -> Iterator[tuple[str, bytes]]:
    """Yield every picture with its name: ``reclaiming`` and ``figures-peers``."""
    import matplotlib as mpl

    import dlsched

    mpl.use("Agg")
    yield from ((name, example(name)) for name in dlsched.list_problems())
    yield from ((f"figures-{name}", picture(name)) for name in [*names(), *GAPS, "claims"])
