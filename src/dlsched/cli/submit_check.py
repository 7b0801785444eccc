"""``dlsched submit-check``: check a solution of a library instance, and credit it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from dlsched import api
from dlsched.api.submission import check_submission
from dlsched.cli.exits import Exit
from dlsched.cli.flags import Json
from dlsched.cli.output import Column, put_json, put_line, put_table
from dlsched.cli.progress import say
from dlsched.cli.settings import target
from dlsched.display.figures import percent
from dlsched.errors import OptionError
from dlsched.results.objective import number_to_data
from dlsched.run import Stage
from dlsched.schema.solution import Credit

VERDICTS = {
    "improves": "improves the best known solution",
    "equals": "equals the best known solution",
    "worse": "is feasible, and worse than the best known solution",
    "infeasible": "is no solution",
}


def submit_check(
    solution: Annotated[Path, typer.Argument(metavar="FILE", help="A solution's .json[.gz].")],
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAMES", help="Who found it, for the credit.")
    ] = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="When; today by default.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", metavar="TEXT", help="Where one can read how: a DOI, ..."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the solution with its credit."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a solution of a library instance and compare it with the best known solution."""
    credit = _credit(by, date, reference)
    if output is not None:
        target(output, ".sol.json", ".sol.json.gz")
    elif credit is not None:
        raise OptionError("--by needs -o FILE, the file that gets the credit")
    say(Stage.CHECKING, str(solution))
    submission = check_submission(solution)
    if output is not None and submission.verdict != "infeasible":
        api.save(submission.credited(credit), output)
    report, gaps = submission.report, submission.report.gap
    if as_json:
        values, best = report.objective, submission.best_known
        put_json(
            {
                "instance": submission.instance,
                "verdict": submission.verdict,
                "closes": submission.closes,
                "violations": [
                    {"kind": v.kind, "where": v.where, "message": v.message}
                    for v in report.violations
                ],
                "objective": values and {k: number_to_data(v) for k, v in values.as_dict().items()},
                "best_known": {k: number_to_data(v) for k, v in best.as_dict().items()},
                "bound": {k: v and v.to_data() for k, v in submission.bound.as_dict().items()},
                "gap": gaps and gaps.as_dict(),
                "credit": submission.solution.to_data().get("credit")
                if credit is None
                else credit.model_dump(exclude_defaults=True),
            }
        )
    else:
        closing = (
            ", and closes its gap" if submission.closes and submission.verdict == "improves" else ""
        )
        put_line(f"{solution} {VERDICTS[submission.verdict]} of {submission.instance}{closing}")
        for violation in report.violations:
            put_line(f"  {violation.where}: {violation.message}")
        put_table(
            ["level", "sent>", "best known>", "bound>", Column("kind", drop=1), "gap>"],
            (
                [
                    level.name,
                    report.objective and report.objective[i],
                    best,
                    bound and bound.value,
                    bound and f"{bound.kind}, {bound.method}",
                    percent(gaps[i]) if gaps else None,
                ]
                for i, (level, best) in enumerate(submission.best_known.pairs())
                for bound in [submission.bound[i]]
            ),
        )
        if output is not None and submission.verdict != "infeasible":
            put_line(f"solution with credit written to {output}")
    raise typer.Exit(Exit.NEGATIVE if submission.verdict == "infeasible" else Exit.OK)


def _credit(by: str | None, date: str | None, reference: str | None) -> Credit | None:
    """Return the credit that the flags state, dated today by default."""
    if by is None:
        if date is not None or reference is not None:
            raise OptionError("--date and --reference belong to a credit; say who, with --by")
        return None
    day = date or datetime.datetime.now(datetime.UTC).date().isoformat()
    return Credit.parse({"by": by, "date": day, "reference": reference}, "the credit")
