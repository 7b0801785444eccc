"""The command line: ``dlsched COMMAND ...``, one module per command."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Annotated

import typer

from dlsched import __version__
from dlsched.cli import (
    bench,
    check_proof,
    compare,
    doctor,
    export,
    flags,
    generate,
    list_,
    plot,
    progress,
    prove,
    report,
    show,
    simulate,
    solve,
    submit_check,
    verify,
)
from dlsched.cli.exits import Commands

app = typer.Typer(
    name="dlsched",
    cls=Commands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_.list_,
    "show": show.show,
    "solve": solve.solve,
    "verify": verify.verify,
    "compare": compare.compare,
    "simulate": simulate.simulate,
    "generate": generate.generate,
    "export": export.export,
    "bench": bench.bench,
    "report": report.report,
    "prove": prove.prove,
    "check-proof": check_proof.check_proof,
    "submit-check": submit_check.submit_check,
    "plot": plot.plot,
    "doctor": doctor.doctor,
}


def _with_progress(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has ``--quiet``, and shows on stderr what it does otherwise."""

    @functools.wraps(command)
    def run(quiet: bool, **given: object) -> None:
        with progress.shown(quiet):
            command(**given)

    own = inspect.signature(command, eval_str=True)
    flag = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=flags.Quiet
    )
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), flag])  # type: ignore[attr-defined]
    run.__annotations__ = command.__annotations__ | {"quiet": flags.Quiet}
    return run


for name, command in COMMANDS.items():
    app.command(name)(_with_progress(command))


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dlsched {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Scheduling problems of deep-learning clusters: proven optima, heuristics, gaps.

    Exit status: 0 success; 1 negative result (infeasible, no solution, violations, a failed run);
    2 unusable input; 3 a method returned a wrong answer, or a solver crashed.
    """
    logging.getLogger("pyomo").setLevel(logging.CRITICAL)  # errors are raised as well
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; the entry point ``dlsched``."""
    app()


__all__ = ["app", "main"]
