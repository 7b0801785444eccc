"""The picture that a page of figures begins with: bars of columns of its first table."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import charts
from measured import FIGURES, Row, tables

from dlsched.display.drawing.colours import text_on


@dataclass(frozen=True)
class Bars:
    """What is drawn of a table.

    Attributes
    ----------
    names
        The columns whose cells name a row.
    values
        The columns that are drawn, each with the title of its panel.
    """

    names: tuple[str, ...]
    values: Mapping[str, str]


BARS: dict[str, Bars] = {
    "cold_start": Bars(("command",), {"processor, s": "processor time, s"}),
    "elastic_pools": Bars(("scenario", "running"), {"dp, ms": "dp, ms", "HiGHS, ms": "HiGHS, ms"}),
    "exact_against_heuristics": Bars(("instance",), {"processor s": "best heuristic, s"}),
    "gavel": Bars(
        ("policy", "jobs"),
        {"seconds": "this library, s", "all pairs: seconds": "all pairs, s"},
    ),
    "hadar_simulation": Bars(
        ("policy",), {"duration": "duration, h", "median": "median completion, h"}
    ),
    "histories": Bars(
        ("record", "policy"),
        {"mean wait, s": "mean wait, s", "mean completion, s": "mean completion, s"},
    ),
    "lyra_simulation": Bars(
        ("scheme",),
        {"mean queueing s": "mean queueing, s", "mean completion s": "completion, s"},
    ),
    "mast_simulation": Bars(
        ("policy",), {"waits over 10 min": "waits over 10 min, % of workloads"}
    ),
    "muri_published": Bars(
        ("policy",), {"mean_jct, ours": "mean JCT, s", "p99_jct, ours": "p99 JCT, s"}
    ),
    "muri_simulation": Bars(
        ("policy", "method"), {"mean completion s": "mean, s", "p99 s": "p99, s"}
    ),
    "overhead": Bars(
        ("jobs",), {"own ms per run": "own, ms", "overhead ms per run": "overhead, ms"}
    ),
    "simulation_bounds": Bars(("trace",), {"gap": "gap, %"}),
    "simulation_scale": Bars(
        ("jobs",), {"simulation, s": "simulation, s", "audit and metrics, s": "audit, metrics, s"}
    ),
    "synergy_simulation": Bars(
        ("mechanism",), {"published": "makespan, h", "mean, published": "mean completion, h"}
    ),
    "worst_cases": Bars(("method",), {"gap": "gap, %"}),
}
"""What pages begin with; others begin with two columns of numbers of their first table, the pages
of the problems with their gaps by size."""
_MOST_ROWS = 14
CLAIMS = Path(__file__).resolve().parent / "claims.md"
VERDICTS = ("holds", "same direction, other inputs", "holds in part", "does not hold",
            "cannot be tested")  # fmt: skip
_PEER_MARKS = "osD^vP"


def names() -> list[str]:
    """Return the pages that have such a picture."""
    problems = {path.stem for path in (Path(__file__).parent / "problems").glob("*.md")}
    pages = {path.stem for path in FIGURES.glob("*.md")} - problems
    return [*sorted(name for name in pages if _has_table(name)), "claims"]


def _has_table(name: str) -> bool:
    return bool(_tables(name)) and (name == "peers" or bool(bars_of(name).values))


def bars_of(name: str) -> Bars:
    """Return what is drawn of a page's first table."""
    if name in BARS:
        return BARS[name]
    rows = next(iter(_tables(name).values()))[0]
    first, *others = rows[0]
    numeric = [column for column in others if _numeric([row.get(column, "") for row in rows])]
    return Bars((first,), {column: column for column in numeric[:2]})


def title(name: str) -> str:
    """Return the heading of the table that a page's picture shows."""
    if name == "peers":
        return "Time of other solvers as a multiple of ours"
    if name == "frontiers":
        return "Every nondominated point of two levels, each proved"
    if name == "claims":
        return "Verdicts on the claims of each paper"
    return next(iter(_tables(name)))


def _tables(name: str) -> dict[str, list[list[Row]]]:
    return tables((FIGURES / f"{name}.md").read_text(encoding="utf-8"))


def number(cell: str) -> float | None:
    """Return the number that a cell begins with; ``None`` if it begins with none."""
    match = re.match(r"[+-]?[\d,]*\.?\d+(e[+-]?\d+)?", cell)
    return float(match[0].replace(",", "")) if match else None


