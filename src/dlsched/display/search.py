"""`plot_search`: the best solution and the bound of a search over its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlsched.display.charts import dress
from dlsched.display.drawing.colours import ACCENT
from dlsched.display.drawing.legend import finish
from dlsched.display.drawing.style import new_axes, require_axes, set_labels, styled
from dlsched.errors import OptionError
from dlsched.extras import require
from dlsched.results.objective import TOLERANCE, Level
from dlsched.results.result import Point, Result
from dlsched.results.summary import solution_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BOUND = "#0072b2"


@styled
def plot_search(result: Result, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw the objective of the best solution and the bound over the seconds of a search.

    The band between the two is the gap that is left; where they meet, the solution is proved
    optimal. Of several levels the first is drawn.

    Parameters
    ----------
    result
        A result with a trajectory, as exact methods that search return it.
    title
        The title; by default instance, method and objective.

    Raises
    ------
    OptionError
        If it is no result, or its method has recorded nothing, or values of several levels.
    """
    require("matplotlib.pyplot", "drawing")
    require_axes(ax)
    if not isinstance(result, Result):
        raise OptionError(
            f"plot_search cannot draw {type(result).__name__}: give what dlsched.solve returned"
        )
    first = result.bound.levels[0]
    seconds, best, bound = _curves(result.trajectory, first)
    if not len(seconds):
        raise OptionError(
            f"{result.method} recorded no objective and no bound of {result.instance} on its way: "
            f"plot_search needs a search that lasts, as that of placement's refinement or "
            f"interleaving's column_generation"
        )
    if len(result.bound.levels) > 1 and not _of_first_level(result):
        raise OptionError(
            f"{result.method} recorded values of several levels of {result.instance} on its way, "
            f"and they are not comparable: plot_search draws a search of the first level only"
        )
    axes = new_axes(2.6) if ax is None else ax
    end = max(float(seconds[-1]), result.seconds.total)
    seconds = np.append(seconds, end)
    best, bound = (np.append(values, values[-1]) for values in (best, bound))
    look: dict[str, Any] = {"drawstyle": "steps-post", "linewidth": 1.6}
    known = ~(np.isnan(best) | np.isnan(bound))
    if known.any():
        band: dict[str, Any] = {"color": "0.9", "linewidth": 0, "label": "gap"}
        axes.fill_between(seconds, best, bound, where=known, step="post", **band)
    axes.plot(seconds, best, color=ACCENT, label="best solution", **look)
    if not np.isnan(bound).all():
        axes.plot(seconds, bound, color=_BOUND, linestyle="--", label="bound", **look)
    axes.set_xlim(0, end or 1)
    axes.margins(y=0.08)
    set_labels(axes, "seconds", first.name)
    dress(axes, own=ax is None)
    worth = solution_text(result.method, result.objective)
    said = f"{result.instance}; {worth}; {result.status}"
    finish(axes, said if title is None else title, (), own=ax is None)
    return axes


def _of_first_level(result: Result) -> bool:
    """Whether all that was recorded can be of the first level.

    No objective is better than the final one there, which is the last recorded, and no bound is
    worse than it.
    """
    if result.objective is None:
        return False
    level = result.bound.levels[0]
    final = float(result.objective[0])
    slack = TOLERANCE * max(1.0, abs(final))
    towards = 1 if level.sense == "max" else -1
    best = [point.objective for point in result.trajectory if point.objective is not None]
    bounds = [point.bound for point in result.trajectory if point.bound is not None]
    return (
        all(towards * (value - final) <= slack for value in best)
        and all(towards * (value - final) >= -slack for value in bounds)
        and bool(best)
        and abs(best[-1] - final) <= slack
    )


def _curves(
    points: Sequence[Point], level: Level
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return seconds, and the best objective and bound so far, NaN where there is nothing yet."""
    kept = [p for p in points if p.objective is not None or p.bound is not None]
    seconds = np.array([p.seconds for p in kept], dtype=float)
    best, bound = (
        np.array([np.nan if value is None else value for value in values], dtype=float)
        for values in ([p.objective for p in kept], [p.bound for p in kept])
    )
    low, high = np.fmin.accumulate, np.fmax.accumulate
    better, tighter = (low, high) if level.sense == "min" else (high, low)
    return (seconds, better(best), tighter(bound)) if kept else (seconds, best, bound)
