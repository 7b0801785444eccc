"""Flags that say how the reader of published traces reads a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Column = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="FIELD=NAME[:UNIT]",
        help="Of a trace: the column of a field, instead of a format; repeatable.",
    ),
]
State = Annotated[
    list[str] | None,
    typer.Option("--state", metavar="NAME", help="Of a trace: only such jobs; repeatable."),
]
OfCluster = Annotated[
    list[str] | None,
    typer.Option("--cluster", metavar="NAME", help="Of a trace: only its jobs; repeatable."),
]
Fractional = Annotated[
    str | None,
    typer.Option(
        "--fractional",
        metavar="RULE",
        help="Of a trace: shares of a GPU, each rounded up (up), their sum (total), or drop.",
    ),
]
Plausibility = Annotated[
    bool | None,
    typer.Option("--plausibility/--no-plausibility", help="Of a trace: refuse impossible values."),
]


def reading(
    state: list[str] | None,
    cluster: list[str] | None,
    fractional: str | None,
    plausibility: bool | None,
) -> dict[str, Any]:
    """Return the options of `dlsched.records.read_trace` that were given."""
    return given(states=state, clusters=cluster, fractional=fractional, plausibility=plausibility)


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def flag_of(option: str) -> str:
    """Return the name of the flag of one of these options, which may be repeatable."""
    return {"states": "state", "clusters": "cluster"}.get(option, option)
