"""``dlsched submit-check``: check a solution of a library instance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.exits import Exit
from dlsched.cli.flags import Json
from dlsched.cli.output import Column, put_json, put_line, put_table
from dlsched.cli.progress import say
from dlsched.figures import percent
from dlsched.objective import number_to_data
from dlsched.run import Stage
from dlsched.submission import check_submission

VERDICTS = {
    "improves": "improves the best known solution",
    "equals": "equals the best known solution",
    "worse": "is feasible, and worse than the best known solution",
    "infeasible": "is no solution",
}


def submit_check(
    solution: Annotated[Path, typer.Argument(metavar="FILE", help="A solution's .json[.gz].")],
    as_json: Json = False,
) -> None:
    """Check a solution of a library instance and compare it with the best known solution."""
    say(Stage.CHECKING, str(solution))
    found = check_submission(solution)
    report, gaps = found.report, found.report.gap
    if as_json:
        values, best = report.objective, found.best_known
        put_json(
            {
                "instance": found.instance,
                "verdict": found.verdict,
                "closes": found.closes,
                "violations": [
                    {"kind": v.kind, "where": v.where, "message": v.message}
                    for v in report.violations
                ],
                "objective": values and {k: number_to_data(v) for k, v in values.as_dict().items()},
                "best_known": {k: number_to_data(v) for k, v in best.as_dict().items()},
                "bound": {k: v and v.to_data() for k, v in found.bound.as_dict().items()},
                "gap": gaps and gaps.as_dict(),
            }
        )
    else:
        closing = ", and closes its gap" if found.closes and found.verdict == "improves" else ""
        put_line(f"{solution} {VERDICTS[found.verdict]} of {found.instance}{closing}")
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
                for i, (level, best) in enumerate(found.best_known.pairs())
                for bound in [found.bound[i]]
            ),
        )
    raise typer.Exit(Exit.NEGATIVE if found.verdict == "infeasible" else Exit.OK)
