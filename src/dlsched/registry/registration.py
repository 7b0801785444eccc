"""The decorator that registers a function as a method of a problem."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dlsched.errors import OptionError, UnknownName
from dlsched.registry import lookup, registered
from dlsched.registry.methods import Kind, Method, function_name, is_trusted, module_of
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
    begins_with: str = "",
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
        Libraries to import before the clock starts.
    begins_with
        The method of bounds that an exact method begins with; see `Method`.

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

    def decorate(function: F) -> F:
        label = name or function_name(function)
        _register(Method(label, problem, Kind(kind), function, tuple(preload), begins_with))
        return function

    return decorate


def _register(entry: Method) -> None:
    """Register a method; a name of this library's own method stays taken."""
    problem, function = entry.problem, entry.function
    ours = is_trusted(function, problem)
    if not ours:
        _load_owner(problem, module_of(function))
    known = registered.METHODS.setdefault(problem, {})
    present = known.get(entry.name)
    if entry.name == "exact" or (present is not None and not _may_replace(present, function, ours)):
        owner = module_of(present.function) if present else "dlsched"
        raise OptionError(
            f"{problem} already has a method {entry.name!r}, from {owner}; give yours another name"
        )
    known[entry.name] = entry


def _may_replace(taken: Method, function: Callable[..., Any], ours: bool) -> bool:
    """Whether a function may take the name of another one: of its own module, loaded again."""
    both_or_none = is_trusted(taken.function, taken.problem) == ours
    return both_or_none and module_of(taken.function) == module_of(function)


def _load_owner(name: str, home: str) -> None:
    """Load a problem's own methods first, so that a module elsewhere cannot take their names."""
    if name in BUILT_IN:
        registered.load_methods(name, f"{PACKAGE}.{name}")
        return
    homes = [entry.value for entry in entries(PROBLEMS_GROUP) if entry.name == name]
    if home.partition(".")[0] not in {re.split(r"[.:]", value)[0] for value in homes}:
        registered.load_methods(name, lookup.problem(name).package)
