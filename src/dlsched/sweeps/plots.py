"""The pictures of a report: profiles, and growth with size; legible in black and white."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlsched import registry
from dlsched.display import charts, quality
from dlsched.display.table import Row
from dlsched.results import performance_profiles as profiles
from dlsched.sweeps.statistics import EvaluatedRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (4.4, 3.1)
"""Inches of a picture: its letters are legible on a page of 390 pixels, and at half of 1,280."""


@dataclass(frozen=True)
class Picture:
    """A figure with its name and caption."""

    name: str
    caption: str
    figure: Figure


def pictures(problem: str, runs: Sequence[EvaluatedRun]) -> Iterator[Picture]:
    """Yield the pictures of one problem's runs; those without data are left out."""
    owner = registry.problem(problem)
    rows = [run.row for run in runs]
    level = owner.levels[0].name if len(owner.levels) == 1 else None
    proofs = profiles.time_profile(rows)
    if sum(len(factors) > 1 for factors, _ in proofs.values()) > 1:
        caption = (
            "Performance profile of the exact methods: the share of the runs proven within a "
            "factor of the fastest proof. Unproven runs are in no share."
        )
        yield Picture("proofs", caption, _figure(charts.draw_time_profile, proofs))
    gaps = profiles.gap_profile(rows, level)
    # Where every run is at the best bound, the table says so, and a picture of it shows nothing.
    apart = not all(row["at_optimum"] for row in rows)
    if apart and any(len(values) for values, _ in gaps.values()):
        caption = (
            "Share of the runs within each gap_to_best, which is of a run's first level not at "
            "its bound. Runs without a solution or a bound are in no share."
        )
        yield Picture("gaps", caption, _figure(charts.draw_gap_profile, gaps, level))
    if len({row["size"] for row in rows if row["size"]}) > 1:
        caption = (
            f"Seconds against the number of {owner.size}. A line is fitted to the medians of at "
            f"least {profiles.MIN_SIZES} sizes; its {profiles.CONFIDENCE:.0%} interval is beside; "
            f"none where that is wider than {profiles.WIDEST:g}."
        )
        yield Picture("time-by-size", caption, _figure(charts.draw_time_by_size, rows, owner.size))
    if apart and len({row["size"] for row in rows if row["size"]}) > 1:
        caption = f"gap_to_best against the number of {owner.size}: median, quartiles."
        figure = _figure(quality.draw_gap_by_size, rows, owner.size, level)
        yield Picture("gap-by-size", caption, figure)


OVERVIEW = "How far each method is from the optimum, run by run, and how many runs are optimal"
OVERVIEW_INCHES = {"overview": 8.4, "overview-narrow": 4.2}
"""Names and widths of the overview: for a page, and for a telephone."""


def overviews(rows: Sequence[Row]) -> Iterator[tuple[Picture, bytes]]:
    """Yield all problems at a glance in two widths, each with its content as SVG."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    for name, inches in OVERVIEW_INCHES.items():
        with mpl.rc_context({"figure.figsize": (inches, inches)}), plt.ioff():
            figure = charts.overview(rows)
            picture = Picture(name, OVERVIEW, figure)
            content = svg(picture, "all")
            plt.close(figure)
        yield picture, content


def _figure(draw: Callable[..., None], *what: Any) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    draw(axes, *what)
    charts.dress(axes, own=True)
    return figure


def svg(picture: Picture, place: str) -> bytes:
    """Return a picture as SVG; `place` distinguishes those of one page."""
    import matplotlib as mpl

    stream = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": f"{place}-{picture.name}"}):  # reproducible files
        picture.figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def embedded(picture: Picture, content: bytes) -> dict[str, str]:
    """Return a picture with its content as a link, for the page."""
    data = base64.b64encode(content).decode()
    return {"caption": picture.caption, "source": f"data:image/svg+xml;base64,{data}"}
