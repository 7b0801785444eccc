"""Draws the site's pictures as SVG: an example of each problem, and charts of measured tables.

The tables are those of benchmarks/tables, whose files say what is drawn. Pictures stand on a white
plate on light and dark pages.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(ROOT / "benchmarks"), str(ROOT / "benchmarks" / "claims")]
import tables  # noqa: E402
from rows import PAPERS, paper, verdict  # noqa: E402

INCHES = 6.2
MOST_ROWS = 14
"""Rows of a table that a chart has at most."""
VERDICTS = {
    "holds": "#009E73", "same direction, other inputs": "#F0E442", "holds in part": "#56B4E9",
    "does not hold": "#E69F00", "cannot be tested": "#CCCCCC",
}  # fmt: skip
"""Colours of verdicts."""


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


def number(row: tables.Row, column: str) -> float | None:
    """Return the number that a cell begins with; ``None`` if it begins with none."""
    said = row.get(column)
    begins = said is not None and re.match(r"[+-]?[\d.]", said.text)
    return said.numbers[0] if said is not None and begins else None


def gaps(name: str) -> pd.DataFrame:
    """Return the mean gap of each method, in per cent, by size."""
    chart, rows = tables.spec(name)["chart"], []
    for source in chart["from"]:
        stored = tables.shown_rows(name, source["section"], source["table"])
        for row in tables.arranged(stored, {"where": source.get("where", {})}):
            at = source.get("at") or number(row, chart["size"])
            values = {column: number(row, column) or 0.0 for column in chart["columns"]}
            if "bound" in source:  # of a cost
                bound = number(row, source["bound"]) or 0.0
                values = {column: 100 * (1 - bound / cost) for column, cost in values.items()}
            if source.get("above"):  # the optimum, where a gap is to the larger value
                values = {column: 100 * v / (100 + v) for column, v in values.items()}
            rows.append({chart["x"]: at} | values)
    return pd.DataFrame(rows).groupby(chart["x"]).mean()


def gap_note(name: str) -> str:
    """Return what stands below a problem's chart."""
    measured = f"Measured by `python benchmarks/measure.py {name}`."
    return f"{tables.spec(name)['chart']['note']} {measured}"


def has_gaps(name: str) -> bool:
    """Whether a page is that of a problem with a chart of gaps."""
    return name in tables.names() and "chart" in tables.spec(name)


def charted() -> list[str]:
    """Return the pages that begin with a chart."""
    return [*tables.names(), "claims"]


def bars(name: str) -> tuple[list[str], dict[str, str]]:
    """Return which columns of a page's first table name a row, and which are drawn by title."""
    said = tables.spec(name).get("bars", {"rows": [], "columns": {}})
    return said["rows"], said["columns"]


def title(name: str) -> str:
    """Return the words of a chart."""
    if name == "claims":
        return "Verdicts on the claims of each paper"
    if has_gaps(name):
        chart = tables.spec(name)["chart"]
        return f"Gap against size: {chart['y']} by {chart['x']}"
    return tables.spec(name).get("title", tables.tables(name)[0].heading)


def _draw_gaps(name: str) -> Any:
    frame, chart = gaps(name), tables.spec(name)["chart"]
    ax = frame.plot(logx=True, marker="o", xlabel=chart["x"], ylabel=chart["y"])
    ax.set_xticks(list(frame.index), [f"{size:,.0f}" for size in frame.index])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    return ax.figure


def _draw_bars(name: str) -> Any:
    labels, values = bars(name)
    rows = tables.tables(name)[0].rows[:MOST_ROWS]
    texts = [[row[n].text for n in labels if n in row and row[n].text] for row in rows]
    index = [shorten(", ".join(parts).replace("`", ""), 36, placeholder=" …") for parts in texts]
    columns = {v: [number(row, c) for row in rows] for c, v in values.items()}
    panels = pd.DataFrame(columns, index=index).plot.barh(
        subplots=True, layout=(1, len(values)), sharex=False, sharey=True, legend=False,
        figsize=(INCHES, 0.8 + 0.27 * len(rows)),
    )  # fmt: skip
    for ax, column in zip(panels[0], values, strict=True):
        cells = [row[column].text.partition(" (")[0] if column in row else "" for row in rows]
        ax.bar_label(ax.containers[0], labels=cells, padding=3, fontsize=9)
        ax.margins(x=0.45)
        ax.set_xticks([])
        ax.invert_yaxis() if ax is panels[0][0] else None
    return panels[0][0].figure


def _draw_peers(_: str) -> Any:
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for part in tables.tables("peers"):
        if part.section == "regimes":
            continue
        for peer in list(part.rows[0])[2:]:
            multiples = [m for row in part.rows if (m := number(row, peer)) is not None]
            if multiples and part.section not in means[peer]:
                means[peer][part.section] = float(np.exp(np.mean(np.log(multiples))))
    ax = pd.DataFrame(means).plot(style=["o", "s", "D", "^", "v", "P", "X"], logy=True, rot=20)
    ax.axhline(1, color="black", linewidth=0.9)
    ax.set_ylabel("multiple of our time")
    return ax.figure


def _draw_frontiers(_: str) -> Any:
    from matplotlib import pyplot as plt

    found = tables.tables("frontiers")
    figure, panels = plt.subplots(1, len(found), figsize=(INCHES, 2.5))
    for ax, table in zip(panels, found, strict=True):
        first, second = list(table.rows[0])[:2]
        points = [(number(row, first), number(row, second)) for row in table.rows]
        ax.plot(*zip(*points, strict=True), ".-")
        ax.set(title=f"{table.heading}, {len(points)}", xlabel=first, ylabel=second)
    return figure


def _draw_claims(_: str) -> Any:
    said = {name: paper(name) for name in PAPERS}
    counts = pd.DataFrame(
        {p["paper"].partition(" (")[0]: Counter(map(verdict, p["claims"])) for p in said.values()}
    ).reindex(list(VERDICTS))
    frame = counts.T.sort_index().fillna(0)
    ax = frame.plot.barh(
        stacked=True, color=VERDICTS, figsize=(INCHES, 3), xlabel="claims", ylabel=""
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
        figure = _OWN.get(name, _draw_gaps if has_gaps(name) else _draw_bars)(name)
        content = picture_bytes(figure, "svg", "transparent")
    plt.close(figure)
    return content


def example(problem: str) -> bytes:
    """Return the problem's first example with its optimum as SVG."""
    from matplotlib import pyplot as plt

    import dlsched
    from dlsched.display.drawing.files import picture_bytes
    from dlsched.display.plotting import draw_function

    owner = dlsched.registry.problem(problem)
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
    yield from ((f"figures-{name}", picture(name)) for name in charted())
