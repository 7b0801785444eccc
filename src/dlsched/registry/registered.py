"""The methods that are registered, and the modules that register them."""

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from dlsched.errors import OptionError
from dlsched.registry.layout import MODEL, method_modules, module_name
from dlsched.registry.methods import Kind, Method, trust
from dlsched.registry.names import METHODS_GROUP, PACKAGE, entries
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level, solve_levels

METHODS: dict[str, dict[str, Method]] = {}
"""The methods that are registered, by problem and name."""


@cache
def load_methods(problem: str, package: str) -> None:
    """Import the modules of a problem's package that register its methods; add the standard ones.

    `OptionError` is raised if another package's module cannot be imported.
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


def standard_methods(problem: str, package: str, known: dict[str, Method]) -> Iterator[Method]:
    """Yield `milp` if no method has that name, and `lp` if there is no method of bounds.

    They are this library's own, so what they certify is certified: of the model as it is stated.
    That its solutions are the instance's is what `dlsched.testing.check_problem` tests. No `milp`
    of a model with levels that are only bounds (its ``ESTIMATED``).
    """
    place = module_name(package, MODEL)
    if place is None:
        return

    def milp(instance: Instance, run: Run) -> Claim:
        """Integer program: the card's model, level by level.

        Exact because the model's solutions are the instance's, of the same value.
        """
        return solve_levels(instance, run, importlib.import_module(place))

    def lp(instance: Instance, run: Run) -> Claim:
        """Linear relaxation of level 1, certified from its duals and rounded to a multiple."""
        return relax_first_level(instance, run, importlib.import_module(place))

    solved = "milp" in known or hasattr(importlib.import_module(place), "ESTIMATED")
    bounded = any(method.kind is Kind.BOUND for method in known.values())
    begins = "" if bounded else "lp"
    for name, kind, function, begins_with, taken in (
        ("milp", Kind.EXACT, milp, begins, solved),
        ("lp", Kind.BOUND, lp, "", bounded),
    ):
        if not taken:
            function.__module__ = place
            trust(function, problem)
            yield Method(name, problem, kind, function, SOLVER_LIBRARIES, begins_with)


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

    `OptionError` is raised if there is none.
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
