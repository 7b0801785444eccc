"""Problems found by name, here and among the packages of others; methods registered and called."""

import importlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from dlsched.errors import InstanceChanged, OptionError, UnknownName
from dlsched.registry import registered
from dlsched.registry.methods import Kind, Method, Options, function_name, is_trusted, module_of
from dlsched.registry.names import (
    BUILT_IN,
    PACKAGE,
    PROBLEMS_GROUP,
    entries,
    is_problem,
    problem_names,
)
from dlsched.registry.problems import Problem
from dlsched.results.result import Claim
from dlsched.run import Run, Stage
from dlsched.schema.envelope import SCHEMA_VERSION, Instance
from dlsched.schema.solution import Solution


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
                registered.load_methods(name, owner.package)
            usable.append(owner)
        except OptionError as error:
            warnings.warn(str(error), stacklevel=2)
    return usable


def call(method: Method, instance: Instance, run: Run, options: Options) -> Claim:
    """Call a method on an instance and return what it claims, with the labels of both.

    Raises
    ------
    InstanceChanged
        If the instance is another one afterwards. Code from outside the package works on a copy,
        so that it cannot spoil the answers of other methods; tests look after this package's.
    """
    with run.paused():
        owner = problem(method.problem)
        given = instance if method.own else instance.copy_apart()
        before = None if method.own else given.fingerprint()
    run.announce(Stage.SEARCHING, f"with {method.name}")
    with nullcontext() if method.own else run.limits_kept():
        if method.wants_run:
            answer = method.function(given, run, **options)
        elif method.takes_second:
            answer = method.function(given, run.rng, **options)
        else:
            answer = method.function(given, **options)
    with run.paused():
        if not method.own and given.fingerprint() != before:
            raise InstanceChanged(f"{method.name} changed the instance {instance.name}")
        return _labelled(answer, instance, method, owner)


def _labelled(answer: Any, instance: Instance, method: Method, owner: Problem) -> Claim:
    """Return an answer as a claim whose solution has the labels of instance and method.

    A label of another instance is kept, so that the checker can refuse it.
    """
    claim = answer if isinstance(answer, Claim) else Claim(solution=answer)
    solution: Any = claim.solution
    if isinstance(solution, Mapping):
        envelope = {"dlsched": SCHEMA_VERSION, "problem": method.problem}
        fields = envelope | {"instance": instance.name} | dict(solution)
        solution = owner.solution.parse(fields, f"the answer of {method.name}")
    if isinstance(solution, Solution):
        labels = {
            "instance": solution.instance or instance.name,
            "instance_sha256": solution.instance_sha256 or instance.sha256,
            "method": method.name,
        }
        solution = solution.model_copy(update=labels)
    return replace(claim, solution=solution)


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
        registered.load_methods(name, problem(name).package)
