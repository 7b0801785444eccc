"""Reads the measured tables in benchmarks/figures, and takes what a chart shows from them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

FIGURES = Path(__file__).resolve().parents[1] / "benchmarks" / "figures"
PEERS = "dlsched bench benchmarks/suites/peers.toml"
PEERS_LIMIT, OWN_LIMIT = 10.0, 30.0
"""Seconds that benchmarks/suites/peers.toml gives a run, and a problem's own benchmark."""
Row = dict[str, str]


@dataclass(frozen=True)
class Point:
    """A value at a size. `open` means not proved: a gap to a bound, or a run that hit its limit."""

    size: float
    value: float
    open: bool = False


@dataclass(frozen=True)
class Chart:
    """What a chart shows, where it was measured, and what a reader must know about it."""

    title: str
    x: str
    y: str
    series: Mapping[str, list[Point]]
    command: str
    note: str = ""
    log_y: bool = False
    limit: float | None = None


@dataclass
class _Gaps:
    """Where a problem's gaps by size are: file, section, table in it, and its columns."""

    section: str
    size: Callable[[Row], float]
    columns: tuple[str, ...]
    x: str
    y: str = "gap, %"
    note: str = ""
    table: int = 0
    keep: Callable[[Row], bool] = lambda row: True
    proved: Callable[[Row], bool] = lambda row: True
    also: list[_Gaps] = field(default_factory=list)
    value: Callable[[Row, str], float] | None = None


def tables(text: str) -> dict[str, list[list[Row]]]:
    """Return the tables of a Markdown file by the heading above them, each as a list of rows."""
    found: dict[str, list[list[Row]]] = defaultdict(list)
    heading, columns = "", list[str]()
    for line in text.splitlines():
        cells = [
            cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")
        ]
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


def percent(cell: str) -> float:
    """Return the first percentage of a cell; 0 is written without a sign."""
    return float(cell.partition("%")[0].partition(",")[0])


def _above(row: Row, column: str) -> float:
    """Return the gap of a cost that is so many per cent above the optimum."""
    above = percent(row[column]) / 100
    return 100 * above / (1 + above)


def _to_bound(row: Row, column: str) -> float:
    """Return the gap of a cost to the bound in the same row."""
    return 100 * (1 - float(row["`indivisible_bound`"]) / float(row[column]))


def _first(column: str) -> Callable[[Row], float]:
    return lambda row: float(row[column].partition(" ")[0].replace(",", ""))


def _utility(section: str, jobs: int) -> _Gaps:
    return _Gaps(
        section,
        size=lambda row: jobs,
        columns=("insertion", "hadar", "srtf", "tiresias"),
        x="jobs",
        keep=lambda row: row["utility"] == "effective_throughput",
        proved=lambda row: row["status"] == "optimal",
    )


GAPS: dict[str, _Gaps] = {
    "reclaiming": _Gaps(
        "Above the optimum",
        size=_first("demand"),
        columns=("densest", "lyra", "gpu_fraction"),
        x="servers to return, of 520",
        y="jobs preempted above the optimum, %",
        note="10 fleets for each demand, all proved. Not shown: scf, 303 % to 19 %.",
    ),
    "elastic": _Gaps(
        "Heuristics by size",
        size=_first("items"),
        columns=("lyra", "afs", "fifo"),
        x="items of the knapsack",
        y="gap in launched jobs, %",
        note="The mean of five seeds, all proved.",
    ),
    "interleaving": _Gaps(
        "The head of the queue, as in Algorithm 1, generated",
        table=1,
        size=_first("GPUs"),
        columns=("swap", "muri", "greedy"),
        x="GPUs of the cluster",
        note="Heads of queues with 48 profiles, the mean of the seeds, all proved; muri_needed "
        "equals muri here.",
    ),
    "utility": _utility("8 jobs, 20 slots, 6 GPUs", 8),
    "placement": _Gaps(
        "15 x 4 x 20 and 30 x 4 x 40 (tables, regions, jobs), 120 s",
        size=_first("size"),
        columns=("annealing", "hill_climbing", "no_moves"),
        x="tables",
        keep=lambda row: row["version"] == "v2",
        value=_above,
        note="The mean of the seeds, version 2. Open markers: to a bound that is not tight; the "
        "optimum at 1,000 tables is unknown.",
    ),
    "dispatch": _Gaps(
        "Batches of 15 workloads, 3 regions of 2 clusters",
        size=_first("machines"),
        columns=("counted", "mast", "top_k", "federated"),
        x="machines of a cluster",
        y="instances below the optimum, %",
        note="The share of ten instances, all proved, on which what starts or is preempted is "
        "worse than the optimum.",
    ),
    "sensitivity": _Gaps(
        "Proven optima, measured profiles, seed 1",
        size=_first("servers"),
        columns=("tune", "tune_public", "proportional"),
        x="servers of 8 GPUs",
        keep=lambda row: row["status"] == "optimal",
        note="The mean over workloads, all proved.",
    ),
    "workers": _Gaps(
        "Gaps in placed jobs by size",
        size=_first("servers"),
        columns=("bfd", "bases_first", "confined_first"),
        x="servers of 8 GPUs",
        y="gap in placed jobs, %",
        keep=lambda row: (row["scenario"], row["groups"]) == ("basic", "separate"),
        note="Scenario basic, the mean of five seeds, all proved.",
    ),
}
GAPS["utility"].also = [
    _utility("20 jobs, 40 slots, 12 GPUs", 20),
    _utility("60 jobs, 100 slots, 24 GPUs", 60),
]
GAPS["utility"].note = (
    "The mean of the seeds, effective throughput. Open markers: to a certified bound, where the "
    "optimum of some seed is not proved."
)
GAPS["placement"].also = [
    _Gaps(
        "1,000 x 10 x 3,000",
        size=lambda row: 1000,
        columns=("annealing", "hill_climbing", "no_moves"),
        x="tables",
        proved=lambda row: False,
        value=_to_bound,
    )
]


