"""The command line: ``dlsched COMMAND ...``.

Only the module of the command that is called is imported: all of them take half a second.
"""

import functools
import gc
import inspect
import logging
import os
import sys
from collections.abc import Callable, Collection, Iterator
from copy import copy
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer

from dlsched.cli.exits import Commands, errors_handled
from dlsched.names import VERSION

COMMANDS = {
    "list": "List problems, shipped instances, methods and scheduling policies.",
    "show": "Show a problem with its methods and generator, or an instance's summary.",
    "solve": "Solve an instance and check the answer.",
    "verify": "Check a solution against the problem's definition; no solver is involved.",
    "compare": "Solve every instance with every method; gap_to_best is to the best bound known.",
    "simulate": "Simulate a policy on a trace or a scheduler's record; its log is audited.",
    "study": "Compare a cluster's record with what policies, and any schedule, would have done.",
    "generate": "Write a random instance with the paper's statistics, or one from a trace.",
    "export": "Write an instance's model or proof for other programs, "
    "or with --schemas the JSON Schemas.",
    "bench": "Run a suite, each run in a process of its own with limits; finished runs are kept.",
    "status": "Show how far a sweep is, by shard, by node and by what makes its runs.",
    "merge": "Join the rows of all shards; refuse rows that disagree, and list what is missing.",
    "report": "Write the statistics of a sweep: a self-contained HTML page, CSV, Parquet and SVG.",
    "prove": "Prove a solution optimal, or that none exists; `check-proof` needs no solver.",
    "check-proof": "Check in integers what a proof proves; no solver is involved.",
    "plot": "Draw an instance, with a solution or without.",
    "doctor": "Show versions, solvers and built loops.",
}
"""The commands, with the first lines of their docstrings, for `dlsched --help`."""
_MODULES = {
    "list": "show",
    "compare": "solve",
    "status": "bench",
    "merge": "bench",
    "report": "bench",
    "check-proof": "prove",
}
"""The modules of commands that have none of their own."""


def command(name: str) -> Callable[..., None]:
    """Import a command, and return it as typer calls it.

    It has ``--json``, ``--csv``, ``--quiet`` and ``--verbose``, options instead of groups of
    options, and writes its answer. What it does meanwhile is shown on stderr.
    """
    module = import_module(f"dlsched.cli.{_MODULES.get(name, name)}")
    function = getattr(module, "list_" if name == "list" else name.replace("-", "_"))
    shared, output, progress, tables = (
        import_module(f"dlsched.cli.{m}") for m in ("options", "output", "progress", "tables")
    )
    groups: dict[str, Any] = {
        p.name: p.annotation for p in _parameters(function) if is_dataclass(p.annotation)
    }

    @functools.wraps(function)
    def run(as_json: bool, as_csv: bool, quiet: bool, verbose: bool, **given: Any) -> None:
        for argument, group in groups.items():
            given[argument] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        with progress.shown(quiet, verbose):
            answer = function(**given)
            if as_json:
                output.put_json(answer.data)
            elif as_csv:
                output.put_csv(answer.data)
            else:
                answer.put()
                tables.put_left_out()
        raise typer.Exit(answer.status)

    options = [*_options(function)]
    options += [
        Parameter(flag, Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for flag, annotation in (
            ("as_json", shared.Json),
            ("as_csv", shared.Csv),
            ("quiet", shared.Quiet),
            ("verbose", shared.Verbose),
        )
    ]
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _parameters(function: Callable[..., Any]) -> Collection[Parameter]:
    return inspect.signature(function, eval_str=True).parameters.values()


def _options(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield a command's parameters, where a group is meant its fields.

    The first line of a group's docstring is the heading of its options in the command's help.
    """
    for parameter in _parameters(function):
        group = parameter.annotation
        if not is_dataclass(group):
            yield parameter.replace(kind=Parameter.KEYWORD_ONLY)
            continue
        hints = get_type_hints(group)
        for field in fields(group):
            option: Any = copy(field.default)
            option.rich_help_panel = (inspect.getdoc(group) or "").partition(".")[0]
            yield Parameter(
                field.name, Parameter.KEYWORD_ONLY, default=option, annotation=hints[field.name]
            )


def _not_imported() -> None:
    """Stand for a command that is not called."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dlsched {VERSION}")
        raise typer.Exit


def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Scheduling problems of deep-learning clusters: proven optima, heuristics, gaps.

    Exit status: 0 success; 1 negative result (infeasible, no solution, violations, a failed run);
    2 unusable input; 3 a method returned a wrong answer, or a solver crashed; 130 Ctrl-C; 141 the
    reader of stdout closed it; 143 SIGTERM.
    """
    logging.getLogger("pyomo").setLevel(logging.CRITICAL)  # errors are raised as well
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def application(imported: Collection[str]) -> typer.Typer:
    """Return the command line, in which the commands not `imported` have their summary only."""
    app = typer.Typer(
        name="dlsched",
        cls=Commands,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_start)
    for name, summary in COMMANDS.items():
        if name in imported:
            app.command(name)(command(name))
        else:
            app.command(name, help=summary)(_not_imported)
    return app


def called() -> typer.Typer:
    """Import the command that the process was called with, and return the command line."""
    with errors_handled():
        completes = "_DLSCHED_COMPLETE" in os.environ  # the words are not in `argv` then
        gc.disable()  # next to nothing that is imported is garbage: a tenth of the time
        try:
            return application(COMMANDS if completes else sys.argv[1:])
        finally:
            gc.freeze()
            gc.enable()


def main() -> None:
    """Run the command line."""
    called()()


def __getattr__(name: str) -> Any:
    """Return ``app``, the command line with all commands, for use within another process."""
    if name == "app":
        globals()["app"] = application(COMMANDS)
        return globals()["app"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["COMMANDS", "app", "application", "called", "main"]
