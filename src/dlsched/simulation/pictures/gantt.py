"""The Gantt chart of a simulation as an interactive page: a file of its own, drawn on a canvas.

One rectangle per job and block of neighbouring GPUs, coloured by job. Bokeh draws the rectangles on
a canvas, finds the one under the pointer by a spatial index, and puts its scripts into the file, so
that the page needs no network.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from dlsched.display.drawing.colours import by_name, by_number
from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.schema.files import write_bytes
from dlsched.simulation.measures.metrics import frame
from dlsched.simulation.pictures.lanes import Stretch, stretches
from dlsched.simulation.run import Simulation

HEIGHTS = (240, 900)
"""The least and the greatest height of the chart, in pixels."""
PIXELS = 6
"""Height of one GPU before the chart is as high as allowed."""
DRAWN = 30_000
"""Rectangles up to which all are drawn while the chart moves; of more, a tenth at first."""
TIPS = (
    ("job", "@id"),
    ("GPUs", "@gpus"),
    ("server", "@server"),
    ("submitted", "@submit{0,0} s"),
    ("runs", "@left{0,0} s to @right{0,0} s"),
    ("waited before its first start", "@waited{0,0} s"),
)
"""What is shown of the job under the pointer."""


class Block(NamedTuple):
    """A job on neighbouring GPUs of one server: a rectangle.

    Attributes
    ----------
    top, bottom
        The first GPU, and the one after the last, counted through the servers.
    """

    job: int
    start: float
    end: float
    top: int
    bottom: int


def blocks(lanes: Iterable[Stretch], borders: Iterable[int]) -> list[Block]:
    """Join the stretches of neighbouring GPUs of one server that one job has at the same time.

    Parameters
    ----------
    borders
        The first GPU of every server.
    """
    first = set(borders)
    held: dict[tuple[int, float, float], list[int]] = defaultdict(list)
    for lane, start, end, job, _ in lanes:
        held[job, start, end].append(lane)
    joined = []
    for (job, start, end), numbers in held.items():
        numbers.sort()
        begins = [
            i for i, lane in enumerate(numbers) if lane - 1 != numbers[i - 1] or lane in first
        ]
        for i, j in pairwise([*begins, len(numbers)]):
            joined.append(Block(job, start, end, numbers[i], numbers[j - 1] + 1))
    return joined


def write_timeline(run: Simulation, path: str | Path, *, color_by: str = "job") -> None:
    """Write which job every GPU works for, over time, as an HTML page that can be zoomed.

    It is one file without external resources, of about 1.5 MB more than its data, and stays
    responsive with 10,000 jobs. For a picture in a text see
    `dlsched.simulation.pictures.charts.draw_timeline`.

    Parameters
    ----------
    color_by
        ``"job"``, or ``"gpus"``, the number that a job asked for.

    Raises
    ------
    OptionError
        If it cannot be coloured by that.
    ExtraMissing
        If bokeh is not installed.
    """
    if color_by not in ("job", "gpus"):
        raise OptionError(f"a timeline cannot be coloured by {color_by!r}, only by: job, gpus")
    require("bokeh", "an interactive chart")
    from bokeh.embed import file_html
    from bokeh.resources import INLINE

    title = f"{run.workload.name}: {run.meta['policy']}"
    page = file_html(_chart(run, title, color_by), INLINE, title)
    write_bytes(Path(path), page.encode())


def _chart(run: Simulation, title: str, color_by: str) -> Any:
    from bokeh.models import ColumnDataSource, HoverTool, NumeralTickFormatter
    from bokeh.plotting import figure

    servers = run.cluster.servers
    names, starts = [], [0]
    for server in servers:
        names.append(server.id)
        starts.append(starts[-1] + server.gpus)
    data = _columns(run, starts, names, color_by)
    least, most = HEIGHTS
    chart = figure(
        title=title,
        height=min(most, max(least, 90 + PIXELS * starts[-1])),
        sizing_mode="stretch_width",
        x_axis_label="seconds",
        y_axis_label="GPUs, by server",
        x_range=(0.0, max(data["right"], default=1.0)),
        y_range=(float(starts[-1]), 0.0),
        tools="xpan,xwheel_zoom,box_zoom,zoom_in,zoom_out,reset,save",
        active_scroll="xwheel_zoom",
        active_drag="xpan",
        lod_threshold=DRAWN,
    )
    chart.quad(
        left="left",
        right="right",
        top="top",
        bottom="bottom",
        fill_color="colour",
        line_color=None,
        source=ColumnDataSource(data),
    )
    chart.add_tools(HoverTool(tooltips=list(TIPS)))
    every = max(1, len(servers) // 30)
    ticks = starts[:-1][::every]
    chart.yaxis.ticker = ticks
    chart.yaxis.major_label_overrides = dict(zip(ticks, names[::every], strict=True))
    chart.xaxis.formatter = NumeralTickFormatter(format="0,0")
    chart.grid.grid_line_alpha = 0.4
    return chart


def _columns(
    run: Simulation, starts: list[int], names: list[str], color_by: str
) -> dict[str, list[Any]]:
    """Return the rectangles as columns; times in seconds."""
    jobs = run.jobs
    own = run.workload.jobs
    by_job = color_by == "job"
    colouring = by_name([j.id for j in own]) if by_job else by_number([j.gpus for j in own])
    colours = colouring.colours
    waited = (jobs["start"] - jobs["submit"]).tolist()
    lanes = stretches(run.cluster.servers, frame(run.log, "segments"))
    server_of = [name for i, name in enumerate(names) for _ in range(starts[i + 1] - starts[i])]
    rows = sorted(blocks(lanes, starts), key=lambda block: (block.start, block.top))
    return {
        "left": [block.start for block in rows],
        "right": [block.end for block in rows],
        "top": [block.top for block in rows],
        "bottom": [block.bottom for block in rows],
        "colour": [colours[block.job] for block in rows],
        "id": [own[block.job].id for block in rows],
        "gpus": [own[block.job].gpus for block in rows],
        "server": [server_of[block.top] for block in rows],
        "submit": [float(own[block.job].submit) for block in rows],
        "waited": [waited[block.job] for block in rows],
    }
