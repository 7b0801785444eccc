"""Problems and methods: the attributes of each, and the functions that find both by name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from importlib.metadata import entry_points
from typing import Any, TypeAlias, TypeVar

from dlsched.compilation import interpreted, is_ready, prepare
from dlsched.errors import InstanceChanged, OptionError, UnknownName
from dlsched.extras import EXTRAS, require
from dlsched.objective import ByLevel, Level
from dlsched.result import Claim, Report, Violation
from dlsched.run import Run, Stage, StageListener, announce
from dlsched.schema.envelope import SCHEMA_VERSION, Instance
from dlsched.schema.solution import Solution

BUILT_IN = (
    "reclaiming",
    "elastic",
    "interleaving",
    "utility",
    "placement",
    "sensitivity",
    "workers",
    "dispatch",
)
"""The problems of this package, each a folder of this name under ``dlsched.problems``."""

METHODS_GROUP, PROBLEMS_GROUP = "dlsched.methods", "dlsched.problems"
"""Entry-point groups: modules that register methods, and objects of type `Problem` by name."""
SOLVE_KEYWORDS = {
    "instance",
    "method",
    "time_limit",
    "gap",
    "threads",
    "seed",
    "solver",
    "start",
    "log",
    "on_progress",
    "on_stage",
}
"""Keywords of `dlsched.solve`, which no option of a method may have as its name."""
_PACKAGE = "dlsched.problems"
_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)

F = TypeVar("F", bound=Callable[..., Any])
MethodLike: TypeAlias = "str | Callable[..., Any]"
"""A name, ``"exact"``, ``module:function`` or a function ``f(instance, rng)``."""


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
        Modules that are imported, and their compiled loops compiled, before the clock starts:
        ``".pricing"`` is a module of the problem's package, ``"highspy"`` a library.
    small
        ``small(instance) -> bool``: whether the instance is so small that its loops take less time
        as Python than to be compiled. They then run as Python, with the same result, unless they
        have been compiled already.

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
    small: Callable[[Any], bool] | None = None

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

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def interprets(self, instance: Instance, package: str) -> bool:
        """Whether its loops run as Python on an instance; see `small`."""
        return bool(self.small and self.small(instance)) and not is_ready(*self._loops(package))

    def _loops(self, package: str) -> list[str]:
        """Return the modules of the package that `preload` names."""
        return [package + name for name in self.preload if name.startswith(".")]

    def prepare(
        self,
        package: str,
        on_stage: StageListener | None = None,
        instance: Instance | None = None,
    ) -> None:
        """Import and compile what `preload` names, so that no run's clock counts it.

        With an instance, nothing is compiled if its loops will run as Python.
        """

        def on_compile(module: str) -> None:
            announce(on_stage, Stage.COMPILING, f"the loops of {module}, once per machine")

        announce(on_stage, Stage.LOADING, f"the method {self.name} and its libraries")
        for name in self.preload:
            if name.partition(".")[0] in EXTRAS:
                require(name, f"the method {self.name}")
            else:
                importlib.import_module(name, package)
        if instance is None or not self.interprets(instance, package):
            prepare(*self._loops(package), on_compile=on_compile)

    def validate_options(self, options: Mapping[str, Any]) -> None:
        """Check option names before anything runs.

        Raises
        ------
        OptionError
            If there is no such option, naming those that there are, or one without a default is
            missing.
        """
        anything = any(p.kind is p.VAR_KEYWORD for p in self.parameters)
        for name in options:
            if name not in self.options and (not anything or name in SOLVE_KEYWORDS):
                known = ", ".join(self.options) or "none"
                raise OptionError(f"{self.name} has no option {name!r}; it has: {known}")
        for name, default in self.options.items():
            if default is inspect.Parameter.empty and name not in options:
                raise OptionError(f"{self.name} needs a value for its option {name!r}")

    @property
    def own(self) -> bool:
        """Whether the function is of this package; other code gets a copy of the instance."""
        return module_of(self.function).startswith(f"{__package__}.")

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
            as_python = self.interprets(instance, problem(self.problem).package)
        run.announce(Stage.SEARCHING, f"with {self.name}")
        with interpreted(as_python):
            if self.wants_run:
                answer = self.function(given, run, **options)
            elif self.takes_second:
                answer = self.function(given, run.rng, **options)
            else:
                answer = self.function(given, **options)
        with run.paused():
            if given.fingerprint() != before:
                raise InstanceChanged(f"{self.name} changed the instance {instance.name}")
            return self._labelled(answer, instance)

    def _labelled(self, answer: Any, instance: Instance) -> Claim:
        """Return an answer as a claim whose solution has the labels of instance and method.

        A label of another instance is kept, so that the checker can refuse it.
        """
        claim = answer if isinstance(answer, Claim) else Claim(solution=answer)
        found: Any = claim.solution
        if isinstance(found, Mapping):
            envelope = {"dlsched": SCHEMA_VERSION, "problem": self.problem}
            fields = envelope | {"instance": instance.name} | dict(found)
            found = problem(self.problem).solution.parse(fields, f"the answer of {self.name}")
        if isinstance(found, Solution):
            labels = {
                "instance": found.instance or instance.name,
                "instance_sha256": found.instance_sha256 or instance.sha256,
                "method": self.name,
            }
            found = found.model_copy(update=labels)
        return replace(claim, solution=found)


@dataclass(frozen=True)
class Problem:
    """What a problem provides; the object called ``PROBLEM`` in its package.

    Attributes
    ----------
    levels
        The objective, most important level first.
    definition
        ``check(instance, solution) -> Report``: violations and objective by the definition.
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
        Name of its package. The modules ``exact``, ``heuristics`` and ``bounds`` hold the methods;
        ``model``, ``generate``, ``draw``, ``oracle``, ``strategy`` and ``state`` are imported when
        first asked for.
    """

    name: str
    title: str
    source: str
    levels: tuple[Level, ...]
    instance: type[Any]
    solution: type[Any]
    definition: Callable[[Any, Any], Report]
    explain: Callable[[Any], str]
    exact: str
    bound: str
    size: str
    package: str = field(repr=False)
    choose: Callable[[Any], str] | None = None

    def has_module(self, name: str) -> bool:
        """Whether the package has a module of this name."""
        return importlib.util.find_spec(f"{self.package}.{name}") is not None

    def module(self, name: str) -> Any:
        """Import one of the package's modules.

        Raises
        ------
        OptionError
            If the package has none of that name.
        """
        if not self.has_module(name):
            raise OptionError(f"the problem {self.name} has no module {name!r} in {self.package}")
        return importlib.import_module(f"{self.package}.{name}")

    def check(self, instance: Instance, solution: Solution) -> Report:
        """Check a solution against the definition, and that it was made for the instance.

        The violation ``instance`` is added to those of the problem. A solution without labels can
        be checked against any instance.
        """
        report = self.definition(instance, solution)
        digest = solution.instance_sha256
        if solution.instance not in ("", instance.name):
            message = f'the solution is for "{solution.instance}", not for "{instance.name}"'
        elif digest not in (None, instance.sha256):
            message = f'the solution is for another instance called "{instance.name}", of another '
            message += "digest"
        else:
            return report
        other = Violation("instance", "instance", message)
        return replace(report, violations=(other, *report.violations))

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
            name = self.choose(instance) if self.choose and instance is not None else self.exact
        if name not in methods:
            raise UnknownName(f"method for {self.name}", name, [*methods, "exact"])
        return methods[name]

    def resolve(self, choice: MethodLike, instance: Instance | None = None) -> Method:
        """Return the method that a user means.

        Parameters
        ----------
        choice
            The name of a method, ``"exact"``, ``module:function`` (looked for in the working
            directory first), or a callable.
        instance
            What is to be solved; decides which method ``"exact"`` is.

        Raises
        ------
        UnknownName
            If there is no method of that name.
        OptionError
            If there is no such function, it cannot be called as a method, or the method is
            another problem's.
        """
        if isinstance(choice, Method):
            if choice.problem != self.name:
                raise OptionError(f"{choice.name} is for {choice.problem}, not for {self.name}")
            return choice
        function = _imported(choice) if isinstance(choice, str) and ":" in choice else choice
        if isinstance(function, str):
            return self.method(function, instance)
        if not callable(function):
            raise OptionError(f"method={choice!r:.40} is neither a method's name nor a function")
        known = (m for m in self.methods.values() if m.function is function)
        found = next(known, None)
        return found or Method(function_name(function), self.name, Kind.HEURISTIC, function)


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
        found: Problem = importlib.import_module(f"{_PACKAGE}.{name}").PROBLEM
        return found
    values = sorted({e.value for e in entry_points(group=PROBLEMS_GROUP) if e.name == name})
    if not values:
        raise UnknownName("problem", name, problem_names())
    if len(values) > 1:
        raise OptionError(f"problem {name}: {' and '.join(values)} have that name; uninstall one")
    entry = next(e for e in entry_points(group=PROBLEMS_GROUP) if e.name == name)
    try:
        loaded = entry.load()
        if isinstance(loaded, Problem):
            importlib.import_module(loaded.package)
    except (Exception, SystemExit) as error:  # another package's code may raise anything
        raise OptionError(f"problem {name}: cannot load {entry.value}: {error!r}") from error
    if not isinstance(loaded, Problem) or loaded.name != name:
        raise OptionError(f"problem {name}: {entry.value} is no Problem of that name")
    return loaded


def problem_names() -> list[str]:
    """Return the names of the problems: those of this package, then those of others."""
    others = sorted({entry.name for entry in entry_points(group=PROBLEMS_GROUP)})
    return [*BUILT_IN, *(name for name in others if name not in BUILT_IN)]


def usable_problems() -> list[Problem]:
    """Return the problems whose packages and methods can be imported; warn of the others."""
    found, others = [], entry_points(group=PROBLEMS_GROUP)
    for hidden in (entry for entry in others if entry.name in BUILT_IN):
        message = f"{hidden.value} is not used: dlsched has a problem {hidden.name!r} of its own"
        warnings.warn(message, stacklevel=2)
    for name in problem_names():
        try:
            owner = problem(name)
            if name not in BUILT_IN:
                _load_methods(owner.package)
            found.append(owner)
        except OptionError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def is_problem(name: str) -> bool:
    """Whether there is a problem of this name; entry points are read only if it is not built in."""
    return name in BUILT_IN or name in problem_names()


_METHODS: dict[str, dict[str, Method]] = {}


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
        known = _METHODS.setdefault(problem, {})
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
        if not home.startswith(f"{_PACKAGE}."):
            _load_methods(f"{_PACKAGE}.{name}")
        return
    entries = [e.value for e in entry_points(group=PROBLEMS_GROUP) if e.name == name]
    if home.partition(".")[0] not in {re.split(r"[.:]", value)[0] for value in entries}:
        _load_methods(problem(name).package)


def function_name(function: Callable[..., Any]) -> str:
    """Return a callable's name; objects and partials have that of their type."""
    return str(getattr(function, "__name__", type(function).__name__))


def _imported(name: str) -> Callable[..., Any]:
    """Return the function called ``module:function``."""
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
    found: Callable[..., Any] = function
    return found


def module_of(function: Callable[..., Any]) -> str:
    """Return the module a callable comes from; objects and partials have that of their type."""
    return str(getattr(function, "__module__", type(function).__module__))


@cache
def _load_methods(package: str) -> None:
    for module in ("exact", "heuristics", "bounds"):
        if importlib.util.find_spec(f"{package}.{module}"):
            try:
                importlib.import_module(f"{package}.{module}")
            except (Exception, SystemExit) as error:  # another package's code may raise anything
                if package.startswith(f"{_PACKAGE}."):
                    raise
                raise OptionError(f"cannot load {package}.{module}: {error!r}") from error


@cache
def _load_plugins() -> None:
    for entry in entry_points(group=METHODS_GROUP):
        try:
            entry.load()
        except (Exception, SystemExit) as error:  # the rest of dlsched works without them
            warnings.warn(f"methods of {entry.value} not loaded: {error}", stacklevel=2)