def svg(name: str, scheme: str) -> bytes:
    """Return the picture of a page as SVG with a transparent background.

    Parameters
    ----------
    scheme
        "light" or "dark".
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    colours: dict[str, Any] = charts.SCHEMES[scheme]
    with mpl.rc_context(charts.style(colours)):
        own = {"peers": _peers, "claims": _verdicts, "frontiers": _frontiers}
        figure = own[name](colours) if name in own else _bars(name, colours)
        figure.patch.set_alpha(0)
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        plt.close(figure)
    return stream.getvalue()


def _bars(name: str, colours: Mapping[str, Any]) -> Any:
    """Draw a panel for each column, a bar for each row."""
    from matplotlib import pyplot as plt

    spec = bars_of(name)
    rows = next(iter(_tables(name).values()))[0][:_MOST_ROWS]
    labels = [", ".join(filter(None, (row.get(n, "") for n in spec.names))) for row in rows]
    figure, panels = plt.subplots(
        1,
        len(spec.values),
        figsize=(6.2, 0.8 + 0.27 * len(rows)),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    for ax, (column, words), colour in zip(
        panels[0], spec.values.items(), colours["lines"], strict=False
    ):
        values = [number(row.get(column, "")) for row in rows]
        most = max((v for v in values if v is not None), default=1.0) or 1.0
        for y, (row, value) in enumerate(zip(rows, values, strict=True)):
            ax.barh(y, value or 0, height=0.62, color=colour)
            ax.annotate(
                row.get(column, "").partition(" (")[0],
                (value or 0, y),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        ax.set_xlim(0, 1.3 * most)
        ax.set_title(words, loc="left", fontsize=10)
        ax.spines[:].set_visible(False)
        ax.set_xticks([])
    panels[0][0].set_yticks(range(len(rows)), [_short(label) for label in labels])
    panels[0][0].set_ylim(len(rows) - 0.5, -0.5)
    for ax in panels[0]:
        ax.tick_params(length=0)
    return figure


def _short(label: str) -> str:
    plain = label.replace("`", "")
    return plain if len(plain) <= 34 else plain[:33] + "…"


def _peers(colours: Mapping[str, Any]) -> Any:
    """Draw for each problem the geometric mean of each peer's multiples, where it proved."""
    import numpy as np
    from matplotlib import pyplot as plt

    means: dict[str, dict[str, float]] = {}
    for problem, found in (item for item in _tables("peers").items() if item[0] != "Regimes"):
        for peer in list(found[0][0])[2:]:
            cells = [number(row.get(peer, "")) for row in found[0]]
            multiples = [cell for cell in cells if cell is not None]
            if multiples:
                means.setdefault(peer, {})[problem] = float(np.exp(np.mean(np.log(multiples))))
    problems = list(dict.fromkeys(p for by_problem in means.values() for p in by_problem))
    figure, ax = plt.subplots(figsize=(6.2, 1.4 + 0.3 * len(problems)), layout="constrained")
    for (peer, by_problem), mark, colour in zip(
        means.items(), _PEER_MARKS, colours["lines"], strict=False
    ):
        places = [problems.index(problem) for problem in by_problem]
        look: dict[str, Any] = {"linestyle": "", "marker": mark, "color": colour, "label": peer}
        ax.plot(list(by_problem.values()), places, **look)
    ax.axvline(1, color=colours["text"], linewidth=0.9)
    ax.annotate("ours", (1, -0.8), ha="center", fontsize=9, annotation_clip=False)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_yticks(range(len(problems)), problems)
    ax.set_ylim(len(problems) - 0.5, -0.5)
    ax.set_xlabel("time as a multiple of ours, geometric mean of the instances proved")
    ax.grid(axis="x", color=colours["grid"], linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _frontiers(colours: Mapping[str, Any]) -> Any:
    """Draw a panel for each instance, with its points in their order."""
    from matplotlib import pyplot as plt

    found = _tables("frontiers")
    figure, panels = plt.subplots(1, len(found), figsize=(6.2, 2.5), layout="constrained")
    for ax, (instance, of_instance), colour in zip(
        panels, found.items(), colours["lines"], strict=False
    ):
        first, second = list(of_instance[0][0])[:2]
        points = [(number(row[first]), number(row[second])) for row in of_instance[0]]
        ax.plot(*zip(*points, strict=True), ".-", color=colour, linewidth=0.8)
        ax.set_title(f"{instance}, {len(points)}", loc="left", fontsize=10)
        ax.set_xlabel(first)
        ax.set_ylabel(second)
        ax.grid(color=colours["grid"], linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _verdicts(colours: Mapping[str, Any]) -> Any:
    """Draw for each paper how many of its claims hold, as a bar with a part for each verdict."""
    from matplotlib import pyplot as plt

    found = {
        paper: found[0]
        for paper, found in tables(CLAIMS.read_text(encoding="utf-8")).items()
        if found and "verdict" in found[0][0] and "claim" in found[0][0]
    }
    figure, ax = plt.subplots(figsize=(6.2, 1.1 + 0.36 * len(found)), layout="constrained")
    blue, orange, green, other = colours["lines"][:4]
    looks = zip(VERDICTS, (blue, other, green, orange, colours["grid"]), strict=True)
    left = dict.fromkeys(found, 0)
    for verdict, colour in looks:
        for y, (paper, rows) in enumerate(found.items()):
            count = sum(row.get("verdict", "").startswith(f"**{verdict}**") for row in rows)
            look: dict[str, Any] = {"color": colour, "label": None if y else verdict}
            ax.barh(y, count, left=left[paper], height=0.66, **look)
            if count:
                middle = left[paper] + count / 2
                look = {"ha": "center", "va": "center", "fontsize": 9, "color": text_on(colour)}
                ax.annotate(str(count), (middle, y), **look)
            left[paper] += count
    ax.set_yticks(range(len(found)), [paper.partition(" (")[0] for paper in found])
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.set_xlabel("claims")
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def right_aligned(text: str) -> str:
    """Return a page whose tables have columns of numbers aligned at the right."""
    lines: Sequence[str] = text.split("\n")
    made = list(lines)
    for i, line in enumerate(lines):
        if re.fullmatch(r"\|(\s*-+\s*\|)+", line):
            end = i + 1
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            columns = list(zip(*(_cells(row) for row in lines[i + 1 : end]), strict=False))
            count = line.count("|") - 1
            marks = [
                "---:" if c < len(columns) and _numeric(columns[c]) else "---" for c in range(count)
            ]
            made[i] = f"|{'|'.join(marks)}|"
    return "\n".join(made)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


def _numeric(cells: Sequence[str]) -> bool:
    """Whether most cells are numbers: with a unit, a sign, or the count that they are of."""
    stated = [cell for cell in cells if cell not in ("", "-", "–")]
    return bool(stated) and 2 * sum(number(cell) is not None for cell in stated) > len(stated)
