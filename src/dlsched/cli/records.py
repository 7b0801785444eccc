"""The files that ``dlsched simulate`` writes of a simulation besides its log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from typer import Option

from dlsched.cli.exits import put_note
from dlsched.cli.progress import say
from dlsched.cli.settings import target
from dlsched.display.drawing.files import FORMATS, picture_bytes
from dlsched.extras import require
from dlsched.run import Stage
from dlsched.schema.files import validate_target, write_bytes
from dlsched.simulation import Simulation, write_timeline
from dlsched.simulation.pictures.charts import draw_timeline
from dlsched.simulation.swf import BEGIN, moment, write_swf

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Outputs:
    """Files to write besides the log."""

    swf: Path | None = Option(
        None, metavar="FILE", help="Write it in the Standard Workload Format."
    )
    timeline: Path | None = Option(
        None,
        metavar="FILE",
        help="Draw every GPU over time: .html, that can be zoomed, .svg, .pdf or .png.",
    )
    begin: str = Option(BEGIN, metavar="TIME", help="Time 0 in --swf, UTC.")

    def require_usable(self) -> None:
        """Refuse what cannot be written, before the simulation.

        Raises
        ------
        OptionError
            Naming the file or the time.
        ExtraMissing
            If the library of a picture is not installed.
        """
        moment(self.begin)
        if self.swf is not None:
            validate_target(self.swf)
        if self.timeline is not None:
            target(self.timeline, ".html", *(f".{form}" for form in FORMATS))
            if self.timeline.suffix == ".html":
                require("bokeh", "an interactive chart")
            else:
                require("matplotlib", "drawing")

    def write(self, run: Simulation) -> None:
        """Write the files; what a record cannot say of the simulation is noted on stderr."""
        if self.swf is not None:
            say(Stage.BUILDING, str(self.swf))
            for note in write_swf(run, self.swf, begin=self.begin):
                put_note(note)
        if self.timeline is not None:
            say(Stage.BUILDING, str(self.timeline))
            _draw(run, self.timeline)


def _draw(run: Simulation, path: Path) -> None:
    """Write the Gantt chart as a page, or as a picture."""
    if path.suffix == ".html":
        write_timeline(run, path)
        return
    mpl = require("matplotlib", "drawing")
    mpl.use("agg")
    axes = draw_timeline(run)
    write_bytes(path, picture_bytes(cast("Figure", axes.figure), path.suffix[1:], "white"))
