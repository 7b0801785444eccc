"""A method: its kind, its function, the options that this takes, and whether it is trusted."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

from dlsched.errors import OptionError, has_no_option
from dlsched.extras import EXTRAS, require
from dlsched.registry.option_types import validate_types
from dlsched.results.result import Claim
from dlsched.run import Stage, StageListener, announce
from dlsched.schema.solution import Solution
from dlsched.solvers.kernels import warn_if_slow
from dlsched.solvers.overhead import left_out

SOLVE_KEYWORDS = {
    "instance",
    "method",
    "time_limit",
    "gap",
    "threads",
    "seed",
    "solver",
    "solver_options",
    "start",
    "variant",
    "log",
    "certify",
    "on_progress",
    "on_stage",
}
"""Keywords of `dlsched.solve`, which no option of a method may have as its name."""

_PARTS_OF_NUMPY = ("numpy.random", "numpy.ma")
"""What NumPy imports at first use: the first for the generator of a run, the second for `unique`.
Both take as long as a run of a heuristic on a small instance."""
_UNUSED = {
    "scipy": ("numpy.f2py",),  # as it takes all names of NumPy
    "pyomo": ("scipy.stats", "scipy.integrate", "scipy.spatial"),  # at once, if SciPy is loaded
}
"""By library what it imports and nothing here uses: nearly half the time of a first solve."""
_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
MethodLike: TypeAlias = "str | Callable[..., Any] | Method"
"""A name, ``"exact"``, ``module:function``, a function ``f(instance, rng)``, or a `Method`."""


Options: TypeAlias = Mapping[str, Any]
"""Values of a method's options, by name."""


class Kind(StrEnum):
    """What a method promises."""

    EXACT = "exact"
    """Runs until it has proved optimality, or a limit strikes."""
    HEURISTIC = "heuristic"
    """Returns a feasible solution; proves nothing."""
    BASELINE = "baseline"
    """A heuristic that a paper compares its own with."""
    BOUND = "bound"
    """Returns bounds only."""
    REFERENCE = "reference"
    """A published formulation as it stands; its answer need not be a feasible solution."""


@dataclass(frozen=True)
class Method:
    """A named way to solve one problem.

    Attributes
    ----------
    function
        ``f(instance, rng, **options) -> Solution``, or ``f(instance, run, **options) -> Claim``
        for methods that respect limits, prove bounds or call a solver. The name of the second
        parameter, ``rng`` or ``run``, decides which. A solution may also be a dict of the problem's
        own fields, as ``{"returned": [...]}``. Labels (instance, digest, method) are added here.
    preload
        Libraries that are imported before the clock starts, ``"highspy"``.
    begins_with
        Of an exact method, the method of bounds that its search begins with, if there is one: it
        is not called before, as `dlsched.api.starting` does otherwise.

    Raises
    ------
    OptionError
        If the function takes no instance, its signature cannot be read, or an option has the name
        of one of `dlsched.solve`'s keywords, which would hide it.
    """

    name: str
    problem: str
    kind: Kind
    function: Callable[..., Solution | Claim]
    preload: tuple[str, ...] = ()
    begins_with: str = ""

    def __post_init__(self) -> None:
        """Check the function's form and the names of its options."""
        if not self.parameters or self.parameters[0].kind not in _POSITIONAL:
            raise OptionError(f"{self.name} takes no instance; write def f(instance, rng)")
        if self.takes_second and self.parameters[1].name in SOLVE_KEYWORDS:
            raise OptionError(
                f"the second parameter of {self.name} is called {self.parameters[1].name!r}, but "
                f"receives a random generator or a run; call it rng or run"
            )
        for name in self.options:
            if name in SOLVE_KEYWORDS:
                raise OptionError(
                    f"{self.name} has an option {name!r}, which is a keyword of dlsched.solve; "
                    f"give it another name, or read run.{name}"
                )

    @cached_property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """The function's parameters."""
        try:
            return tuple(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError) as error:  # some builtins have none
            remedy = "wrap it in def f(instance, rng)"
            raise OptionError(f"{self.name} has no signature: {error}; {remedy}") from error

    @property
    def home(self) -> str:
        """The module that the function comes from."""
        return module_of(self.function)

    @property
    def takes_second(self) -> bool:
        """Whether the function has a second positional parameter, for a generator or a run."""
        return len(self.parameters) > 1 and self.parameters[1].kind in _POSITIONAL[:2]

    @property
    def wants_run(self) -> bool:
        """Whether the function takes a run, with its limits: its second parameter is ``run``."""
        return self.takes_second and self.parameters[1].name == "run"

    @property
    def options(self) -> dict[str, Any]:
        """The options it takes, with their defaults."""
        rest = self.parameters[2 if self.takes_second else 1 :]
        variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        return {p.name: p.default for p in rest if p.kind not in variadic}

    def accepts(self, option: str) -> bool:
        """Whether there is an option of a name, or the function takes any."""
        anything = any(p.kind is p.VAR_KEYWORD for p in self.parameters)
        return option in self.options or (anything and option not in SOLVE_KEYWORDS)

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def load(self, on_stage: StageListener | None = None) -> None:
        """Import what `preload` names, so that no run's clock counts it."""
        announce(on_stage, Stage.LOADING, f"the method {self.name} and its libraries")
        for name in (*_PARTS_OF_NUMPY, *self.preload):
            library = name.partition(".")[0]
            with left_out(*_UNUSED.get(library, ())):
                if library in EXTRAS:
                    require(name, f"the method {self.name}")
                else:
                    importlib.import_module(name)
        if self.own:
            warn_if_slow()

    def validate_options(self, options: Options) -> None:
        """Check options before anything runs: their names, and their types.

        Types are checked for methods of this package; other code decides about its own.

        Raises
        ------
        OptionError
            If there is no such option, naming those that there are, one without a default is
            missing, or a value has a wrong type.
        """
        for name in options:
            if not self.accepts(name):
                raise OptionError(has_no_option(self.name, name, self.options, also=SOLVE_KEYWORDS))
        for name, default in self.options.items():
            if default is inspect.Parameter.empty and name not in options:
                raise OptionError(f"{self.name} needs a value for its option {name!r}")
        if self.own:
            validate_types(self.function, options)

    def plain(self) -> Method:
        """Return the method as an object of this class: a derived one may state its origin."""
        if type(self) is Method:
            return self
        return Method(self.name, self.problem, self.kind, self.function, self.preload)

    @property
    def own(self) -> bool:
        """Whether this library registered the function; other code gets a copy of the instance."""
        return is_trusted(self.function, self.problem)


def function_name(function: Callable[..., Any]) -> str:
    """Return a callable's name; objects and partials have that of their type."""
    return str(getattr(function, "__name__", type(function).__name__))


def module_of(function: Callable[..., Any]) -> str:
    """Return the module a callable comes from; objects and partials have that of their type."""
    return str(getattr(function, "__module__", type(function).__module__))


_OWN: dict[int, tuple[Callable[..., Any], str]] = {}
"""The functions that this library itself registered, with their problems, by `id`.

What such a method calls certified or proved is reported so; what any other one says is a claim. By
identity, so that no name, attribute or equality makes a function of another package one of ours.
"""


def trust(function: Callable[..., Any], problem: str) -> None:
    """Record a function as this library's own method of a problem."""
    _OWN[id(function)] = function, problem


def is_trusted(function: object, problem: str) -> bool:
    """Whether this library itself registered this very function as a method of a problem."""
    known, registered_for = _OWN.get(id(function), (None, ""))
    return known is function and registered_for == problem
