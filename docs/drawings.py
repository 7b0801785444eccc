"""Draws the site's pictures as SVG: an example of each problem with its optimum, and the charts.

Each is drawn twice, for light and for dark pages; the style sheet shows the one that suits.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import charts
import measured


def all_pictures() -> Iterator[tuple[str, bytes]]:
    """Yield every picture with its name, as ``reclaiming-light`` or ``reclaiming-gap-dark``."""
    import matplotlib as mpl

    import dlsched

    mpl.use("Agg")
    for name in dlsched.list_problems():
        for scheme in charts.SCHEMES:
            yield f"{name}-{scheme}", _example(name, scheme)
            for kind, chart in measured.charts(name):
                yield f"{name}-{kind}-{scheme}", charts.svg(chart, scheme)


def _example(name: str, scheme: str) -> bytes:
    """Return the problem's first example with its optimum."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    import dlsched
    from dlsched.registry import problem

    owner = problem(name)
    example = owner.module("generate").examples()[0]
    with mpl.rc_context(_style(scheme)):
        axes = owner.module("draw").draw(example, dlsched.solve(example).solution)
        picture = svg(axes.figure)
        plt.close(axes.figure)
    return picture


def _style(scheme: str) -> dict[str, Any]:
    colours = charts.SCHEMES[scheme]
    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    return {"svg.hashsalt": "dlsched"} | dict.fromkeys(names, colours["text"])


def svg(figure: Any) -> bytes:
    """Return a figure as SVG with a transparent background."""
    stream = io.BytesIO()
    figure.savefig(
        stream, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None}
    )
    return stream.getvalue()
