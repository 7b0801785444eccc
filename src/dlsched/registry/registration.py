"""The decorator that registers a function as a method of a problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dlsched.errors import OptionError, UnknownName
from dlsched.registry import lookup, registered
from dlsched.registry.methods import Kind, Method, function_name, module_of
from dlsched.registry.names import (
    BUILT_IN,
    PACKAGE,
    PROBLEMS_GROUP,
    entries,
    is_problem,
    problem_names,
)

F = TypeVar("F", bound=Callable[..., Any])


def method(
    problem: str,
    *,
    kind: str,
    name: str | None = None,
    preload: Sequence[str] = (),
    small: Callable[[Any], bool] | None = None,
) -> Callable[[F], F]:
    """Register a function as a method of a problem; use it as a decorator.

    Parameters
    ----------
    problem
        Name of the problem.
    kind
        ``exact``, ``heuristic``, ``baseline``, ``bound`` or ``reference``; see `Kind`.
    name
        Its name; the function's own by default.
    preload
        Modules to import and compile before the clock starts; see `Method`.
    small
        Which instances are too small to compile for; see `Method`.

    Raises
    ------
    UnknownName
        If there is no such problem or kind.
    OptionError
        If the name is taken by a function of another module, or the function cannot be called as a
        method; see `Method`.
    """
    if not is_problem(problem):
        raise UnknownName("problem", problem, problem_names())
    if kind not in list(Kind):
        raise UnknownName("kind of method", kind, map(str, Kind))

    def register(function: F) -> F:
        home = module_of(function)
        own_name = name or function_name(function)
        entry = Method(own_name, problem, Kind(kind), function, tuple(preload), small)
        _load_owner(problem, home)
        known = registered.METHODS.setdefault(problem, {})
        taken = known.get(entry.name)
        if entry.name == "exact" or (taken and module_of(taken.function) != home):
            owner = module_of(taken.function) if taken else "dlsched"
            raise OptionError(
                f"{problem} already has a method {entry.name!r}, from {owner}; "
                f"give yours another name"
            )
        known[entry.name] = entry
        return function

    return register


def _load_owner(name: str, home: str) -> None:
    """Load a problem's own methods first, so that a module elsewhere cannot take their names."""
    if name in BUILT_IN:
        if not home.startswith(f"{PACKAGE}."):
            registered.load_methods(f"{PACKAGE}.{name}")
        return
    homes = [entry.value for entry in entries(PROBLEMS_GROUP) if entry.name == name]
    if home.partition(".")[0] not in {re.split(r"[.:]", value)[0] for value in homes}:
        registered.load_methods(lookup.problem(name).package)
