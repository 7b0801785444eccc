"""Results on the terminal: one result in full, or many as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlsched.cli.exits import Exit, put
from dlsched.cli.output import Column, LeftOut, fields, fits, put_table
from dlsched.display.table import Row
from dlsched.registry import Kind, problem
from dlsched.results.result import Result, Status, Termination, default_termination
from dlsched.results.status import FAILED
from dlsched.results.summary import status_text
from dlsched.text.figures import display, percent, seconds

_NUMBERED = "names of levels"
"""What a table leaves out where a gap's level is given by its number."""
_LEVEL_COLUMNS = ("gap_level", "gap_to_best_level")


def put_result(result: Result) -> None:
    """Write one result: method and status, a row per level, times and details."""
    fields(
        {
            "instance": f"{result.instance} ({result.problem})",
            "method": f"{result.method} ({result.kind})",
            "status": status_text(result),
            "reason": result.reason,
        }
    )
    put_table(
        ["level", "objective>", Column("unit", drop=1), "bound>", Column("kind", drop=2), "gap>"],
        (
            [
                level.name,
                result.objective[i] if result.objective is not None else None,
                level.unit,
                limit.value if limit else None,
                f"{limit.kind}, {limit.method}" if limit else None,
                percent(result.gap[i]),
            ]
            for i, (level, limit) in enumerate(result.bound.pairs())
        ),
    )
    phases = result.seconds._asdict().items()
    start = result.start
    fields(
        {
            "seconds": ", ".join(f"{name} {seconds(value)}" for name, value in phases),
            "solver": result.solver and f"{result.solver} {result.solver_version or ''}",
            "seed": result.seed,
            "start": start and f"{'accepted' if start.accepted else 'rejected'}: {start.reason}",
        }
        | {name.replace("_", " "): value for name, value in result.details.items()}
    )


def exit_status(result: Result) -> Exit:
    """Return OK for a solution, or for bounds from a method that returns bounds only.

    BROKEN if what the method claims is refuted; INTERRUPTED if Ctrl-C has ended the search.
    """
    if result.termination is Termination.REFUTED:
        return Exit.BROKEN
    if result.termination is Termination.INTERRUPTED:
        return Exit.INTERRUPTED
    if result.solution is not None:
        return Exit.OK
    bounds_only = result.kind in (Kind.BOUND, Kind.REFERENCE)
    bounded = bounds_only and result.status is Status.NO_SOLUTION and any(result.bound)
    return Exit.OK if bounded else Exit.NEGATIVE


def put_comparison(rows: Sequence[Row]) -> None:
    """Write the rows of `dlsched.display.table.comparison_rows`, a table per problem."""
    left_out = LeftOut()
    for name in dict.fromkeys(row["problem"] for row in rows):
        _put_problem(name, [row for row in rows if row["problem"] == name], left_out)
    left_out.put()
    if _NUMBERED in left_out.names:
        fields({"levels in brackets": _numbered_levels(rows)})
    for row in rows:
        wrong = row["reason"] if row["status"] in FAILED else row.get("refuted")
        if wrong:
            fields({f"{row['instance']} {row['method']}": wrong})


def _put_problem(name: str, rows: Sequence[Row], left_out: LeftOut) -> None:
    """Write the rows of one problem.

    Where the levels do not fit side by side, those that are equal for all methods have no column:
    a line has them for each instance. If that is not enough, every instance has its own table.
    """
    levels = _level_names(rows)
    equal: list[str] = []
    if not fits(_columns(levels), [_cells(row, levels, levels) for row in rows]):
        equal = _equal_levels(rows, levels)
    shown = [level for level in levels if level not in equal]
    instances = dict.fromkeys(row["instance"] for row in rows)
    cells = [_cells(row, shown, levels) for row in rows]
    if equal and len(instances) > 1 and not fits(_columns(shown), cells):
        for instance in instances:
            _put_problem(name, [row for row in rows if row["instance"] == instance], left_out)
        return
    put_table(_columns(shown), cells, title=name, left_out=left_out)
    if equal:
        fields(_equal_values(rows, equal))
        put("\n")


