"""``dlsched compare``: several methods on several instances, side by side."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dlsched import api
from dlsched.cli import flags
from dlsched.cli.flags import INSTANCE_HELP, Json
from dlsched.cli.output import progress, put_json, stdout_for_answers
from dlsched.cli.verdict import failures_status, put_comparison
from dlsched.labels import distinguish
from dlsched.registry import problem
from dlsched.result import Result, Termination
from dlsched.solvers.backend import find_backend
from dlsched.table import Failure, comparison_rows


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
    methods = [[problem(inst.problem).resolve(name, inst) for name in method] for inst in loaded]
    api.validate_limits(time_limit, gap, threads, solver)
    find_backend(solver)
    limits = dict(time_limit=time_limit, gap=gap, threads=threads, seed=seed, solver=solver)
    rows: list[dict[str, Any]] = []
    answers: list[Result | Failure] = []
    with progress() as bar, stdout_for_answers():
        task = bar.add_task("comparing", total=len(loaded) * len(method)) if bar else None
        for inst, chosen in zip(loaded, methods, strict=True):
            group: list[Result | Failure] = []
            for each in chosen:
                answer = api.attempt(inst, each, **limits)
                if isinstance(answer, Result) and answer.termination == Termination.INTERRUPTED:
                    raise KeyboardInterrupt
                group.append(answer)
                if bar and task is not None:
                    bar.update(task, advance=1, description=f"{inst.name} {each.name}")
            rows += comparison_rows(group, method)
            answers += group
    rows = distinguish(rows)
    if as_json:
        put_json(rows)
    else:
        put_comparison(rows)
    raise typer.Exit(failures_status(answers))
