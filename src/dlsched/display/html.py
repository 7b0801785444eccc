"""Instances, solutions and results in a notebook: their text, and a picture."""

import base64
import logging
from html import escape
from typing import Any

from dlsched.display.drawing.files import picture_bytes
from dlsched.display.markup import lines_html
from dlsched.display.plotting import plot
from dlsched.extras import require
from dlsched.results.result import Result
from dlsched.schema.content import entries
from dlsched.schema.envelope import Instance
from dlsched.schema.instance_link import linked_instance
from dlsched.schema.solution import Solution
from dlsched.text.figures import printable
from dlsched.text.rendering import html, summary

logger = logging.getLogger(__name__)

MOST_ENTRIES = 5000
"""Instances whose lists have more entries are shown without a picture. Up to here it takes about
0.3 seconds at most, and at its first time the import of matplotlib."""
_INCHES = 5.5


@html.register(Instance)
@html.register(Solution)
@html.register(Result)
def pictured(shown: Instance | Solution | Result) -> str:
    """Return the short text, of a result its summary, and a picture if the instance is known."""
    return lines_html(*summary(shown).splitlines()) + _picture(shown)


def _picture(shown: Instance | Solution | Result) -> str:
    """Return a picture as an ``img`` element.

    Empty if matplotlib is missing, a solution's instance is not known, or it is too large.
    """
    instance = shown if isinstance(shown, Instance) else linked_instance(shown)
    if instance is None or entries(instance) > MOST_ENTRIES:
        return ""
    try:
        content = _svg(shown, instance)
    except Exception:  # a picture is an extra: whatever fails in it must not hide the tables
        logger.debug("no picture of %s", instance.name, exc_info=True)
        return ""
    data = base64.b64encode(content).decode("ascii")
    style = "max-width:100%;height:auto;background:none"
    name = escape(f"picture of {printable(instance.name)}"[:200])
    return f'<img alt="{name}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def _svg(shown: Instance | Solution | Result, instance: Instance) -> bytes:
    """Return the picture on a white plate, as legible on a dark page as on a light one."""
    mpl, plt = require("matplotlib", "drawing"), require("matplotlib.pyplot", "drawing")
    open_before = plt.get_fignums()
    if not open_before:  # a notebook's backend sets itself up once, which rc_context would undo
        plt.switch_backend(mpl.get_backend())
    with mpl.rc_context({"figure.figsize": (_INCHES, 3.0)}), plt.ioff():
        try:
            axes = plot(shown, instance=None if shown is instance else instance)
            figure: Any = axes.figure
            return picture_bytes(figure, "svg", "plate")
        finally:
            for number in set(plt.get_fignums()) - set(open_before):
                plt.close(number)  # else the notebook shows the figure once more
