"""`plot` and `plot_comparison`: pictures of instances, solutions and results, and of tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dlsched import library, registry
from dlsched.display import charts, quality
from dlsched.display.drawing.legend import finish
from dlsched.display.drawing.style import new_axes, require_axes, set_title, styled
from dlsched.display.standard import standard_draw
from dlsched.display.table import strongest
from dlsched.errors import InstanceError, OptionError, spelled
from dlsched.extras import require
from dlsched.registry import Problem
from dlsched.results import performance_profiles as profiles
from dlsched.results.objective import closed, gap
from dlsched.results.performance_profiles import Row
from dlsched.results.result import Result
from dlsched.schema.envelope import Instance, linked_instance
from dlsched.schema.files import read_json
from dlsched.schema.solution import Solution
from dlsched.text.figures import percent

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


_GAPS = ("gaps", "gap_profile", "quality", "gap_by_size")
"""The kinds of pictures of gaps."""


@styled
def plot(
    x: Instance | Solution | Result,
    ax: Axes | None = None,
    *,
    instance: Instance | None = None,
    title: str | None = None,
    color_by: str | None = None,
) -> Axes:
    """Draw an instance, alone or with a solution.

    A new figure is as wide as matplotlib's setting ``figure.figsize``; its height follows from what
    is drawn. Large instances are drawn whole, as maps or counts, which the picture says.

    Parameters
    ----------
    x
        An instance, a solution, or a result. A result without a solution shows the instance.
    instance
        The instance of a solution. What `solve` returns knows its instance, and instances of the
        library are found.
    title
        The title; by default name, size and objective.
    color_by
        What the colours mean, as ``"job"``; which values are possible depends on the problem and
        on the size. Each value has its colour whatever the solution is.

    Raises
    ------
    InstanceError
        If a solution's instance is not known, or is another one, or it names what the instance
        does not have. Other infeasible solutions are drawn, and the title says what is wrong.
    OptionError
        If `x` is nothing that can be drawn, or not on `ax`; the problem has no picture, or it
        cannot be coloured by that; the message lists what is possible.
    """
    require("matplotlib.pyplot", "drawing")
    require_axes(ax)
    if instance is not None and not isinstance(instance, Instance):
        raise OptionError(
            f"instance: {type(instance).__name__} is no instance: give what dlsched.load returns"
        )
    solution = x if isinstance(x, Solution) else getattr(x, "solution", None)
    drawn = x if isinstance(x, Instance) else instance_of(x, instance)
    owner = registry.problem(drawn.problem)
    draw = draw_function(owner)
    options: dict[str, Any] = {"ax": ax}
    if color_by is not None:
        options["color_by"] = color_by
    parameters = inspect.signature(draw).parameters
    if "color_by" in options and "color_by" not in parameters:
        raise OptionError(f"color_by={spelled(color_by)}: {owner.name}'s draw has no color_by")
    axes = drawn_by(owner, draw, drawn, solution, options)
    if title is not None:
        set_title(axes, title)
    elif solution is not None and not isinstance(x, Instance):
        words = standing(x, owner, drawn)
        if words:
            said = " ".join(axes.get_title(loc="left").replace(r"\$", "$").split())
            finish(axes, f"{said}; {words}", (), own=ax is None)
    return axes


def standing(x: Solution | Result, owner: Problem, instance: Instance) -> str:
    """Return how far a solution is from the best bounds known, in words, or why it is none.

    Empty if no bound is known, and for results of a variant, whose objective is another one.
    """
    if isinstance(x, Result):
        if x.variant is not None or x.objective is None:
            return ""
        objective = x.objective
        bounds = [x.bound]
    else:
        report = owner.check(instance, x)
        if not report or report.objective is None:
            first = report.violations[0]
            return f"not feasible: {first.where}: {first.message}"
        objective = report.objective
        bounds = []
    recorded = library.best_bounds(instance.sha256)
    if recorded is not None and recorded.levels == objective.levels:
        bounds.append(recorded)
    if not bounds:
        return ""
    best = strongest(bounds)
    if closed(objective, best):
        return "optimal"
    gaps = gap(objective, best)
    stated = [(level.name, value) for level, value in gaps.pairs() if value is not None]
    if not stated or not stated[-1][1]:
        return ""
    level, value = stated[-1]
    return f"gap of {level} {percent(value)}"


def drawn_by(
    owner: Problem, draw: Callable[..., Any], instance: Instance, solution: Any, options: Any
) -> Axes:
    """Call a problem's draw; it need not cope with solutions that name what does not exist."""
    try:
        axes: Axes = draw(instance, solution, **options)
    except (LookupError, ValueError, TypeError) as error:
        report = owner.check(instance, solution) if solution is not None else None
        if isinstance(error, OptionError) or report is None or report.feasible:
            raise
        first = report.violations[0]
        remedy = "only solutions whose names all exist can be drawn"
        raise InstanceError("the solution", first.where, first.message, remedy) from error
    return axes


