"""Picture of placement: which regions read which tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.display.drawing.cells import Mark, Owner, Picture, Piece
from dlsched.display.drawing.colours import (
    BAD,
    IDLE,
    SAME_LABEL,
    Differences,
    Look,
    differences,
    mix,
)
from dlsched.display.drawing.frame import View, framed
from dlsched.display.drawing.style import ink, short_name
from dlsched.problems.placement.definition.check import check, moved
from dlsched.problems.placement.definition.schema import Instance, Solution

COLOR_BY = ("bytes", "jobs", "gpu_hours")
"""What a cell counts: bytes read, jobs that read, GPU hours of these jobs."""
_NAMED = 40
"""Up to this number of tables, each has a row; more are summed by their home."""
_ACROSS = {"bytes": " read", "jobs": "", "gpu_hours": " of reads"}
_UNITS = {"bytes": "bytes read", "jobs": "jobs that read", "gpu_hours": "GPU hours of the reads"}
_LEAST = 0.05
"""Smaller numbers are not written."""
_HERE = Look("#0072b2", "read in the table's home")
_AWAY = Look(BAD, "read from another region")
_NONE = Look(IDLE, "not read")
_SAME_HOME = Look("#b9c0c9", SAME_LABEL)
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the tables that have different homes in two solutions."""
    tables = [table.id for table in instance.tables]
    return differences(tables, a.home, b.home, "home", what="tables")


@framed(check, differing)
def draw(instance: Instance, solution: Solution | None, view: View) -> Picture:
    """Draw a map of tables by regions: how many bytes the jobs of a region read of a table.

    Reads in a table's home are blue, reads from another region orange; the home is framed. Jobs
    without a region read everything from another one. More than 40 tables are summed by home, and
    then not compared with `other`. Without a solution the homes are those of today.
    """
    color_by = view.choose(COLOR_BY, COLOR_BY[0])
    index = instance.region_index
    home = {t.id: index[t.home] for t in instance.tables if t.home is not None}
    if solution:
        home = {table: index[region] for table, region in solution.home.items()}
    values = _read(instance, home, color_by)
    away = len(instance.regions)
    columns = [region.id for region in instance.regions]
    homes = [home.get(table.id, away) for table in instance.tables]
    names = [table.id for table in instance.tables]
    summed = len(names) > _NAMED
    if summed:
        homes, names, values = _by_home(homes, columns, values)
    total = float(values.sum())
    across = total - float(sum(values[row, r] for row, r in enumerate(homes) if r < away))
    share = f" ({100 * across / total:.3g} %)" if total else ""
    more = f"; {_amount(across, color_by)}{share}{_ACROSS[color_by]} across regions"
    if solution:
        more += f", {_bytes(float(moved(instance, home)))} of tables moved"
    if values[:, away].any():
        columns.append("no\nregion")
    most = float(values.max(initial=0)) or 1.0
    step = (len(f"{most:.0f}") - 1) // 3 if color_by == "bytes" else 0
    unit = _UNITS[color_by] + f", in {_PREFIXES[step]}B" * (step > 0)
    if ((values > 0) & (values < _LEAST * 1000**step)).any():
        unit += " (no number: below 0.1)"
    rows = []
    for name, own, row in zip(names, homes, values.tolist(), strict=True):
        pale = not summed and not view.differs(name)
        cells = [
            _cell(value / most, _number(value / 1000**step), at_home=r == own < away, pale=pale)
            for r, value in enumerate(row[: len(columns)])
        ]
        rows.append(Owner(name, 0, cells))
    many = f" (all {len(instance.tables):,} tables, summed by home)" * summed
    return Picture(
        f"{len(instance.tables):,} tables, {len(instance.jobs):,} jobs",
        rows,
        f"region that reads{many}; cells: {unit}",
        "home" if summed else "table",
        key=(_HERE, _AWAY, _NONE, _SAME_HOME),
        worth=None if solution else "today",
        more=more,
        ticks=_ticks(columns),
    )


def _by_home(
    homes: list[int], regions: list[str], values: NDArray[Any]
) -> tuple[list[int], list[str], NDArray[Any]]:
    """Return homes with tables, their names and numbers of tables, and the sums of their rows."""
    counts = np.bincount(homes, minlength=len(regions) + 1)
    kept = [r for r, count in enumerate(counts) if count or r < len(regions)]
    sums = np.array([values[np.array(homes) == r].sum(axis=0) for r in kept])
    names = [f"{short_name([*regions, 'no home'][r], 9)} ({counts[r]:,})" for r in kept]
    return kept, names, sums


def _read(instance: Instance, home: Mapping[str, int], color_by: str) -> NDArray[Any]:
    """Return what the jobs of each region, and last those without one, read of each table."""
    away = len(instance.regions)
    values = np.zeros((len(instance.tables), away + 1))
    for job in instance.jobs:
        region = instance.region_of(job, home)
        for name in job.tables:
            t = instance.table_index[name]
            values[t, away if region is None else region] += {
                "bytes": float(instance.tables[t].size),
                "jobs": 1.0,
                "gpu_hours": float(sum(job.gpu_hours.values())),
            }[color_by]
    return values


def _amount(value: float, color_by: str) -> str:
    if color_by == "bytes":
        return _bytes(value)
    return f"{value:,.0f} {'reads' if color_by == 'jobs' else 'GPU hours'}"


def _bytes(value: float) -> str:
    """Return bytes with a unit and three digits, as ``12.5 GB``."""
    step = 0
    while abs(value) >= 999.5 and step < len(_PREFIXES) - 1:
        value /= 1000
        step += 1
    return f"{value:.3g} {_PREFIXES[step]}B"


def _number(value: float) -> str:
    if value < _LEAST:
        return ""
    return f"{value:,.0f}" if value >= 9.95 or value == int(value) else f"{value:.1f}"


def _cell(share: float, words: str, *, at_home: bool = False, pale: bool = False) -> Piece:
    """Return a cell; the larger its share of the largest, the darker."""
    marks = (Mark("home", edge=ink(), line=1.4),) * at_home
    if not share:
        return Piece(1, _NONE, "", marks)
    look = _SAME_HOME if pale else _HERE if at_home else _AWAY
    shade = mix(IDLE, look.colour, 0.12 + 0.88 * share)
    return Piece(1, look._replace(colour=shade), words, marks)


def _ticks(names: Sequence[str]) -> dict[float, str]:
    limit = 14 if len(names) <= 4 else 7
    lines = [[short_name(line, limit) for line in name.split("\n")] for name in names]
    return {column + 0.5: "\n".join(line) for column, line in enumerate(lines)}