def _level_names(rows: Sequence[Row]) -> list[str]:
    """Return the levels of some rows of one problem; a variant has levels of its own."""
    usual = {level.name for level in problem(rows[0]["problem"]).levels}
    names = (key for row in rows for key in row if key in usual or f"{key}_best_bound" in row)
    return [*dict.fromkeys(names)]


def _numbered_levels(rows: Sequence[Row]) -> str:
    """Return the numbers and names of the levels at which rows have a gap, by problem."""
    texts = []
    for name in dict.fromkeys(row["problem"] for row in rows):
        of_problem = [row for row in rows if row["problem"] == name]
        used = {row.get(column) for row in of_problem for column in _LEVEL_COLUMNS}
        levels = enumerate(_level_names(of_problem), 1)
        named = ", ".join(f"{number} {level}" for number, level in levels if level in used)
        texts.append(f"{name} {named}")
    return "; ".join(texts)


def _columns(levels: Sequence[str]) -> list[str | Column]:
    """Return the columns of a comparison that shows some levels."""
    return [
        Column("instance", heading=True),
        "method",
        Column("resolved_method", drop=4),
        "status",
        Column("termination", drop=1),
        *(f"{level}>" for level in levels),
        Column("gap", right=True, drop=5, shortens=_NUMBERED),
        Column("best_bound", right=True, drop=6),
        Column("best_bound_kind", drop=7),
        Column("gap_to_best", right=True, shortens=_NUMBERED),
        Column("seconds", right=True, drop=3),
    ]


def _solved(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows with a solution by instance."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] in (Status.OPTIMAL, Status.FEASIBLE):
            groups.setdefault(row["instance"], []).append(row)
    return groups


def _equal_levels(rows: Sequence[Row], levels: Sequence[str]) -> list[str]:
    """Return the levels that have one value in each instance, whatever the method."""
    return [
        level
        for level in levels
        if all(len({row.get(level) for row in group}) == 1 for group in _solved(rows).values())
    ]


def _equal_values(rows: Sequence[Row], levels: Sequence[str]) -> dict[str, str]:
    """Return by instance the values of levels that are equal for all methods, as a text."""
    texts = {}
    for instance, group in _solved(rows).items():
        levels_of: dict[str, list[str]] = {}
        for level in levels:
            levels_of.setdefault(display(group[0].get(level)), []).append(level)
        values = "; ".join(f"{', '.join(names)} = {value}" for value, names in levels_of.items())
        texts[instance] = f"the same for all methods: {values}"
    return texts


def _cells(row: Row, levels: Sequence[str], everything: Sequence[str]) -> list[Any]:
    """Return a row's cells.

    Parameters
    ----------
    levels
        The levels that have a column.
    everything
        All levels, by whose numbers a gap's level is called where its name has no place.
    """
    bounds = [display(row.get(f"{name}_best_bound")) or "-" for name in levels]
    resolved, ended = row.get("resolved_method"), row.get("termination")
    usual = ended is None or default_termination(Status(row["status"])) == ended
    return [
        row["instance"],
        row["method"],
        None if resolved == row["method"] else resolved,
        row["status"],
        None if usual else ended,
        *(row.get(name) for name in levels),
        _gap(row, "gap", everything),
        ", ".join(bounds) if set(bounds) != {"-"} else None,
        row.get("best_bound_kind"),
        _gap(row, "gap_to_best", everything),
        seconds(row.get("seconds")),
    ]


def _gap(row: Row, name: str, levels: Sequence[str]) -> str | tuple[str, str] | None:
    """Return a gap; where there are several levels with the name of its level, or its number."""
    gap = row.get(name)
    if gap is None:
        return None
    text = percent(gap)
    level = row[f"{name}_level"]
    return (
        text if len(levels) == 1 else (f"{text} ({level})", f"{text} ({levels.index(level) + 1})")
    )


def status_of(rows: Iterable[Mapping[str, Any]]) -> Exit:
    """Return the exit status for rows: NEGATIVE if one failed, BROKEN if an answer was wrong.

    An answer is wrong if the checker rejected it, or a checked solution refutes what it claims.
    """
    rows = list(rows)
    failed = {row["status"] for row in rows} & set(FAILED)
    if "rejected" in failed or any(row.get("refuted") for row in rows):
        return Exit.BROKEN
    return Exit.NEGATIVE if failed else Exit.OK
