"""``dlsched verify``: a solution against the problem's definition."""

from functools import partial
from typing import Any

from typer import Argument

from dlsched import api
from dlsched.cli.exits import Exit
from dlsched.cli.options import InstanceName, Variant
from dlsched.cli.output import Answer, fields, put_line
from dlsched.cli.progress import say
from dlsched.cli.tables import put_table
from dlsched.results.objective import number_to_data
from dlsched.results.result import Report
from dlsched.run import Stage
from dlsched.text.figures import percent


def verify(
    *,
    instance: InstanceName,
    solution: str = Argument(metavar="SOLUTION", help="A .json or .json.gz file."),
    variant: Variant = None,
) -> Answer:
    """Check a solution against the problem's definition; no solver is involved."""
    say(Stage.CHECKING, f"{solution} as a solution of {instance}")
    report = api.verify(instance, solution, variant=variant)
    status = Exit.OK if report.feasible else Exit.NEGATIVE
    return Answer(_data(report), partial(put_report, report), status)


def _data(report: Report) -> dict[str, Any]:
    objective = report.objective.as_dict() if report.objective is not None else {}
    return {
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


def put_report(report: Report) -> None:
    """Write a report: the violations, the objective and its gaps, further figures."""
    count = len(report.violations)
    bad = "not decided" if report.undecided else f"infeasible: {count} violation(s)"
    put_line("feasible" if report.feasible else bad)
    if report.violations:
        put_table(
            ["violation", "where~", "message~", "amount>"],
            ([v.kind, v.where, v.message, v.amount] for v in report.violations),
        )
    if report.objective is not None:
        put_table(
            ["level", "objective>", "unit<1", "gap>"],
            (
                [level.name, value, level.unit, percent(gap)]
                for level, value, gap in report.levels()
            ),
        )
    fields({k.replace("_", " "): v for k, v in report.details.items()})
