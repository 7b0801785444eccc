"""Take a solution that was sent in into the library, with its credit.

    python instances/accept.py FILE

The solution must be better than the best known one, and have a credit. It replaces the best known
solution, and the index and docs/instances.md say so. Look at the difference before committing it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import page
import typer
from make import write_index
from rich.console import Console

import dlsched
from dlsched.api.submission import Submission, check_submission
from dlsched.errors import OptionError
from dlsched.problems import library
from dlsched.results.objective import number_to_data


def accept(file: Path) -> Submission:
    """Check a solution, write it into the library, and change its instance's line in the index.

    Raises
    ------
    InstanceError
        If the file cannot be used, or has no credit.
    OptionError
        If the solution is not better than the best known one.
    """
    found = check_submission(file)
    solution = found.credited()
    value = found.report.objective
    if found.verdict != "improves" or value is None:
        raise OptionError(f"{file}: {found.verdict}; only a better solution is taken")
    lines = {name: dict(line) for name, line in library.index().items()}
    proof = {
        "method": solution.method or "sent in",
        "solver": None,
        "status": "optimal" if found.closes else "feasible",
    }
    lines[found.instance] |= {
        "objective": {k: number_to_data(v) for k, v in value.as_dict().items()},
        "proof": proof,
        "credit": solution.to_data()["credit"],
    }
    dlsched.save(solution, library.solution_file(found.instance))
    write_index(list(lines.values()), library.root())
    return found


def main(file: Annotated[Path, typer.Argument(metavar="FILE")]) -> None:
    """Take a solution into the library."""
    found = accept(file)
    page.write()
    say = Console(stderr=True).print
    say(f"{found.instance}: {found.best_known} before, {found.report.objective} now")
    if found.closes:
        say("it is solved: give its entry in the problem's library.py another kind, make library")


if __name__ == "__main__":
    typer.run(main)
