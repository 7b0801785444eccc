"""``dlsched bench``: a suite of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.flags import Json
from dlsched.cli.output import progress, put_json, put_line, stdout_for_answers
from dlsched.cli.verdict import failures_status, put_comparison


def bench(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", help="A .toml file.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go.")
    ],
    as_json: Json = False,
) -> None:
    """Run a suite; results.csv, results.json and the solutions grow as it goes."""
    from dlsched.bench import read_suite, run_suite
    from dlsched.result import Result
    from dlsched.table import Failure

    sweep = read_suite(suite)
    answers: list[Result | Failure] = []
    with progress() as bar, stdout_for_answers():
        task = bar.add_task(sweep.name, total=sweep.total) if bar else None

        def note(answer: Result | Failure) -> None:
            answers.append(answer)
            if bar and task is not None:
                bar.update(task, advance=1, description=f"{answer.instance} {answer.method}")

        frame = run_suite(sweep, output, on_answer=note)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    rows = [{str(k): v for k, v in row.items()} for row in records]
    if as_json:
        put_json(rows)
    else:
        put_comparison(rows)
        put_line(f"results in {output}")
    raise typer.Exit(failures_status(answers))
