"""``dlsched compare``: several methods on several instances, side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from dlsched import api
from dlsched.cli import flags
from dlsched.cli.flags import INSTANCE_HELP, Json
from dlsched.cli.output import put_json, stdout_for_answers
from dlsched.cli.progress import count, point, say
from dlsched.cli.verdict import put_comparison, status_of
from dlsched.display.table import Failure
from dlsched.results.result import Result, Termination
from dlsched.run import Stage
from dlsched.solvers.backend import find_backend
from dlsched.variants import owner_of


def compare(
    instances: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCE...", help=INSTANCE_HELP, autocompletion=flags.offered("instances")
        ),
    ],
    method: Annotated[
        list[str],
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="A method, or MODULE:FUNCTION; repeatable.",
            autocompletion=flags.offered("methods"),
        ),
    ],
    time_limit: flags.TimeLimit = None,
    gap: flags.Gap = 0.0,
    threads: flags.Threads = 1,
    seed: flags.Seed = 0,
    solver: flags.Solver = "highs",
    variant: flags.Variant = None,
    as_json: Json = False,
) -> None:
    """Solve every instance with every method; gap_to_best is to the best bound known."""
    loaded = []
    for name in instances:
        say(Stage.LOADING, name)
        loaded.append(api.load(name))
    for inst in loaded:
        for name in method:
            owner_of(inst, variant).resolve(name, inst)
    api.validate_limits(time_limit, gap, threads, solver)
    find_backend(solver)
    limits = dict(time_limit=time_limit, gap=gap, threads=threads, seed=seed, solver=solver)
    pairs = [(inst.name, name) for inst in loaded for name in method]
    waiting = iter(enumerate(pairs))

    def begin() -> None:
        done, (inst, name) = next(waiting, (len(pairs), ("", "")))
        count(done, len(pairs), f"{inst} {name}")

    def note(answer: Result | Failure) -> None:
        if isinstance(answer, Result) and answer.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        begin()

    with stdout_for_answers():
        begin()
        rows = api.comparison(
            loaded, method, on_answer=note, on_progress=point, variant=variant, **limits
        )
    if as_json:
        put_json(rows)
    else:
        put_comparison(rows)
    raise typer.Exit(status_of(rows))
