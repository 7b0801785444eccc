"""A suite: which instances, which methods, which limits; a TOML file.

.. code-block:: toml

    name = "small"
    time_limit = 60

    [[instances]]
    names = ["lyra-fig5"]

    [[instances]]
    files = "mine/*.json.gz"

    [[instances]]
    generate = "reclaiming"
    seeds = [1, 2, 3]
    grid = { servers = [64, 128], demand = [6, 12] }

    [[methods]]
    name = "exact"

    [[methods]]
    name = "random"
    seeds = [0, 1, 2]
"""

from __future__ import annotations

import inspect
import itertools
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import Field, PrivateAttr, model_validator

from dlsched import api, library
from dlsched import problem as catalogue
from dlsched.bench.methods import check_limits, find_method, options_of
from dlsched.errors import DlschedError, InstanceError
from dlsched.schema import (
    Amount,
    Count,
    Document,
    Flaw,
    Id,
    Instance,
    PositiveAmount,
    PositiveCount,
)

MAX_BYTES = 2**20


@dataclass(frozen=True)
class Case:
    """An instance that is made when its turn comes."""

    problem: str
    make: Callable[[], Instance]


class Source(Document):
    """Where instances come from: ``names`` in the library, ``files``, or a generator.

    Attributes
    ----------
    files
        A path or glob, relative to the suite's file; solutions (``.sol.json``) are passed over.
    generate
        A problem, with ``seeds`` and a ``grid``: ``{parameter: values}``, all combinations.
    """

    names: tuple[Id, ...] = ()
    files: Id | None = None
    generate: Id | None = None
    seeds: tuple[Count, ...] = (0,)
    grid: dict[str, tuple[Any, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum((bool(self.names), self.files is not None, self.generate is not None)) != 1:
            raise Flaw((), "must have one of names, files, generate", "split it into several")
        if self.generate is None and self.model_fields_set & {"seeds", "grid"}:
            raise Flaw((), "has seeds or a grid without a generator", "remove them")
        return self

    def cases(self, folder: Path) -> Iterator[Case]:
        """Give the instances in order.

        Raises
        ------
        Flaw
            If there is none, or a parameter or name is unknown; at the field.
        """
        for i, name in enumerate(self.names):
            if name not in library.index():
                raise Flaw(("names", i), f'no instance is called "{name}"', "see: dlsched list")
            problem = str(library.index()[name]["problem"])
            yield Case(problem, lambda name=name: api.load(name))  # type: ignore[misc]
        if self.files is not None:
            yield from self._from_files(folder)
        if self.generate is not None:
            yield from self._generated(self.generate)

    def _from_files(self, folder: Path) -> Iterator[Case]:
        assert self.files is not None
        pattern = Path(self.files)
        base = Path(pattern.anchor) if pattern.anchor else folder
        try:
            paths = sorted(base.glob(str(pattern.relative_to(pattern.anchor))))
        except (ValueError, NotImplementedError, OSError):
            paths = []
        paths = [path for path in paths if ".sol.json" not in path.name]
        if not paths:
            raise Flaw(("files",), f"nothing matches {self.files}", "it is relative to the suite")
        for path in paths:
            problem = api.load(path).problem  # a bad file must not stop the sweep half-way
            yield Case(problem, lambda path=path: api.load(path))  # type: ignore[misc]

    def _generated(self, problem: str) -> Iterator[Case]:
        if problem not in catalogue.CATALOGUE:
            known = ", ".join(catalogue.CATALOGUE)
            raise Flaw(("generate",), f'"{problem}" is no problem', f"write one of: {known}")
        generator = catalogue.problem(problem).module("generate").generate
        known = ", ".join(list(inspect.signature(generator).parameters)[1:])
        for name in self.grid:
            if name not in known.split(", "):
                raise Flaw(("grid", name), "is no parameter of the generator", f"it has: {known}")
        for values in itertools.product(*self.grid.values()):
            chosen = dict(zip(self.grid, values, strict=True))
            for seed in self.seeds:
                yield Case(
                    problem,
                    lambda seed=seed, chosen=chosen: _labelled(problem, seed, chosen),  # type: ignore[misc]
                )


def _labelled(problem: str, seed: int, chosen: dict[str, Any]) -> Instance:
    made = api.generate(problem, seed, **chosen)
    said = "".join(f"-{name}={value}" for name, value in chosen.items())
    return made.model_copy(update={"name": f"{problem}{said}-{seed}"})


class Choice(Document):
    """A method with options.

    Attributes
    ----------
    name
        A method's name, or ``module:function``.
    problem
        Use it for this problem's instances only; for all by default.
    seeds
        One run for each.
    """

    name: Id
    problem: Id | None = None
    seeds: tuple[Count, ...] = (0,)
    options: dict[str, Any] = Field(default_factory=dict)


class Suite(Document):
    """Instances, methods and the limits of every run."""

    name: Id
    notes: str | None = None
    time_limit: PositiveAmount | None = None
    gap: Amount = 0
    threads: PositiveCount = 1
    solver: Id = "highs"
    instances: tuple[Source, ...]
    methods: tuple[Choice, ...]

    _cases: list[Case] = PrivateAttr(default_factory=list)

    @property
    def cases(self) -> list[Case]:
        """The instances to come, in order."""
        return self._cases

    def choices(self, problem: str) -> list[Choice]:
        """Return the methods for a problem."""
        return [m for m in self.methods if m.problem in (None, problem)]

    @property
    def total(self) -> int:
        """Number of runs."""
        return sum(len(m.seeds) for case in self.cases for m in self.choices(case.problem))

    @property
    def limits(self) -> dict[str, Any]:
        """The limits as keywords of `dlsched.solve`."""
        return {
            "time_limit": None if self.time_limit is None else float(self.time_limit),
            "gap": float(self.gap),
            "threads": self.threads,
            "solver": self.solver,
        }

    def resolve(self, folder: Path, where: str) -> None:
        """Find every instance and method, so that nothing is missing half-way.

        Raises
        ------
        InstanceError
            Naming the field.
        """
        try:
            check_limits(**self.limits)
        except DlschedError as error:
            raise InstanceError(where, "", str(error), "change it in the suite") from None
        for s, source in enumerate(self.instances):
            try:
                self._cases.extend(source.cases(folder))
            except Flaw as flaw:
                field = ".".join(map(str, (f"instances[{s}]", *flaw.path)))
                raise InstanceError(where, field, flaw.problem, flaw.remedy) from None
        for m, choice in enumerate(self.methods):
            for problem in dict.fromkeys(case.problem for case in self._cases):
                if choice.problem in (None, problem):
                    self._check_method(choice, problem, where, f"methods[{m}]")

    def _check_method(self, choice: Choice, problem: str, where: str, field: str) -> None:
        try:
            options = options_of(problem, find_method(problem, choice.name))
        except DlschedError as error:
            remedy = f'for one problem only, add problem = "{problem}" or another'
            raise InstanceError(where, f"{field}.name", str(error), remedy) from None
        for name in choice.options:
            if name not in options:
                known = ", ".join(options) or "none"
                raise InstanceError(
                    where, f"{field}.options.{name}", "is no option of it", f"it has: {known}"
                )


def read_suite(path: str | Path) -> Suite:
    """Read a suite and find everything that it names.

    Raises
    ------
    InstanceError
        If the file or something in it cannot be used; it names the field and the remedy.
    """
    path, where = Path(path), str(path)
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InstanceError(where, "", f"cannot be read: {reason}", "check the path") from None
    if len(text) > MAX_BYTES:
        raise InstanceError(where, "", "is larger than 1 MiB", "a suite is a short TOML file")
    try:
        data = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise InstanceError(where, "", f"is not TOML ({error})", "mend it there") from None
    suite = Suite.parse(data, where)
    suite.resolve(path.parent, where)
    return suite
