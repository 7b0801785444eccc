"""Problems found by name, here and among the packages of others."""

from __future__ import annotations

import importlib
import warnings
from functools import cache

from dlsched.errors import OptionError, UnknownName
from dlsched.registry.names import BUILT_IN, PACKAGE, PROBLEMS_GROUP, entries, problem_names
from dlsched.registry.problems import Problem
from dlsched.registry.registered import load_methods


@cache
def problem(name: str) -> Problem:
    """Return the problem called `name`.

    Raises
    ------
    UnknownName
        If there is none, here or among the entry points of other packages.
    OptionError
        If another package's entry point cannot be loaded or is no `Problem` of that name, or two
        packages have a problem of that name.
    """
    if name in BUILT_IN:
        built_in: Problem = importlib.import_module(f"{PACKAGE}.{name}").PROBLEM
        return built_in
    values = sorted({e.value for e in entries(PROBLEMS_GROUP) if e.name == name})
    if not values:
        raise UnknownName("problem", name, problem_names())
    if len(values) > 1:
        raise OptionError(f"problem {name}: {' and '.join(values)} have that name; uninstall one")
    entry = next(e for e in entries(PROBLEMS_GROUP) if e.name == name)
    try:
        loaded = entry.load()
        if isinstance(loaded, Problem):
            importlib.import_module(loaded.package)
    except (Exception, SystemExit) as error:  # another package's code may raise anything
        raise OptionError(f"problem {name}: cannot load {entry.value}: {error!r}") from error
    if not isinstance(loaded, Problem) or loaded.name != name:
        own = f"; its name is {loaded.name!r}" if isinstance(loaded, Problem) else ""
        raise OptionError(f"problem {name}: {entry.value} is no Problem of that name{own}")
    return loaded


def usable_problems() -> list[Problem]:
    """Return the problems whose packages and methods can be imported; warn of the others."""
    usable, others = [], entries(PROBLEMS_GROUP)
    for hidden in (entry for entry in others if entry.name in BUILT_IN):
        message = f"{hidden.value} is not used: dlsched has a problem {hidden.name!r} of its own"
        warnings.warn(message, stacklevel=2)
    for name in problem_names():
        try:
            owner = problem(name)
            if name not in BUILT_IN:
                load_methods(name, owner.package)
            usable.append(owner)
        except OptionError as error:
            warnings.warn(str(error), stacklevel=2)
    return usable
