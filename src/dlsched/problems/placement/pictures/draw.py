"""Picture of placement: which regions read which tables; more pictures are in `charts`."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.colours import (
    BAD,
    EDGE,
    IDLE,
    SAME_LABEL,
    Differences,
    choose,
    mix,
)
from dlsched.display.drawing.labels import box_label, bytes_text
from dlsched.display.drawing.legend import entry, finish, idle_entry
from dlsched.display.drawing.style import TEXT, ink, new_axes, set_labels, short_name
from dlsched.problems.placement.definition.check import check, moved
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.problems.placement.pictures.supply_and_moves import draw_moves, draw_supply
from dlsched.results.summary import solution_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "draw_moves", "draw_supply"]

COLOR_BY = ("bytes", "jobs", "gpu_hours")
"""What a cell counts: bytes read, jobs that read, GPU hours of these jobs."""
_NAMED = 40
"""Up to this number of tables, each has a row; more are summed by their home."""
_ACROSS = {"bytes": " read", "jobs": "", "gpu_hours": " of reads"}
_NOWHERE = "no region"
_LEAST = 0.05
"""Smaller numbers are not written."""
_HERE = "#0072b2"
_SAME_HOME = "#b9c0c9"
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


class _Map(NamedTuple):
    """A row for each table, or for each home; a column for each region that reads, or for none."""

    values: NDArray[Any]
    homes: list[int]
    rows: list[str]
    columns: list[str]


def draw(
    instance: Instance,
    solution: Solution | None = None,
    ax: Axes | None = None,
    *,
    color_by: str | None = None,
    other: Solution | None = None,
) -> Axes:
    """Draw a map of tables by regions: how many bytes the jobs of a region read of a table.

    Reads in a table's home are blue, reads from another region orange; the home is framed. Jobs
    without a region read everything from another one. More than 40 tables are summed by home.

    Parameters
    ----------
    solution
        A feasible solution; by default the homes of today.
    ax
        Axes to draw on; those of a new figure by default.
    color_by
        One of `COLOR_BY`, ``"bytes"`` by default.
    other
        A solution to compare with: tables with the same home in both are grey, unless the tables
        are summed.

    Raises
    ------
    OptionError
        If a cell cannot count that.
    """
    chosen = choose(color_by, COLOR_BY, COLOR_BY[0], instance.problem)
    index = instance.region_index
    home = {t.id: index[t.home] for t in instance.tables if t.home is not None}
    if solution:
        home = {table: index[region] for table, region in solution.home.items()}
    cells = _read(instance, home, chosen)
    standalone = ax is None
    if ax is None:
        ax = new_axes((0.19 if len(cells.rows) <= 16 else 0.14) * max(2, len(cells.rows)) + 1.55)
    summed = len(instance.tables) > _NAMED
    kept = set(cells.rows)
    if solution is not None and other is not None and not summed:
        kept = set(differing(instance, solution, other).names)
    unit = _paint(ax, cells, chosen, kept)
    many = f" (all {len(instance.tables):,} tables, summed by home)" * summed
    set_labels(ax, f"region that reads{many}; {unit}", "home" if summed else "table")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    who = "today"
    if solution is not None:
        who = solution_text(solution.method, check(instance, solution).objective)
    away = _away(cells)
    total = float(cells.values.sum())
    share = f" ({100 * away / total:.3g} %)" if total else ""
    size = f"{len(instance.tables):,} tables, {len(instance.jobs):,} jobs"
    across = f"{_amount(away, chosen)}{share}{_ACROSS[chosen]} across regions"
    text = f"{instance.name}: {size}; {who}; {across}"
    if solution:
        text += f", {bytes_text(float(moved(instance, home)))} of tables moved"
    read = {
        cells.homes[row] == column
        for row, column in zip(*np.nonzero(cells.values), strict=True)
        if cells.rows[row] in kept
    }
    entries = [entry("read in the table's home", _HERE)] if True in read else []
    entries += [entry("read from another region", BAD)] if False in read else []
    entries.append(entry("home", "none", edgecolor=ink(), linewidth=1.4))
    entries += [idle_entry("not read")] if not cells.values.all() else []
    if len(kept) < len(cells.rows):
        entries.append(entry(SAME_LABEL, _SAME_HOME))
    finish(ax, text, entries, own=standalone)
    return ax


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the tables that have different homes in two solutions."""
    tables = {t.id for t in instance.tables if a.home.get(t.id) != b.home.get(t.id)}
    return Differences(tables, f"{len(tables):,} of {len(instance.tables):,} tables", "home")


