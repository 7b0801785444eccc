"""Results on the terminal: one result in full, or many as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlsched.cli.exits import Exit
from dlsched.cli.output import Column, LeftOut, fields, put_table
from dlsched.display.figures import display, percent, seconds
from dlsched.display.table import Row
from dlsched.registry import Kind, problem
from dlsched.results.result import Result, Status, Termination, default_termination
from dlsched.results.status import FAILED
from dlsched.results.summary import status_text


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

    BROKEN if what the method claims is refuted.
    """
    if result.termination is Termination.REFUTED:
        return Exit.BROKEN
    if result.solution is not None:
        return Exit.OK
    bounds_only = result.kind in (Kind.BOUND, Kind.REFERENCE)
    bounded = bounds_only and result.status is Status.NO_SOLUTION and any(result.bound)
    return Exit.OK if bounded else Exit.NEGATIVE


def put_comparison(rows: Sequence[Row]) -> None:
    """Write the rows of `dlsched.display.table.comparison_rows`, a table per problem."""
    left_out = LeftOut()
    for name in dict.fromkeys(row["problem"] for row in rows):
        levels = [level.name for level in problem(name).levels]
        put_table(
            [
                Column("instance", heading=True),
                "method",
                Column("resolved_method", drop=4),
                "status",
                Column("termination", drop=1),
                *(f"{level}>" for level in levels),
                Column("gap", right=True, drop=5, shortens="gap_level"),
                Column("best_bound", right=True, drop=6),
                Column("best_bound_kind", drop=7),
                Column("gap_to_best", right=True, shortens="gap_to_best_level"),
                Column("seconds", right=True, drop=3),
            ],
            (_cells(row, levels) for row in rows if row["problem"] == name),
            title=name,
            left_out=left_out,
        )
    left_out.put()
    for row in rows:
        wrong = row["reason"] if row["status"] in FAILED else row.get("refuted")
        if wrong:
            fields({f"{row['instance']} {row['method']}": wrong})


def _cells(row: Row, levels: Sequence[str]) -> list[Any]:
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
        _gap(row, "gap", levels),
        ", ".join(bounds) if set(bounds) != {"-"} else None,
        row.get("best_bound_kind"),
        _gap(row, "gap_to_best", levels),
        seconds(row.get("seconds")),
    ]


def _gap(row: Row, name: str, levels: Sequence[str]) -> str | tuple[str, str] | None:
    """Return a gap, and where there are several levels with and without its level."""
    gap = row.get(name)
    if gap is None:
        return None
    text = percent(gap)
    return text if len(levels) == 1 else (f"{text} ({row[f'{name}_level']})", text)


def status_of(rows: Iterable[Mapping[str, Any]]) -> Exit:
    """Return the exit status for rows: NEGATIVE if one failed, BROKEN if an answer was wrong.

    An answer is wrong if the checker rejected it, or a checked solution refutes what it claims.
    """
    rows = list(rows)
    failed = {row["status"] for row in rows} & set(FAILED)
    if "rejected" in failed or any(row.get("refuted") for row in rows):
        return Exit.BROKEN
    return Exit.NEGATIVE if failed else Exit.OK
