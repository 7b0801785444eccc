"""The Gantt chart of a simulation as an interactive page: a file of its own, drawn on a canvas.

One rectangle per job and block of neighbouring GPUs, coloured by job. Bokeh draws the rectangles on
a canvas, finds the one under the pointer by a spatial index, and puts its scripts into the file, so
that the page needs no network.
"""

from pathlib import Path
from typing import Any

import numpy as np

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
    data = _rectangles(run, starts, names, color_by)
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


def _rectangles(
    run: Simulation, starts: list[int], names: list[str], color_by: str
) -> dict[Any, list[Any]]:
    """Return the rectangles as columns; times in seconds.

    Neighbouring GPUs of one server that one job has at the same time are one rectangle.
    """
    import pandas as pd

    held = stretches(run.cluster.servers, frame(run.log, "segments"))
    lanes = pd.DataFrame(held, columns=Stretch._fields)
    same = ["job", "start", "end"]
    lanes = lanes.reset_index(names="order").sort_values([*same, "lane"], kind="stable")
    before = lanes.shift()
    joined = (lanes[same] == before[same]).all(axis=1) & (lanes["lane"] == before["lane"] + 1)
    lanes["block"] = (~joined | lanes["lane"].isin(starts)).cumsum()
    blocks = lanes.groupby("block").agg(
        left=("start", "first"),
        right=("end", "first"),
        top=("lane", "first"),
        bottom=("lane", "last"),
        job=("job", "first"),
        order=("order", "min"),
    )
    blocks["bottom"] += 1
    blocks = blocks.sort_values(["left", "top", "order"])
    jobs = run.jobs
    by_job = color_by == "job"
    colouring = by_name(jobs["id"].tolist()) if by_job else by_number(jobs["gpus"].tolist())
    jobs = jobs.assign(colour=colouring.colours, waited=jobs["start"] - jobs["submit"])
    shown = jobs[["colour", "id", "gpus", "submit", "waited"]]
    blocks["server"] = [names[i - 1] for i in np.searchsorted(starts, blocks["top"], side="right")]
    return blocks.join(shown, on="job").drop(columns=["job", "order"]).to_dict("list")
