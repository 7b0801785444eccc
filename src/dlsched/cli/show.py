"""``dlsched show``: one problem, or one instance."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import typer

from dlsched import library
from dlsched.api import load
from dlsched.cli.options import INSTANCE_HELP, offered
from dlsched.cli.output import Answer, fields, put_line
from dlsched.cli.progress import say
from dlsched.cli.settings import parameters
from dlsched.cli.tables import Column, put_rows
from dlsched.registry import Problem, problem, problem_names
from dlsched.run import Stage
from dlsched.schema.files import JsonObject

_TITLES = {"levels": "objective", "methods": "methods", "generator": "generate"}
"""Of the tables of a problem."""
_COLUMNS = {name: Column(name, wraps=True) for name in ("summary", "options", "default", "meaning")}


def show(
    name: str = typer.Argument(
        metavar="PROBLEM|INSTANCE",
        help=f"A problem. {INSTANCE_HELP}",
        autocompletion=offered("problems", "instances", "files"),
    ),
) -> Answer:
    """Show a problem with its methods and generator, or an instance's summary."""
    return _problem(problem(name)) if name in problem_names() else _instance(name)


def _problem(owner: Problem) -> Answer:
    generator = owner.module("generate").generate
    meanings = described(inspect.getdoc(generator) or "")
    data: JsonObject = {
        "problem": owner.name,
        "title": owner.title,
        "source": owner.source,
        "levels": [{"level": e.name, "sense": e.sense, "unit": e.unit} for e in owner.levels],
        "methods": [
            {
                "method": method.name,
                "kind": str(method.kind),
                "summary": method.summary,
                "options": {k: _as_json(v) for k, v in method.options.items()},
            }
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
        for part, title in _TITLES.items():
            if data[part]:
                put_rows(data[part], _COLUMNS, title=title, text=str)
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
