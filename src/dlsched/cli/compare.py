"""``dlsched compare``: several methods on several instances, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from dlsched import api
from dlsched.cli import flags
from dlsched.cli.flags import INSTANCE_HELP, Json
from dlsched.cli.output import progress, put_json, stdout_for_answers
from dlsched.cli.verdict import put_comparison, status_of
from dlsched.registry import problem
from dlsched.result import Result, Termination
from dlsched.solvers.backend import find_backend
from dlsched.table import Failure


def compare(
    instances: Annotated[list[str], typer.Argument(metavar="INSTANCE...", help=INSTANCE_HELP)],
    method: Annotated[
        list[str],
        typer.Option(
            "--method", "-m", metavar="METHOD", help="A method, or MODULE:FUNCTION; repeatable."
        ),
    ],
    time_limit: flags.TimeLimit = None,
    gap: flags.Gap = 0.0,
    threads: flags.Threads = 1,
    seed: flags.Seed = 0,
    solver: flags.Solver = "highs",
    as_json: Json = False,
) -> None:
    """Solve every instance with every method; gap_to_best is to the best bound known."""
    loaded = [api.load(name) for name in instances]
    for inst in loaded:
        for name in method:
            problem(inst.problem).resolve(name, inst)
    api.validate_limits(time_limit, gap, threads, solver)
    find_backend(solver)
    limits = dict(time_limit=time_limit, gap=gap, threads=threads, seed=seed, solver=solver)
    with progress() as bar, stdout_for_answers():
        task = bar.add_task("comparing", total=len(loaded) * len(method)) if bar else None

        def note(answer: Result | Failure) -> None:
            if isinstance(answer, Result) and answer.termination is Termination.INTERRUPTED:
                raise KeyboardInterrupt
            if bar and task is not None:
                text = f"{answer.instance} {answer.method}"
                bar.update(task, advance=1, description=text)

        rows = api.comparison(loaded, method, on_answer=note, **limits)
    if as_json:
        put_json(rows)
    else:
        put_comparison(rows)
    raise typer.Exit(status_of(rows))
