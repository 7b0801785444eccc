"""``dlsched compare``: several methods on several instances, side by side."""

from __future__ import annotations

from functools import partial

from typer import Argument, Option

from dlsched import api
from dlsched.cli.options import INSTANCE_HELP, Limits, Variant, offered
from dlsched.cli.output import Answer, stdout_for_answers
from dlsched.cli.progress import count, point, say
from dlsched.cli.verdict import put_comparison, status_of
from dlsched.display.table import Failure
from dlsched.results.result import Result, Termination
from dlsched.run import Stage
from dlsched.solvers.backend import find_backend
from dlsched.variants import owner_of


def compare(
    *,
    instances: list[str] = Argument(
        metavar="INSTANCE...", help=INSTANCE_HELP, autocompletion=offered("instances", "files")
    ),
    method: list[str] = Option(
        ...,
        "--method",
        "-m",
        metavar="METHOD",
        help="A method, or MODULE:FUNCTION; repeatable.",
        autocompletion=offered("methods"),
    ),
    limits: Limits,
    variant: Variant = None,
) -> Answer:
    """Solve every instance with every method; gap_to_best is to the best bound known."""
    loaded = []
    for name in instances:
        say(Stage.LOADING, name)
        loaded.append(api.load(name))
    for inst in loaded:
        for name in method:
            owner_of(inst, variant).resolve(name, inst)
    api.validate_limits(limits.time_limit, limits.gap, limits.threads, limits.solver)
    find_backend(limits.solver)
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
            loaded, method, on_answer=note, on_progress=point, variant=variant, **vars(limits)
        )
    return Answer(rows, partial(put_comparison, rows), status_of(rows))
