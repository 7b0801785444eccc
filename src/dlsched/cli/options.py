"""Options that several commands have, each stated once.

A group is a dataclass whose fields are options. A command's parameter of such a type stands for all
of its fields, under a heading of their own in the command's help; see `dlsched.cli.command`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from dlsched.errors import OptionError
from dlsched.records.readers.columns import parse_columns


def offered(*kinds: str) -> Callable[[str], list[str]]:
    """Return a function that completes names of `dlsched.cli.completion`, imported when called."""

    def complete(incomplete: str) -> list[str]:
        completion = import_module("dlsched.cli.completion")
        return [name for kind in kinds for name in completion.names(kind, incomplete)]

    return complete


INSTANCE_HELP = "A shipped instance's name, or a .json or .json.gz file."
InstanceName = Annotated[
    str,
    Argument(metavar="INSTANCE", help=INSTANCE_HELP, autocompletion=offered("instances", "files")),
]
Seed = Annotated[int, Option("--seed", metavar="N", help="Random seed.", min=0)]
Variant = Annotated[
    str | None,
    Option("--variant", metavar="FILE:NAME", help="A change of the problem: few.py:few."),
]
Output = Annotated[Path | None, Option("--output", "-o", metavar="FILE")]
Json = Annotated[bool, Option("--json", help="Write JSON to stdout, and nothing else.")]
Csv = Annotated[bool, Option("--csv", help="Write the table as CSV to stdout, and nothing else.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Say each step on stderr, on a line.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Do not say on stderr what is being done.")]


@dataclass(frozen=True)
class Limits:
    """Limits of a run."""

    time_limit: float | None = Option(None, metavar="S", help="Wall-clock seconds per run.")
    gap: float = Option(0.0, metavar="G", help="Relative gap at which a proof is good enough.")
    threads: int = Option(1, metavar="N", help="Threads of the solver.")
    seed: int = Option(0, metavar="N", help="Random seed.", min=0)
    solver: str = Option("highs", metavar="NAME", help="highs, or any solver that Pyomo knows.")


@dataclass(frozen=True)
class Machines:
    """The cluster of a trace."""

    servers: int | None = Option(None, metavar="N", min=1, help="8 by default.")
    gpus: int | None = Option(None, metavar="N", min=1, help="On each; 8 by default.")
    cpus: int | None = Option(None, metavar="N", min=1, help="On each server.")
    memory: int | None = Option(None, metavar="GB", min=1, help="Of each server.")


@dataclass(frozen=True)
class Jobs:
    """The jobs of a trace."""

    profiles: str | None = Option(
        None, metavar="NAME", help="What is added to the trace: muri, sia or synergy."
    )
    profile_option: list[str] = Option(
        [], metavar="K=V", help="An option of --profiles; repeatable."
    )
    together: bool = Option(False, "--together", help="All jobs count as submitted at the start.")
    limit: int | None = Option(None, metavar="N", min=1, help="The first N jobs only.")


@dataclass(frozen=True)
class Columns:
    """How a table is read."""

    column: list[str] = Option(
        [],
        metavar="FIELD=NAME[:UNIT]",
        help="The column of a field, in ms, s, min, h or as a date; repeatable.",
    )
    names: str | None = Option(
        None, metavar="A,B,...", help="The columns of a file without a header, in order."
    )
    delimiter: str | None = Option(None, metavar="C", help="Between columns; else found out.")
    cluster: list[str] = Option([], metavar="NAME", help="Only its jobs; repeatable.")
    timezone: str | None = Option(
        None, metavar="ZONE", help="Of times without one, as Europe/Berlin; else UTC."
    )

    def reading(self) -> dict[str, Any]:
        """Return the options of both readers that were given."""
        return _for_readers({name: v for name, v in given(self).items() if name in SHARED})


SHARED = [field.name for field in fields(Columns)]


@dataclass(frozen=True)
class Reading(Columns):
    """How a trace is read."""

    state: list[str] = Option([], metavar="NAME", help="Only such jobs; repeatable.")
    fractional: str | None = Option(
        None,
        metavar="RULE",
        help="Shares of a GPU, each rounded up (up), their sum (total), or drop.",
    )
    missing: str | None = Option(
        None, metavar="RULE", help="A row of a table that lacks a time: error, or drop."
    )
    seconds: list[str] = Option(
        [], metavar="MODEL=S", help="Of an iteration, in traces without durations; repeatable."
    )
    plausibility: bool | None = Option(
        None, "--plausibility/--no-plausibility", help="Refuse impossible values."
    )

    def options(self) -> dict[str, Any]:
        """Return the options of `dlsched.records.read_trace` that were given."""
        return _for_readers(given(self))


@dataclass(frozen=True)
class Record:
    """A scheduler's record."""

    resource: str | None = Option(
        None, metavar="R", help="What jobs are counted in: gpu, the default, cpu or node."
    )
    nodes: str | None = Option(
        None, metavar="FILE", help="The nodes, by CSV or `sinfo -N`; else the peak."
    )
    partition: str | None = Option(None, metavar="NAME", help="Only its jobs and nodes.")
    since: str | None = Option(None, metavar="DAY", help="The window's start, as 2026-01-08.")
    until: str | None = Option(None, metavar="DAY", help="The window's end.")
    knows: str | None = Option(
        None, metavar="WHAT", help="Of durations: limit, the default, truth or user_mean."
    )

    def reader_options(self) -> dict[str, Any]:
        """Return the options of `dlsched.read_history` that were given."""
        return {name: value for name, value in given(self).items() if name in ("resource", "nodes")}


def _for_readers(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as the readers call and take them."""
    several = {name: f"{name}s" for name in ("column", "cluster", "state")}
    taken = {several.get(name, name): value for name, value in options.items()}
    if "columns" in taken:
        taken["columns"] = parse_columns(taken["columns"])
    if "seconds" in taken:
        taken["seconds"] = numbers_of("--seconds", taken["seconds"])
    return taken


def numbers_of(option: str, pairs: list[str]) -> dict[str, float]:
    """Return the numbers of some ``NAME=NUMBER``; raise `OptionError` if one is none."""
    numbers = {}
    for pair in pairs:
        name, _, number = pair.rpartition("=")
        try:
            numbers[name] = float(number)
        except ValueError:
            raise OptionError(f"{option} {pair!r} is no number; write NAME=NUMBER") from None
    return numbers


def given(group: Any) -> dict[str, Any]:
    """Return the options of a group that were given, by their names."""
    options: dict[str, Any] = {field.name: field.default for field in fields(group)}
    values = ((name, getattr(group, name)) for name in options)
    return {name: value for name, value in values if value != options[name].default}


def flag(name: str) -> str:
    """Return an option as it is written on the command line."""
    return f"--{name.replace('_', '-')}"
