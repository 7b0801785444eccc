"""Methods by name, those of your own as ``module:function``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from dlsched import api, registry
from dlsched.errors import OptionError
from dlsched.registry import Kind, Method
from dlsched.solvers.backend import find_backend

Chosen: TypeAlias = str | Callable[..., Any]


def find_method(problem: str, name: str) -> Chosen:
    """Return what `dlsched.solve` takes for a name that a user wrote.

    Parameters
    ----------
    problem
        Name of the problem.
    name
        A method of the problem, or ``module:function``. The module is looked for in the working
        directory first.

    Raises
    ------
    UnknownName
        If the problem has no such method.
    OptionError
        If the module cannot be imported or has no such function.
    """
    if ":" not in name:
        registry.problem(problem).method(name)
        return name
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        function = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # importing runs the user's code, which may raise anything
        raise OptionError(
            f"cannot get {attribute!r} from {module!r}: {type(error).__name__}: {error}"
        ) from error
    if not callable(function):
        raise OptionError(f"{name} is no function; write module:function")
    found: Callable[..., Any] = function
    return found


def check_limits(time_limit: float | None, gap: float, threads: int, solver: str) -> None:
    """Check once what would else make every one of many runs fail.

    Raises
    ------
    OptionError, UnknownName, SolverMissing
        If a limit makes no sense, or there is no such solver here.
    """
    api.validate_limits(time_limit, gap, threads)
    find_backend(solver)


def options_of(problem: str, chosen: Chosen) -> dict[str, Any]:
    """Return the options of a method that `find_method` found, with their defaults."""
    if isinstance(chosen, str):
        return registry.problem(problem).method(chosen).options
    return Method("own", problem, Kind.HEURISTIC, chosen).options