def instance_of(x: Any, given: Instance | None) -> Instance:
    """Return the instance of a solution or a result."""
    if not isinstance(x, (Solution, Result)):
        raise OptionError(
            f"plot cannot draw {type(x).__name__}: give an instance, a solution or a result, as "
            f"dlsched.plot(dlsched.load(...))"
        )
    what = "the solution" if isinstance(x, Solution) else "the result"
    digest = x.instance_sha256
    parts = filter(None, (x, getattr(x, "solution", None)))
    links = filter(None, map(linked_instance, parts))
    instance = given or next(links, None)
    owner = registry.problem(x.problem)
    if instance is None and digest and (name := library.name_of(digest)):
        instance = owner.instance.parse(read_json(library.instance_file(name)), name)
    if instance is None:
        known = f'"{x.instance}"' if x.instance else "which is not named"
        problem = f"is {known}, and is not in the library"
        remedy = "pass the instance: dlsched.plot(solution, instance=...)"
        raise InstanceError(what, "instance", problem, remedy)
    if instance.problem != x.problem or digest not in (None, instance.sha256):
        problem = f"is not the instance given, {instance.name}"
        remedy = "pass the instance that it was made for"
        raise InstanceError(what, "instance", problem, remedy)
    return instance


def draw_function(owner: Problem) -> Callable[..., Any]:
    """Return a problem's function that draws, or say that it has none."""
    if not owner.has_module("draw"):
        if owner.cells is not None:
            return standard_draw(owner, owner.cells)
        raise OptionError(
            f"the problem {owner.name} has no picture: PROBLEM has no cells, and its package "
            f"{owner.package} no module draw with a function draw(instance, solution=None, ax=None)"
        )
    draw: Callable[..., Any] = owner.module("draw").draw
    return draw


@styled
def plot_comparison(
    table: pandas.DataFrame,
    kind: str = "gaps",
    ax: Axes | None = None,
    *,
    level: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw methods side by side.

    Parameters
    ----------
    table
        What `dlsched.compare` returned, or a sweep's ``runs.csv``; of one problem.
    kind
        ``"gaps"``: the distribution of the gaps by method. ``"quality"``: gap against
        seconds, a point with quartiles for each method. ``"gap_profile"``: the share of the runs
        within each gap. ``"profile"``: performance profile of the time to proof, of exact methods.
        ``"time"`` and ``"gap_by_size"``: seconds and gaps against the instance's size, the median
        and the quartiles of the seeds.
    level
        The level of the gaps. By default a run's gap is its ``gap_to_best``: that of its first
        level that is not at the best bound known.
    title
        The title; none by default.

    Raises
    ------
    OptionError
        If there is no such kind or level, the table has a column or a problem too few or too many,
        or no run to draw.
    """
    require("matplotlib.pyplot", "drawing")
    require_axes(ax)
    needed = ["at_optimum"] if kind in _GAPS else []
    rows = charts.rows_of(table, "plot_comparison", *needed)
    owner = _one_problem(rows)
    levels = [entry.name for entry in owner.levels]
    if level not in (None, *levels):
        raise OptionError(f"level={spelled(level)}: {owner.name} has {', '.join(levels)}")
    if len(levels) == 1:
        level = levels[0]
    drawings = {
        "gaps": lambda on: charts.draw_gap_distribution(on, rows, level),
        "quality": lambda on: quality.draw_quality(on, rows, owner, level),
        "gap_profile": lambda on: charts.draw_gap_profile(
            on, profiles.gap_profile(rows, level), level
        ),
        "profile": lambda on: charts.draw_time_profile(on, profiles.time_profile(rows)),
        "time": lambda on: charts.draw_time_by_size(on, rows, owner.size),
        "gap_by_size": lambda on: quality.draw_gap_by_size(on, rows, owner.size, level),
    }
    if kind not in drawings:
        raise OptionError(f"kind={spelled(kind)}: write one of {', '.join(drawings)}")
    _require_data(kind, rows, owner, level)
    new_figure = ax is None
    if ax is None:
        methods = len(profiles.by_label(rows))
        ax = new_axes(0.75 + 0.33 * methods if kind == "gaps" else 2.6)
    drawings[kind](ax)
    charts.dress(ax, own=new_figure)
    if title is not None:
        finish(ax, title, (), own=new_figure)
    return ax


def _one_problem(rows: Sequence[Row]) -> Problem:
    names = sorted({str(row["problem"]) for row in rows})
    if len(names) != 1:
        has = f"rows of {' and '.join(names)}" if names else "no rows"
        raise OptionError(
            f"plot_comparison draws one problem, and the table has {has}: choose one, as "
            f"table[table.problem == {names[0] if names else 'reclaiming'!r}]"
        )
    return registry.problem(names[0])


def _require_data(kind: str, rows: Sequence[Row], owner: Problem, level: str | None) -> None:
    """Raise if no run can be in the picture, saying what would be needed."""
    if kind in _GAPS and not profiles.gaps_of(rows, level):
        of_level = f" of {level}" if level else ""
        raise OptionError(f"no run has a gap{of_level}: {charts.no_bound(owner)}")
    exact = {profiles.label_of(row) for row in rows if profiles.proves(row)}
    if kind == "profile" and len(exact) < 2:
        raise OptionError(
            f"a profile compares exact methods, and the table has "
            f"{'only ' + ', '.join(exact) if exact else 'none'}: give runs of two or more"
        )
    if kind == "profile" and not any(profiles.ending(row) == "proven" for row in rows):
        raise OptionError("no run is proven optimal, so there is no profile: raise the time limit")
    values = {"time": profiles.seconds_of, "gap_by_size": lambda row: profiles.gap_of(row, level)}
    if kind in values and not profiles.sizes_and(rows, values[kind])[0]:
        what = "seconds" if kind == "time" else "gap_to_best"
        raise OptionError(f"no run has both size and {what}: give a table that has these columns")
