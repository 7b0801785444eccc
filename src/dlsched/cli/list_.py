"""``dlsched list``: problems, instances and methods."""

from __future__ import annotations

import inspect
from enum import StrEnum

import typer

from dlsched import registry
from dlsched.cli.options import offered
from dlsched.cli.output import Answer
from dlsched.cli.tables import Column, put_rows
from dlsched.display.table import Row
from dlsched.library import index
from dlsched.results.objective import bound_from_data
from dlsched.simulation.policies import find_policy, list_policies


class What(StrEnum):
    """What can be listed."""

    PROBLEMS = "problems"
    INSTANCES = "instances"
    METHODS = "methods"
    POLICIES = "policies"


def list_(
    *,
    what: What | None = typer.Argument(None, help="Everything by default."),
    problem: str | None = typer.Option(
        None,
        "--problem",
        "-p",
        metavar="NAME",
        help="Of one problem only.",
        autocompletion=offered("problems"),
    ),
) -> Answer:
    """List problems, shipped instances, methods and scheduling policies."""
    owners = [registry.problem(problem)] if problem else registry.usable_problems()
    chosen = [what] if what else list(What)
    listed = {str(kind): _ROWS[kind](owners) for kind in chosen}

    def put() -> None:
        for kind, rows in listed.items():
            put_rows(rows, _COLUMNS, title=kind if len(listed) > 1 else None)

    return Answer(listed, put)


def _problems(owners: list[registry.Problem]) -> list[Row]:
    return [
        {
            "problem": owner.name,
            "title": owner.title,
            "levels": [f"{level.sense} {level.name}" for level in owner.levels],
            "source": owner.source,
        }
        for owner in owners
    ]


def _instances(owners: list[registry.Problem]) -> list[Row]:
    names = [owner.name for owner in owners]
    rows = []
    for name, entry in index().items():
        if entry["problem"] in names:
            bounds = {k: bound_from_data(b) for k, b in entry["bound"].items()}
            values = {k: float(b.value) for k, b in bounds.items() if b is not None}
            rows.append({"instance": name, "problem": entry["problem"], "bound": values})
    return rows


def _methods(owners: list[registry.Problem]) -> list[Row]:
    return [
        {
            "problem": owner.name,
            "method": method.name,
            "kind": str(method.kind),
            "summary": method.summary,
        }
        for owner in owners
        for method in owner.methods.values()
    ]


def _policies(owners: list[registry.Problem]) -> list[Row]:
    """Return the policies but those that solve another problem."""
    rows = []
    names = {owner.name for owner in owners}
    others = {owner.name for owner in registry.usable_problems()} - names
    for name in list_policies():
        kind = find_policy(name)
        solves = getattr(kind, "problem", None)
        if solves not in others:  # some solve what is no problem of the registry
            summary = (inspect.getdoc(kind) or "").partition("\n")[0]
            rows.append({"policy": name, "problem": solves, "summary": summary})
    return rows


_COLUMNS = {
    "title": Column("title", drop=1, wraps=True),
    "levels": Column("levels", wraps=True),
    "source": Column("source", drop=2, wraps=True),
    "bound": Column("bound", wraps=True),
    "summary": Column("summary", wraps=True),
}
_ROWS = {
    What.PROBLEMS: _problems,
    What.INSTANCES: _instances,
    What.METHODS: _methods,
    What.POLICIES: _policies,
}
