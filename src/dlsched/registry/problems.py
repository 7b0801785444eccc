"""A problem: its definition, its package, and the methods there are for it."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from dlsched.errors import OptionError, UnknownName, spelled
from dlsched.registry import layout, registered
from dlsched.registry.methods import Kind, Method, MethodLike, function_name
from dlsched.registry.names import RETIRED
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, VariantLabel, Violation
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution


class When(Enum):
    """When a heuristic runs for the exact method of its problem."""

    FIRST = "before the search"
    """The search begins from its solution, or from the bound that comes with it."""
    LIMITED = "before the search with a time limit, else after a search that proved nothing"
    """Without a limit the search finds as much by itself."""
    LAST = "after a search that proved nothing"
    """For an instance on which it takes a good part of the exact method's time, or more."""


class Start(NamedTuple):
    """A heuristic by name, and when it runs; see `dlsched.api.starting`."""

    name: str
    when: When = When.LIMITED


Starts: TypeAlias = Sequence[Start] | Callable[[Any], Sequence[Start]]
"""The heuristics of a problem in the order in which they run, for all or for one instance."""


Cells: TypeAlias = Callable[[Any, Any], Iterable[tuple[str, int, Iterable[tuple[str, int]]]]]
"""What owns cells: its name, how many, and the name and the number of each thing that has some."""


def _unexplained(_instance: Any) -> str:
    return ""


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
    cells
        ``cells(instance, solution)`` for a picture, where the package has no module ``draw``: see
        `dlsched.display.standard`.
    exact
        Name of the method that ``"exact"`` stands for; by default that of its model.
    choose
        ``choose(instance) -> str``: the name for one instance, where no method is best for all.
    starts
        Heuristics: the exact method starts from the best of their solutions, and returns none that
        is worse. Each `Start` says when it runs. The first of them gets a third of a time limit,
        each other one what is left of it: first is the one that is best at the instance's size.
        Those that no limit stops are the last. ``starts(instance)`` if they differ by instance.
    bound
        Name of the method that `dlsched.bound` uses unless told otherwise.
    size
        The instance's field whose length says how large an instance is, as ``"jobs"``.
    package
        Name of its package, whose modules are in the folders of `dlsched.registry.layout`, or all
        in the package itself. The folders ``exact`` and ``heuristics`` hold the methods; ``model``,
        ``generate``, ``draw``, ``oracle``, ``strategy`` and ``state`` are imported when first asked
        for.
    paper_method
        Name of the heuristic that the paper in `source` proposes; pictures emphasise it.
    """

    name: str
    title: str
    source: str
    levels: tuple[Level, ...]
    instance: type[Any]
    solution: type[Any]
    definition: Callable[[Any, Any], Report]
    size: str
    package: str = field(repr=False)
    explain: Callable[[Any], str] = _unexplained
    cells: Cells | None = None
    exact: str = "milp"
    bound: str = "lp"
    choose: Callable[[Any], str] | None = None
    starts: Starts = ()
    paper_method: str = ""

    def has_module(self, name: str) -> bool:
        """Whether the package has a module of this name."""
        return layout.module_name(self.package, name) is not None

    def module(self, name: str) -> Any:
        """Import one of the package's modules.

        Raises
        ------
        OptionError
            If the package has none of that name.
        """
        full_name = layout.module_name(self.package, name)
        if full_name is None:
            place = layout.expected(self.package, name)
            raise OptionError(f"the problem {self.name} has no module {name!r}: no {place}")
        return importlib.import_module(full_name)

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

    @property
    def label(self) -> VariantLabel | None:
        """What results say of a change of the problem; ``None`` for the problem itself."""
        return None

    def by_level(self, entries: Sequence[Any]) -> ByLevel[Any]:
        """Pair one entry per level with the level."""
        return ByLevel(self.levels, entries)

    def starts_for(self, instance: Instance) -> Sequence[Start]:
        """Return the heuristics that the exact method of an instance begins from."""
        return self.starts(instance) if callable(self.starts) else self.starts

    @property
    def methods(self) -> dict[str, Method]:
        """Every method there is for it, by kind, then in the order of registration."""
        registered.load_methods(self.name, self.package)
        registered.load_plugins()
        rank = list(Kind)
        known = registered.METHODS.get(self.name, {}).values()
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
            owners = [self.name, "variants"] if self.label else [self.name]
            instead = next((RETIRED[o, name] for o in owners if (o, name) in RETIRED), "")
            raise UnknownName(f"method for {self.name}", name, [*methods, "exact"], instead)
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
            return choice.plain()
        function = (
            registered.imported(choice) if isinstance(choice, str) and ":" in choice else choice
        )
        if isinstance(function, str):
            return self.method(function, instance)
        if not callable(function):
            raise OptionError(f"method={spelled(choice)} is neither a method's name nor a function")
        known = (m for m in self.methods.values() if m.function is function)
        registered_method = next(known, None)
        return registered_method or Method(
            function_name(function), self.name, Kind.HEURISTIC, function
        )
