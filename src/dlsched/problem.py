"""What a problem must bring, what a method is, and the catalogue of both."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from importlib.metadata import entry_points
from typing import Any, TypeVar

from dlsched.compilation import prepare
from dlsched.errors import InstanceChanged, OptionError, UnknownName
from dlsched.result import ByLevel, Claim, Level, Report
from dlsched.run import Run
from dlsched.schema import SCHEMA_VERSION, Instance, Solution

CATALOGUE = ("reclaiming", "elastic", "interleaving", "utility", "placement", "sensitivity")
"""The problems, each a folder of this name under ``dlsched.problems``."""

ENTRY_POINTS = "dlsched.methods"
_PACKAGE = "dlsched.problems"

F = TypeVar("F", bound=Callable[..., Any])


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
        for methods that mind limits, prove bounds or talk to a solver. Which of the two is read
        off the name of the second parameter, ``rng`` or ``run``. A solution may also be a dict of
        the problem's own fields, as ``{"returned": [...]}``.
    """

    name: str
    problem: str
    kind: Kind
    function: Callable[..., Solution | Claim]
    model: bool = False
    """Whether it solves the Pyomo model, so that Pyomo is loaded before the clock starts."""
    compiled: tuple[str, ...] = ()
    """Modules of its package with compiled loops, compiled before the clock starts."""

    @cached_property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """The function's parameters."""
        return tuple(inspect.signature(self.function).parameters.values())

    @property
    def home(self) -> str:
        """The module that the function comes from."""
        return _home(self.function)

    @property
    def takes_second(self) -> bool:
        """Whether the function has a place for a generator or a run beside the instance."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return len(self.parameters) > 1 and self.parameters[1].kind in kinds

    @property
    def wants_run(self) -> bool:
        """Whether the function minds limits: its second parameter is called ``run``."""
        return self.takes_second and self.parameters[1].name == "run"

    @property
    def options(self) -> dict[str, Any]:
        """The options it takes, with their defaults."""
        rest = self.parameters[2 if self.takes_second else 1 :]
        variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        return {p.name: p.default for p in rest if p.kind not in variadic}

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def prepare(self, package: str) -> None:
        """Import and compile what the method needs, so that no run's clock counts it."""
        if self.model:
            importlib.import_module(f"{package}.model")
            importlib.import_module("dlsched.solvers.levels").load()
        if self.compiled:
            prepare(*(f"{package}.{module}" for module in self.compiled))

    def refuse_unknown(self, options: Mapping[str, Any]) -> None:
        """Check option names before anything runs.

        Raises
        ------
        OptionError
            Naming the options that there are.
        """
        if any(p.kind is p.VAR_KEYWORD for p in self.parameters):
            return
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise OptionError(f"{self.name} has no option {name!r}; it has: {known}")

    @property
    def own(self) -> bool:
        """Whether the function is of this package; other code gets a copy of the instance."""
        return _home(self.function).startswith(f"{__package__}.")

    def __call__(self, instance: Instance, run: Run, options: Mapping[str, Any]) -> Claim:
        """Run it and return what it claims.

        Raises
        ------
        InstanceChanged
            If the instance is another one afterwards. Code from outside the package works on a
            copy, so that it cannot spoil the answers of other methods.
        """
        with run.paused():
            given = instance if self.own else instance.copy_apart()
            before = given.fingerprint()
        if self.wants_run:
            answer = self.function(given, run, **options)
        elif self.takes_second:
            answer = self.function(given, run.rng, **options)
        else:
            answer = self.function(given, **options)
        with run.paused():
            if given.fingerprint() != before:
                raise InstanceChanged(f"{self.name} changed the instance {instance.name}")
        if isinstance(answer, Mapping):  # the problem's own fields will do
            envelope = {"dlsched": SCHEMA_VERSION, "problem": self.problem}
            fields = envelope | {"instance": instance.name, "method": self.name} | dict(answer)
            answer = problem(self.problem).solution.parse(fields, f"the answer of {self.name}")
        return answer if isinstance(answer, Claim) else Claim(solution=answer)