def gap_chart(problem: str) -> Chart:
    """Return the chart of the heuristics' gaps by size."""
    spec = GAPS[problem]
    found = tables((FIGURES / f"{problem}.md").read_text(encoding="utf-8"))
    points: dict[str, list[Point]] = {name: [] for name in spec.columns}
    for part in (spec, *spec.also):
        read = part.value or (lambda row, column: percent(row[column]))
        rows = [row for row in found[part.section][part.table] if part.keep(row)]
        for size in sorted({part.size(row) for row in rows}):
            here = [row for row in rows if part.size(row) == size]
            proved = all(part.proved(row) for row in here)
            for name in part.columns:
                value = mean(read(row, name) for row in here)
                points[name].append(Point(size, value, not proved))
    command = f"python benchmarks/{problem}.py"
    return Chart("Gap against size", spec.x, spec.y, points, command, spec.note)


def own_times(problem: str, section: str, x: str, note: str) -> Chart:
    """Return the chart of seconds by size from a problem's own figures."""
    rows = tables((FIGURES / f"{problem}.md").read_text(encoding="utf-8"))[section][0]
    (size, *names), points = list(rows[0]), dict[str, list[Point]]()
    for row in rows:
        for name in names:
            limit = row[name] == "limit"
            seconds = OWN_LIMIT if limit else float(row[name].removesuffix(" s"))
            points.setdefault(name, []).append(Point(float(row[size]), seconds, limit))
    command = f"python benchmarks/{problem}.py"
    return Chart(
        "Time against size", x, "seconds to a proof", points, command, note, True, OWN_LIMIT
    )


def time_chart(problem: str) -> Chart:
    """Return the chart of seconds by size, of the exact method and of other solvers."""
    if problem == "workers":
        note = "The mean of two seeds, all four levels. Open markers: not all proved within 30 s."
        return own_times(problem, "The exact methods by size", "servers of 8 GPUs", note)
    found = tables((FIGURES / "peers.md").read_text(encoding="utf-8"))[problem][0]
    rows = [row for row in found if "resources=2" not in row["instance"]]
    x, points = "", dict[str, list[Point]]()
    for row in rows:
        size = re.match(r"(\w+)=(\d+)", row["instance"])
        assert size is not None, row
        x = size[1]
        ours = _seconds(row["ours"], 1.0)
        for name, cell in row.items():
            if name == "instance" or cell in ("refused", "infeasible"):
                continue
            point = ours if name == "ours" else _seconds(cell, ours.value if ours else None)
            if point is not None:
                label = "dlsched" if name == "ours" else name.split(",")[0]
                points.setdefault(label, []).append(Point(float(size[2]), point.value, point.open))
    note = "The geometric mean of two seeds. Open markers: not proved within the limit of 10 s."
    return Chart(
        "Time against size", x, "seconds to a proof", points, PEERS, note, True, PEERS_LIMIT
    )


def _seconds(cell: str, ours: float | None) -> Point | None:
    """Return the seconds of a cell: "0.5 s", a multiple of ours, or words or a gap at a limit."""
    if cell == "infeasible":
        return None
    if not re.fullmatch(r"[\d.e+-]+( s)?", cell):
        return Point(0, PEERS_LIMIT, open=True)
    number = float(cell.removesuffix(" s"))
    return Point(0, number * (1.0 if ours is None else ours))


def charts(problem: str) -> Iterable[tuple[str, Chart]]:
    """Return a problem's charts, if it has any, with the names of their files."""
    return (("gap", gap_chart(problem)), ("time", time_chart(problem))) if problem in GAPS else ()
