"""Flags that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer


def offered(what: str) -> Callable[[typer.Context, str], list[str]]:
    """Return a function of `dlsched.cli.completion` that is imported when the shell asks for it."""

    def complete(context: typer.Context, begun: str) -> list[str]:
        names: list[str] = getattr(import_module("dlsched.cli.completion"), what)(context, begun)
        return names

    return complete


INSTANCE_HELP = "A shipped instance's name, or a .json or .json.gz file."

InstanceName = Annotated[
    str,
    typer.Argument(metavar="INSTANCE", help=INSTANCE_HELP, autocompletion=offered("instances")),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON to stdout, and nothing else.")]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="S", help="Wall-clock seconds per run.")
]
Gap = Annotated[
    float, typer.Option("--gap", metavar="G", help="Relative gap at which a proof is good enough.")
]
Threads = Annotated[int, typer.Option("--threads", metavar="N", help="Threads of the solver.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.", min=0)]
Solver = Annotated[
    str, typer.Option("--solver", metavar="NAME", help="highs, or any solver that Pyomo knows.")
]
Variant = Annotated[
    str | None,
    typer.Option("--variant", metavar="FILE:NAME", help="A change of the problem: few.py:few."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Do not say on stderr what is being done.")
]
"""Every command has it; see `dlsched.cli.COMMANDS`."""
