"""``dlsched list`` and ``show``: problems, instances, methods and policies."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from typer import Argument, Option

from dlsched import library, registry
from dlsched.api import load
from dlsched.cli.options import INSTANCE_HELP, offered
from dlsched.cli.output import Answer, fields, put_line
from dlsched.cli.progress import say
from dlsched.cli.settings import parameters
from dlsched.cli.tables import put_table
from dlsched.display.table import Row
from dlsched.results.objective import bound_from_data
from dlsched.run import Stage
from dlsched.schema.files import JsonObject
from dlsched.simulation.policies import find_policy, list_policies


def list_(
    *,
    what: Kind | None = Argument(None, help="Everything by default."),
    problem: str | None = Option(
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
    chosen = [what] if what else [*_LISTED]
    listed = {kind: _LISTED[kind][1](owners) for kind in chosen}

    def put() -> None:
        for kind in chosen:
            title = kind if len(chosen) > 1 else None
            put_table(_LISTED[kind][0], listed[kind], title=title)

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
    for name, entry in library.index().items():
        if entry["problem"] in names:
            bounds = {k: bound_from_data(b) for k, b in entry["bound"].items()}
            values = {k: float(b.value) for k, b in bounds.items() if b is not None}
            rows.append({"instance": name, "problem": entry["problem"], "bound": values})
    return rows


def _methods(owners: list[registry.Problem]) -> list[Row]:
    return [
        {"problem": owner.name} | _said(method)
        for owner in owners
        for method in owner.methods.values()
    ]


def _said(method: registry.Method) -> Row:
    """Return what is said of a method."""
    return {"method": method.name, "kind": str(method.kind), "summary": method.summary}


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
            stops = bool(getattr(kind, "preemptive", True))
            row = {"policy": name, "problem": solves, "preemptive": stops, "summary": summary}
            rows.append(row)
    return rows


Kind = Literal["problems", "instances", "methods", "policies"]
_LISTED: dict[Kind, tuple[list[str], Callable[[list[registry.Problem]], list[Row]]]] = {
    "problems": (["problem", "title~1", "levels~", "source~2"], _problems),
    "instances": (["instance", "problem", "bound~"], _instances),
    "methods": (["problem", "method", "kind", "summary~"], _methods),
    "policies": (["policy", "problem", "preemptive", "summary~"], _policies),
}
"""Columns of what is listed, see `put_table`, and functions that return its rows."""


_TABLES = {
    "levels": ("objective", ["level", "sense", "unit"]),
    "methods": ("methods", ["method", "kind", "summary~", "options~"]),
    "generator": ("generate", ["parameter", "default~", "meaning~"]),
}
"""Titles and columns of what is shown of a problem."""


def show(
    name: str = Argument(
        metavar="PROBLEM|INSTANCE",
        help=f"A problem. {INSTANCE_HELP}",
        autocompletion=offered("problems", "instances", "files"),
    ),
) -> Answer:
    """Show a problem with its methods and generator, or an instance's summary."""
    return _problem(registry.problem(name)) if name in registry.problem_names() else _instance(name)


def _problem(owner: registry.Problem) -> Answer:
    generator = owner.module("generate").generate
    meanings = described(inspect.getdoc(generator) or "")
    data: JsonObject = {
        "problem": owner.name,
        "title": owner.title,
        "source": owner.source,
        "levels": [{"level": e.name, "sense": e.sense, "unit": e.unit} for e in owner.levels],
        "methods": [
            _said(method) | {"options": {k: _as_json(v) for k, v in method.options.items()}}
            for method in owner.methods.values()
        ],
        "exact": owner.exact,
        "generator": [
            {"parameter": k, "default": _as_json(v), "meaning": meanings.get(k, "")}
            for k, v in parameters(generator).items()
        ],
    }
    other = ", or another method that suits the instance better" if owner.choose else ""

    def put() -> None:
        put_line(f"{owner.name}: {owner.title}")
        put_line(owner.source)
        put_line("")
        for part, (title, columns) in _TABLES.items():
            if data[part]:
                put_table(columns, data[part], title=title, text=str)
        put_line(f'"exact" stands for {owner.exact}{other}.')

    return Answer(data, put)


def _instance(source: str) -> Answer:
    say(Stage.LOADING, source)
    inst = load(source)
    sizes: JsonObject = {}
    for field in type(inst).model_fields:
        value = getattr(inst, field)
        if field not in ("dlsched", "problem", "name", "source", "notes"):
            sizes[field] = len(value) if isinstance(value, (tuple, dict)) else _as_json(value)
    bounds = library.best_bounds(inst.sha256)
    known = bounds.as_dict() if bounds is not None else {}
    labels = {k: getattr(inst, k) for k in ("name", "problem", "source", "notes")}
    digest = {"sha256": inst.sha256}
    said = {f"bound on {k}": b for k, b in known.items()}
    return Answer(
        labels
        | digest
        | {"size": sizes, "bound": {k: b and b.to_data() for k, b in known.items()}},
        partial(fields, labels | sizes | said | digest),
    )


def described(docstring: str) -> dict[str, str]:
    """Return ``{parameter: meaning}`` from a docstring's Parameters section."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", docstring, re.M | re.S)
    meanings: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else ():
        if line and not line.startswith(" "):
            names = [name.strip(" *") for name in line.partition(" : ")[0].split(",")]
        for name in names if line.startswith(" ") else ():
            meanings.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines).replace("``", "") for name, lines in meanings.items()}


def _as_json(value: Any) -> Any:
    """Return a default value as JSON data; ``None`` also if there is no default."""
    if value is inspect.Parameter.empty:
        return None
    if isinstance(value, Mapping):
        return {str(k): _as_json(v) for k, v in value.items()}
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return [_as_json(v) for v in value] if isinstance(value, (tuple, list)) else str(value)
