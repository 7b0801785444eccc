"""``dlsched verify``: a solution against the problem's definition."""

from __future__ import annotations

from typing import Annotated

import typer

from dlsched import api
from dlsched.cli import flags
from dlsched.cli.exits import Exit
from dlsched.cli.flags import InstanceName, Json
from dlsched.cli.output import Column, fields, put_json, put_line, put_table
from dlsched.cli.progress import say
from dlsched.results.objective import number_to_data
from dlsched.results.result import Report
from dlsched.run import Stage
from dlsched.text.figures import percent


def verify(
    instance: InstanceName,
    solution: Annotated[str, typer.Argument(metavar="SOLUTION", help="A .json or .json.gz file.")],
    variant: flags.Variant = None,
    as_json: Json = False,
) -> None:
    """Check a solution against the problem's definition; no solver is involved."""
    say(Stage.CHECKING, f"{solution} as a solution of {instance}")
    report = api.verify(instance, solution, variant=variant)
    if as_json:
        objective = report.objective.as_dict() if report.objective is not None else {}
        put_json(
            {
                "feasible": report.feasible,
                "violations": [
                    {
                        "kind": v.kind,
                        "where": v.where,
                        "message": v.message,
                        "amount": number_to_data(v.amount),
                    }
                    for v in report.violations
                ],
                "objective": {k: number_to_data(v) for k, v in objective.items()} or None,
                "details": {k: number_to_data(v) for k, v in report.details.items()},
                "gap": report.gap.as_dict() if report.gap is not None else None,
            }
        )
    else:
        put_report(report)
    raise typer.Exit(Exit.OK if report.feasible else Exit.NEGATIVE)


def put_report(report: Report) -> None:
    """Write a report: the violations, the objective and its gaps, further figures."""
    count = len(report.violations)
    bad = "not decided" if report.undecided else f"infeasible: {count} violation(s)"
    put_line("feasible" if report.feasible else bad)
    if report.violations:
        put_table(
            ["violation", Column("where", wraps=True), Column("message", wraps=True), "amount>"],
            ([v.kind, v.where, v.message, v.amount] for v in report.violations),
        )
    if report.objective is not None:
        put_table(
            ["level", "objective>", Column("unit", drop=1), "gap>"],
            (
                [level.name, value, level.unit, percent(gap)]
                for level, value, gap in report.levels()
            ),
        )
    if report.details:
        fields({k.replace("_", " "): v for k, v in report.details.items()})
