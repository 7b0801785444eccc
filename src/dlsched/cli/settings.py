"""``name=value`` on the command line, checked against the types of the defaults."""

import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dlsched.errors import OptionError, nearest, spelled
from dlsched.schema.files import validate_target
from dlsched.schema.quantities import shown

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}

_LONGEST = 150
"""Bytes of an instance's name, to which an ending is added; file systems allow 255."""


def settings(pairs: Iterable[str], defaults: Mapping[str, Any], whose: str) -> dict[str, Any]:
    """Return ``{name: value}``; a value is parsed as JSON if possible, else it is text.

    Parameters
    ----------
    pairs
        Texts like ``servers=64``.
    defaults
        The names that can be set, with default values, which determine the types.
    whose
        Name of the method or generator, for error messages.

    Raises
    ------
    OptionError
        If a name is unknown or set twice, or a value's type differs from that of the default.
    """
    chosen: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise OptionError(f"{pair!r} sets nothing; write name=value")
        if name not in defaults:
            known = ", ".join(defaults) or "nothing to set"
            near = nearest(name, defaults)
            hint = f"; {near}" if near else ""
            raise OptionError(f"{whose} has no {name!r}; it has: {known}{hint}")
        if name in chosen:
            raise OptionError(f"{name!r} is set twice; set it once")
        chosen[name] = _like(defaults[name], _value(text), name, whose)
    return chosen


def parameters(function: Any, skip: int = 1) -> dict[str, Any]:
    """Return a function's parameters after the first `skip`, with their defaults."""
    rest = list(inspect.signature(function).parameters.values())[skip:]
    return {p.name: p.default for p in rest if p.kind is not p.VAR_KEYWORD}


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda word: word)
    except (ValueError, RecursionError):
        return text


def _like(default: Any, value: Any, name: str, whose: str) -> Any:
    """Raise if a value has not the default's type; with ``None`` or no default any is allowed."""
    if default is None or default is inspect.Parameter.empty or value is None:
        return value
    if isinstance(default, Mapping) and isinstance(value, dict):
        return _with_whole_keys(value) if all(isinstance(k, int) for k in default) else value
    if isinstance(default, float) and type(value) is int:
        return value
    kind = next((k for k in _WORDS if isinstance(default, k)), None)
    if kind is not None and type(value) is not kind:
        raise OptionError(f"{name}={spelled(value)} does not suit {whose}; write {_WORDS[kind]}")
    if kind is None and type(value) in _WORDS:
        raise OptionError(
            f"{name}={spelled(value)} does not suit {whose}; its default is {default}"
        )
    return value


def _with_whole_keys(value: dict[str, Any]) -> dict[Any, Any]:
    return {int(k) if k.isascii() and k.isdigit() else k: v for k, v in value.items()}


def named_after(name: str, *endings: str) -> list[Path]:
    """Return files in the current folder that are named after an instance.

    `OptionError` is raised if the name has what a file's name cannot have, or is too long: an
    instance may come from anyone, and ``../x`` would be a file elsewhere. Also if such a file is a
    folder.
    """
    if not name.isprintable() or set(name) & set('/\\:*?"<>|') or len(name.encode()) > _LONGEST:
        raise OptionError(f"no file can be named after the instance {shown(name)}; name the file")
    files = [Path(name + ending) for ending in endings]
    for file in files:
        validate_target(file)
    return files


def target(path: Path, *suffixes: str) -> Path:
    """Raise if a result cannot be written to `path`; called before the work.

    `OptionError` is raised if the name has none of the suffixes, or is a directory.
    """
    if not path.name.endswith(suffixes):
        raise OptionError(f"cannot write {path}; the name must end in {' or '.join(suffixes)}")
    validate_target(path)
    return path
