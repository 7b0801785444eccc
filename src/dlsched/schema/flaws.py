"""Errors in a file: where they are, what is wrong, and the remedy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dlsched.errors import nearest

FieldPath: TypeAlias = tuple[str | int, ...]
"""Where something is in a document: names of fields and positions in lists."""


class Flaw(ValueError):
    """Raised by a problem's validator: a path below the model, what is wrong, the remedy."""

    def __init__(self, path: Sequence[str | int], problem: str, remedy: str) -> None:
        self.path = tuple(path)
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}; {remedy}")


def require_unique(ids: Iterable[str], *path: str) -> None:
    """Refuse a list of ids in which one stands twice.

    Raises
    ------
    Flaw
        At ``path[i].id`` of the second occurrence.
    """
    seen: dict[str, int] = {}
    for i, name in enumerate(ids):
        if name in seen:
            raise Flaw(
                (*path, i, "id"),
                f'the id "{brief(name)}" is already used at {"".join(path)}[{seen[name]}]',
                "give every entry its own id",
            )
        seen[name] = i


def dangling(path: Sequence[str | int], kind: str, name: str, known: Iterable[str]) -> Flaw:
    """Return the flaw of a reference that does not resolve."""
    ids = [brief(name) for name in known]
    some = ", ".join(ids if len(ids) <= 4 else [*ids[:4], "..."])
    remedy = f"use one of the {len(ids)}: {some}" if ids else f"there is no {kind}: add one"
    return Flaw(path, f'no {kind} has the id "{brief(name)}"', remedy)


def brief(text: str) -> str:
    """Return a text, or its beginning, for a message that must fit a line."""
    return text if len(text) <= 40 else text[:37] + "..."


def spell_path(path: Iterable[str | int]) -> str:
    """Return a path as users write it: ``jobs[3].workers[0].server``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
            continue
        text += "." if text else ""
        text += brief(str(step)) or '""'
    return text


_REMEDIES: Mapping[str, tuple[str, str]] = {
    "missing": ("is missing", "add it"),
    "string_type": ("is not a string", "write text in quotes"),
    "string_unicode": ("is not Unicode text", "write whole characters, not halves of a pair"),
    "string_too_short": ("is an empty string", "write at least one character"),
    "string_too_long": ("has more than 200 characters", "shorten it"),
    "bool_type": ("is neither true nor false", "write true or false"),
    "tuple_type": ("is not a list", "write [...]"),
    "list_type": ("is not a list", "write [...]"),
    "dict_type": ("is not an object", "write {...}"),
    "model_type": ("is not an object", "write {...}"),
    "model_attributes_type": ("is not an object", "write {...}"),
}


def flaw_of(error: ValidationError) -> tuple[FieldPath, Flaw | None]:
    """Return where the first of a model's validation errors is, and what a validator raised."""
    return _cause(error.errors(include_url=False)[0])


def _cause(entry: ErrorDetails) -> tuple[FieldPath, Flaw | None]:
    cause = entry.get("ctx", {}).get("error")
    return tuple(entry["loc"]), cause if isinstance(cause, Flaw) else None


def flaws(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[FieldPath, str, str]]:
    """Yield a model's validation errors in the words of the file: path, what is wrong, remedy."""
    errors = error.errors(include_url=False)
    for entry in errors:
        path, cause = _cause(entry)
        if cause is not None:
            path += cause.path
            problem = cause.problem
            remedy = cause.remedy
        elif entry["type"] == "extra_forbidden":
            problem = "is an unknown field"
            remedy = "remove it"
            if len(path) == 1:
                remedy += f" (known: {field_names(model)})"
                meant = nearest(str(path[0]), model.model_fields)
                remedy += f"; {meant}" if meant else ""
        elif entry["type"] in _REMEDIES:
            problem, remedy = _REMEDIES[entry["type"]]
            if entry["type"] == "missing":
                others = [e["loc"] for e in errors if e["type"] == "extra_forbidden"]
                beside = [str(other[-1]) for other in others if tuple(other[:-1]) == path[:-1]]
                matches = get_close_matches(str(path[-1]), beside, n=1)
                remedy += f', or rename "{brief(matches[0])}"' if matches else ""
        else:
            message = entry["msg"]
            problem = message[0].lower() + message[1:]
            remedy = "see docs/schema"
        yield path, problem, remedy


def field_names(model: type[BaseModel]) -> str:
    """Return the names of a model's fields, for a message."""
    return ", ".join(model.model_fields)
