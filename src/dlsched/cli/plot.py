"""``dlsched plot``: the picture of an instance, with a solution or without."""

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from typer import Argument, Option

from dlsched import api
from dlsched.cli.exits import put_note
from dlsched.cli.options import InstanceName
from dlsched.cli.output import Answer, written
from dlsched.cli.progress import say
from dlsched.cli.settings import target
from dlsched.display.drawing.files import FORMATS, picture_bytes
from dlsched.display.drawing.style import WIDTHS
from dlsched.display.plotting import plot as plot_on_axes
from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.run import Stage
from dlsched.schema.files import write_bytes
from dlsched.text.figures import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(
    *,
    instance: InstanceName,
    output: Path = Option(
        ..., "--output", "-o", metavar="FILE", help="A .pdf, .svg or .png file to write."
    ),
    solution: str | None = Argument(None, metavar="[SOLUTION]", help="A .json or .json.gz file."),
    solution_option: str | None = Option(
        None, "--solution", "-s", metavar="FILE", help="The same, as an option."
    ),
    width: Literal["single", "double"] = Option(
        "double", help="For one column of a paper, 3.3 inches, or for two, 7 inches."
    ),
    style: Literal["paper"] | None = Option(None, help="A font like those of papers."),
    color_by: str | None = Option(
        None, metavar="NAME", help="What colours mean, as job or status."
    ),
    title: str | None = Option(None, metavar="TEXT", help="Instead of our title."),
    background: Literal["white", "plate", "transparent"] = Option(
        "white", help="A plate is white with round corners, for dark pages."
    ),
) -> Answer:
    """Draw an instance, with a solution or without."""
    target(output, *(f".{form}" for form in FORMATS))
    if solution is not None and solution_option is not None:
        raise OptionError("the solution is given twice; give it once")
    say(Stage.LOADING, instance)
    inst = api.load(instance)
    given = solution if solution is not None else solution_option
    sol = api.load_solution(given, inst.problem) if given is not None else None
    say(Stage.BUILDING, f"the picture of {inst.name}")
    mpl = require("matplotlib", "drawing")
    mpl.use("agg")
    with (
        mpl.rc_context({"figure.figsize": (WIDTHS[width], WIDTHS[width])}),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        axes = plot_on_axes(
            inst if sol is None else sol,
            instance=None if sol is None else inst,
            title=title,
            color_by=color_by,
            style=style and ("paper" if width == "single" else "paper-wide"),
        )
        picture = picture_bytes(cast("Figure", axes.figure), output.suffix[1:], background)
    write_bytes(output, picture)
    _note(caught)
    return written([output])


def _note(caught: Sequence[warnings.WarningMessage]) -> None:
    """Say once which letters the font does not have; matplotlib warns for each, several times."""
    said = [str(warning.message) for warning in caught]
    matches = [re.search(r"^Glyph (\d+) .* missing from", text) for text in said]
    lacking = dict.fromkeys(chr(int(match[1])) for match in matches if match)
    others = dict.fromkeys(text for text, match in zip(said, matches, strict=True) if not match)
    for text in others:
        put_note(f"matplotlib: {text}")
    if lacking:
        letters = shorten(" ".join(lacking), 60)
        put_note(
            f"the font has no picture of {letters}: name one that has as font.family in "
            f"matplotlibrc"
        )
