"""How results are shown: one result in full, many as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dlsched.cli.exits import Exit
from dlsched.cli.output import Column, fields, put_table
from dlsched.figures import percent, seconds, spell

if TYPE_CHECKING:
    from dlsched.result import Result
    from dlsched.table import Failure


def put_result(result: Result) -> None:
    """Write one result: its head, a row per level, and what else is known."""
    times = result.seconds
    fields(
        {
            "instance": f"{result.instance} ({result.problem})",
            "method": f"{result.method} ({result.kind})",
            "status": result.status,
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
    solver = f"{result.solver} {result.solver_version or ''}" if result.solver else None
    phases = zip(("build", "solve", "check", "total"), times, strict=True)
    fields(
        {
            "seconds": ", ".join(f"{name} {seconds(value)}" for name, value in phases),
            "solver": solver,
            "seed": result.seed,
            "start": result.start
            and f"{'accepted' if result.start.accepted else 'rejected'}: {result.start.reason}",
        }
        | {name.replace("_", " "): value for name, value in result.details.items()}
    )


def exit_status(result: Result) -> Exit:
    """Return 0 for a solution, or for bounds from a method that gives only those; else 1."""
    if result.solution is not None:
        return Exit.FINE
    bounds_only = result.kind in ("bound", "reference") and result.status == "no solution"
    return Exit.FINE if bounds_only and any(result.bound) else Exit.NO


def put_comparison(rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as `dlsched.table.comparison_rows` makes them, a table per problem."""
    from dlsched.registry import problem

    for name in dict.fromkeys(row["problem"] for row in rows):
        levels = problem(name).levels
        put_table(
            [
                "instance",
                "method",
                Column("ran", drop=1),
                "status",
                *(f"{level.name}>" for level in levels),
                Column("bound", right=True, drop=3),
                Column("kind", drop=4),
                "gap>",
                Column("seconds", right=True, drop=2),
            ],
            (_cells(row, [e.name for e in levels]) for row in rows if row["problem"] == name),
            title=name,
        )
    for row in rows:
        if row["status"] in ("error", "rejected", "memory"):
            fields({f"{row['instance']} {row['method']}": row["reason"]})


def _cells(row: dict[str, Any], levels: Sequence[str]) -> list[Any]:
    at = row.get("gap_level")
    gap = percent(row.get("gap"))
    bounds = [spell(row.get(f"{name}_bound")) or "-" for name in levels]
    variant = [f"seed {row['seed']}"] if row.get("seed") else []
    variant += [row["options"]] if row.get("options", "{}") != "{}" else []
    return [
        row["instance"],
        f"{row['method']} ({', '.join(variant)})" if variant else row["method"],
        row.get("resolved_method") if row.get("resolved_method") != row["method"] else None,
        row["status"],
        *(row.get(name) for name in levels),
        ", ".join(bounds) if at or set(bounds) != {"-"} else None,
        row.get("bound_kind"),
        f"{gap} ({at})" if at and row["gap"] and at != levels[0] else gap,
        seconds(row.get("seconds")),
    ]


def failures_status(answers: Sequence[Result | Failure]) -> Exit:
    """Return 0 if no run failed, 3 if one broke a promise, else 1."""
    from dlsched.table import Failure

    return status_of([a.status for a in answers if isinstance(a, Failure)])


def status_of(failed: Sequence[str]) -> Exit:
    """Return 0 if there are no statuses of failed runs, 3 if an answer was rejected, else 1."""
    if "rejected" in failed:
        return Exit.BROKEN
    return Exit.NO if failed else Exit.FINE
