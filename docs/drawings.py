"""Draws the site's pictures as SVG: an example of each problem with its optimum, and the charts.

A chart is drawn twice, for light and for dark pages; the theme shows the one that suits.
"""

from __future__ import annotations

from collections.abc import Iterator

import charts
import figure_charts
import measured


def all_pictures() -> Iterator[tuple[str, bytes]]:
    """Yield every picture with its name, ``reclaiming`` or ``reclaiming-gap-dark``."""
    import matplotlib as mpl

    import dlsched

    mpl.use("Agg")
    for name in figure_charts.names():
        for scheme in charts.SCHEMES:
            yield f"figures-{name}-{scheme}", figure_charts.svg(name, scheme)
    for name in dlsched.list_problems():
        yield name, _example(name)
        for scheme in charts.SCHEMES:
            for kind, chart in measured.charts(name):
                yield f"{name}-{kind}-{scheme}", charts.svg(chart, scheme)


def _example(name: str) -> bytes:
    """Return the problem's first example with its optimum; the page puts it on a plate."""
    from matplotlib import pyplot as plt

    import dlsched
    from dlsched.display.drawing.files import picture_bytes
    from dlsched.display.plotting import draw_function
    from dlsched.registry import problem

    owner = problem(name)
    example = owner.module("generate").examples()[0]
    axes = draw_function(owner)(example, dlsched.solve(example).solution)
    picture = picture_bytes(axes.figure, "svg", "transparent")
    plt.close(axes.figure)
    return picture