def _read(instance: Instance, home: Mapping[str, int], color_by: str) -> _Map:
    """Return what the jobs of each region read of each table, or of each home's tables."""
    regions = [region.id for region in instance.regions]
    away = len(regions)
    values = np.zeros((len(instance.tables), away + 1))
    for job in instance.jobs:
        region = instance.region_of(job, home)
        column = away if region is None else region
        for name in job.tables:
            t = instance.table_index[name]
            amount = {
                "bytes": float(instance.tables[t].size),
                "jobs": 1.0,
                "gpu_hours": float(sum(job.gpu_hours.values())),
            }[color_by]
            values[t, column] += amount
    homes = [home.get(table.id, away) for table in instance.tables]
    names = [*regions, _NOWHERE]
    rows = [table.id for table in instance.tables]
    if len(rows) > _NAMED:
        counts = np.bincount(homes, minlength=away + 1)
        values = np.array([values[np.array(homes) == r].sum(axis=0) for r in range(away + 1)])
        kept = [r for r in range(away + 1) if counts[r] or r < away]
        rows = [f"{short_name(names[r], 12)} ({counts[r]:,})" for r in kept]
        values = values[kept]
        homes = kept
    if not values[:, away].any():
        values = values[:, :away]
        names = names[:away]
    return _Map(values, homes, rows, names)


def _away(cells: _Map) -> float:
    """Return the sum of what is not read in the tables' homes."""
    here = sum(
        cells.values[row, r] for row, r in enumerate(cells.homes) if r < cells.values.shape[1]
    )
    return float(cells.values.sum() - here)


def _amount(value: float, color_by: str) -> str:
    if color_by == "bytes":
        return bytes_text(value)
    return f"{value:,.0f} {'reads' if color_by == 'jobs' else 'GPU hours'}"


def _paint(ax: Axes, cells: _Map, color_by: str, kept: Container[str]) -> str:
    """Draw the cells with their numbers; return what the numbers are.

    Parameters
    ----------
    kept
        The rows with colours; others are grey.
    """
    from matplotlib.patches import Rectangle

    high, wide = cells.values.shape
    most = float(cells.values.max(initial=0)) or 1.0
    step = 0
    if color_by == "bytes":
        while most / 1000**step >= 1000 and step < len(_PREFIXES) - 1:
            step += 1
    for row in range(high):
        for column in range(wide):
            value = float(cells.values[row, column])
            at_home = cells.homes[row] == column
            strong = (_HERE if at_home else BAD) if cells.rows[row] in kept else _SAME_HOME
            fill = mix(IDLE, strong, 0.12 + 0.88 * value / most) if value else IDLE
            box = (column - 0.46, row - 0.42, 0.92, 0.84)
            look: dict[str, Any] = {"edgecolor": EDGE, "linewidth": 0.5}
            if at_home:
                look = {"edgecolor": ink(), "linewidth": 1.6, "zorder": 3}
            ax.add_patch(Rectangle(box[:2], *box[2:], facecolor=fill, **look))
            if value / 1000**step >= _LEAST:
                box_label(ax, box, _short(value / 1000**step), fill, turn=False)
    ax.set_xlim(-0.55, wide - 0.45)
    ax.set_ylim(high - 0.45, -0.55)
    limit = 14 if wide <= 4 else 7
    names = ["no\nregion" if n == _NOWHERE else short_name(n, limit) for n in cells.columns]
    ax.set_xticks(range(wide), names, fontsize=TEXT)
    ax.set_yticks(range(high), [short_name(name, 18) for name in cells.rows], fontsize=TEXT)
    unit = {"jobs": "jobs that read", "gpu_hours": "GPU hours of the jobs that read"}
    words = unit.get(color_by) or "bytes read" + (f", in {_PREFIXES[step]}B" if step else "")
    small = (cells.values > 0) & (cells.values / 1000**step < _LEAST)
    return f"cells: {words}" + (" (no number: below 0.1)" if small.any() else "")


def _short(value: float) -> str:
    """Return a number of up to three digits."""
    return f"{value:,.0f}" if value >= 9.95 or value == int(value) else f"{value:.1f}"