@dataclass(frozen=True)
class Problem:
    """What a family of instances brings; the object called ``PROBLEM`` in its folder.

    Attributes
    ----------
    levels
        The objective, most important level first.
    check
        ``check(instance, solution) -> Report``: the definition.
    explain
        ``explain(instance) -> str``: why there is no solution, in the instance's words; an empty
        string if it knows of no reason.
    exact
        Name of the method that ``"exact"`` stands for.
    choose
        ``choose(instance) -> str``: the name for one instance, where no method is best for all.
    bound
        Name of the method that `dlsched.bound` uses unless told otherwise.
    size
        The instance's field whose length says how large an instance is, as ``"jobs"``.
    package
        The folder. Its modules ``model``, ``generate``, ``draw`` are imported when first asked
        for; its modules ``exact``, ``heuristics`` and ``bounds`` hold the methods.
    """

    name: str
    title: str
    source: str
    levels: tuple[Level, ...]
    instance: type[Instance]
    solution: type[Solution]
    check: Callable[[Any, Any], Report]
    explain: Callable[[Any], str]
    exact: str
    bound: str
    size: str
    package: str = field(repr=False)
    choose: Callable[[Any], str] | None = None

    def module(self, name: str) -> Any:
        """Import one of the room's modules."""
        return importlib.import_module(f"{self.package}.{name}")

    def by_level(self, entries: Sequence[Any]) -> ByLevel[Any]:
        """Pair one entry per level with the level."""
        return ByLevel(self.levels, entries)

    @property
    def methods(self) -> dict[str, Method]:
        """Every method there is for it, by kind, then in the order of registration."""
        _load_methods(self.package)
        _load_plugins()
        rank = list(Kind)
        known = _METHODS.get(self.name, {}).values()
        return {m.name: m for m in sorted(known, key=lambda m: rank.index(m.kind))}

    def method(self, name: str, instance: Instance | None = None) -> Method:
        """Return the method called `name`; ``"exact"`` is the best exact one for the instance.

        Raises
        ------
        UnknownName
            If there is none of that name.
        """
        methods = self.methods
        if name == "exact":
            name = self.choose(instance) if self.choose and instance else self.exact
        if name not in methods:
            raise UnknownName(f"method for {self.name}", name, [*methods, "exact"])
        return methods[name]


@cache
def problem(name: str) -> Problem:
    """Return the problem called `name`.

    Raises
    ------
    UnknownName
        If the catalogue has none.
    """
    if name not in CATALOGUE:
        raise UnknownName("problem", name, CATALOGUE)
    found: Problem = importlib.import_module(f"{_PACKAGE}.{name}").PROBLEM
    return found


_METHODS: dict[str, dict[str, Method]] = {}


def method(
    problem: str,
    *,
    kind: str,
    name: str | None = None,
    model: bool = False,
    compiled: str | Sequence[str] = (),
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
    model
        Whether it solves the problem's Pyomo model: then loading Pyomo counts against no limit.
    compiled
        Names of the package's modules with compiled loops: nor does compiling these.

    Raises
    ------
    UnknownName
        If there is no such problem or kind.
    OptionError
        If the name is taken by a function of another module.
    """
    if problem not in CATALOGUE:
        raise UnknownName("problem", problem, CATALOGUE)
    if kind not in list(Kind):
        raise UnknownName("kind of method", kind, map(str, Kind))

    def register(function: F) -> F:
        home = _home(function)
        own_name = str(getattr(function, "__name__", type(function).__name__))
        modules = (compiled,) if isinstance(compiled, str) else tuple(compiled)
        entry = Method(name or own_name, problem, Kind(kind), function, model, modules)
        # The room's own come first, so that nobody can take their names.
        if not home.startswith(f"{_PACKAGE}."):
            _load_methods(f"{_PACKAGE}.{problem}")
        known = _METHODS.setdefault(problem, {})
        taken = known.get(entry.name)
        if entry.name == "exact" or (taken and _home(taken.function) != home):
            owner = _home(taken.function) if taken else "dlsched"
            raise OptionError(
                f"{problem} already has a method {entry.name!r}, from {owner}; "
                f"give yours another name"
            )
        known[entry.name] = entry
        return function

    return register


def _home(function: Callable[..., Any]) -> str:
    """Return the module a callable comes from; objects and partials have that of their type."""
    return str(getattr(function, "__module__", type(function).__module__))


@cache
def _load_methods(package: str) -> None:
    for module in ("exact", "heuristics", "bounds"):
        if importlib.util.find_spec(f"{package}.{module}"):
            importlib.import_module(f"{package}.{module}")


@cache
def _load_plugins() -> None:
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # another package's fault must not disable dlsched
            warnings.warn(f"methods of {entry.value} not loaded: {error}", stacklevel=2)
