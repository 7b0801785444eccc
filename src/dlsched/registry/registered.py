"""The methods that are registered, and the modules that register them."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from dlsched.errors import OptionError
from dlsched.registry.layout import method_modules
from dlsched.registry.methods import Method
from dlsched.registry.names import METHODS_GROUP, PACKAGE, entries
from dlsched.registry.standard import standard_methods

METHODS: dict[str, dict[str, Method]] = {}
"""The methods that are registered, by problem and name."""


@cache
def load_methods(problem: str, package: str) -> None:
    """Import the modules of a problem's package that register its methods; add the standard ones.

    Raises
    ------
    OptionError
        If another package's module cannot be imported.
    """
    for module in method_modules(package):
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:  # another package's code may raise anything
            if package.startswith(f"{PACKAGE}."):
                raise
            raise OptionError(f"cannot load {module}: {error!r}") from error
    known = METHODS.setdefault(problem, {})
    known |= {method.name: method for method in standard_methods(problem, package, known)}


@cache
def load_plugins() -> None:
    """Import the modules that register methods by entry points; warn of those that fail."""
    for entry in entries(METHODS_GROUP):
        try:
            entry.load()
        except (Exception, SystemExit) as error:  # the rest of dlsched works without them
            warnings.warn(f"methods of {entry.value} not loaded: {error}", stacklevel=2)


def imported(name: str) -> Callable[..., Any]:
    """Return the function called ``module:function``; the working directory is searched first.

    Raises
    ------
    OptionError
        If there is none.
    """
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # importing runs the user's code
        raise OptionError(
            f"cannot get {attribute!r} from {module!r}: {type(error).__name__}: {error}"
        ) from error
    if not callable(function):
        raise OptionError(f"{name} is no function; write module:function")
    loaded: Callable[..., Any] = function
    return loaded
