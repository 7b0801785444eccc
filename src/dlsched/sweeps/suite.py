"""Suites: instances, methods and limits of a sweep, in a TOML file.

.. code-block:: toml

    name = "small"
    time_limit = 60
    wall_limit = 100
    memory_limit_gib = 4
    repetitions = 2

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

or ``[[simulation]]`` entries (`dlsched.sweeps.simulation_suite`),
or ``include = ["one.toml", "another.toml"]``: the runs of these suites, with their own limits.
"""

from __future__ import annotations

import glob
import inspect
import itertools
import math
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from pydantic import Field, PrivateAttr, model_validator

from dlsched import library, registry
from dlsched.api.solving import validate_limits
from dlsched.errors import DlschedError, InstanceError, OptionError
from dlsched.registry import Problem
from dlsched.schema.document import Document
from dlsched.schema.fields import Amount, Id, PositiveAmount, PositiveCount
from dlsched.schema.files import read_text
from dlsched.schema.flaws import Flaw
from dlsched.solvers.backend import find_backend
from dlsched.sweeps import specs
from dlsched.sweeps.simulation_suite import Grid, Seeds, SimulationEntry
from dlsched.sweeps.specs import BOUND, InstanceSpec, VariantSpec, WorkloadSpec
from dlsched.sweeps.task import Limits, Task, planned

MAX_BYTES = 2**20
MOST_RUNS = 1_000_000
"""Of a suite whose reader does not ask for more."""


class _Count:
    """The runs of a suite and of those that it includes, counted before they are listed."""

    def __init__(self, most: float) -> None:
        self.most, self.runs = most, 0

    def add(self, runs: int) -> None:
        """Count runs; refuse them if they are too many."""
        self.runs += runs
        if self.runs > self.most:
            flaw = f"makes the suite {self.runs:,} runs, more than {self.most:,}"
            raise Flaw((), flaw, "split it, or allow more: --many-runs, or many_runs=True")


class Source(Document):
    """A source of instances: ``names`` in the library, ``files``, or a generator.

    Attributes
    ----------
    files
        A path or glob, relative to the suite's file; solutions (``.sol.json``) are ignored.
    generate
        A problem, with ``seeds`` and a ``grid`` ``{parameter: values}``: all combinations.
    variant
        A change of the problem, with which all these instances are solved: ``few.py:few``, relative
        to the suite's file, or another text that `dlsched.solve` takes.
    """

    names: tuple[Id, ...] = ()
    files: Id | None = None
    generate: Id | None = None
    seeds: Seeds = (0,)
    grid: Grid = Field(default_factory=dict)
    variant: Id | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum((bool(self.names), self.files is not None, self.generate is not None)) != 1:
            raise Flaw((), "must have one of names, files, generate", "split it into several")
        if self.generate is None and self.model_fields_set & {"seeds", "grid"}:
            raise Flaw((), "has seeds or a grid without a generator", "remove them")
        return self

    def specs(self, folder: Path) -> Iterator[InstanceSpec]:
        """Yield the specifications of the instances, in order.

        Raises
        ------
        Flaw
            If there is no instance, or a parameter or name is unknown; with the field's path.
        """
        if self.variant is None:
            yield from self._plain_specs(folder)
            return
        try:
            variant = VariantSpec.of(self.variant, folder)
            problem = variant.find().problem
        except DlschedError as error:
            raise Flaw(("variant",), str(error), "write file.py:name") from None
        for spec in self._plain_specs(folder):
            if spec.problem != problem:
                flaw = f"is for {problem}; {spec.name} is of {spec.problem}"
                raise Flaw(("variant",), flaw, "give it to instances of its problem only")
            yield spec.changed(variant)

    def _plain_specs(self, folder: Path) -> Iterator[InstanceSpec]:
        for i, name in enumerate(self.names):
            if name not in library.index():
                raise Flaw(("names", i), f'no instance is called "{name}"', "see: dlsched list")
            yield InstanceSpec.shipped(name)
        if self.files is not None:
            found = glob.glob(self.files, root_dir=folder, recursive=True, include_hidden=True)
            paths = sorted(folder / name for name in found if ".sol.json" not in name)
            if not paths:
                flaw = f"nothing matches {self.files}"
                raise Flaw(("files",), flaw, "it is relative to the suite")
            yield from map(InstanceSpec.from_file, paths)
        if self.generate is not None:
            yield from self._generated(self.generate)

    def _generated(self, problem: str) -> Iterator[InstanceSpec]:
        if problem not in registry.problem_names():
            known = ", ".join(registry.problem_names())
            raise Flaw(("generate",), f'"{problem}" is no problem', f"write one of: {known}")
        generator = registry.problem(problem).module("generate").generate
        known = ", ".join(list(inspect.signature(generator).parameters)[1:])
        for name in self.grid:
            if name not in known.split(", "):
                raise Flaw(("grid", name), "is no parameter of the generator", f"it has: {known}")
        for values in itertools.product(*self.grid.values()):
            parameters = dict(zip(self.grid, values, strict=True))
            for seed in self.seeds:
                yield InstanceSpec.generated(problem, seed, parameters)


class MethodSpec(Document):
    """A method specification.

    Attributes
    ----------
    name
        A method's name, ``"exact"`` or ``module:function``.
    problem
        The method is used for this problem's instances only; for all by default.
    seeds
        Random seeds, as ``[0, 1]`` or ``"0-2499"``; one run for each.
    options
        Options of the method.
    """

    name: Id
    problem: Id | None = None
    seeds: Seeds = (0,)
    options: dict[str, Any] = Field(default_factory=dict)


class Suite(Document):
    """Instances, methods and the limits of every run.

    Attributes
    ----------
    time_limit, gap, threads, solver
        As for `dlsched.solve`.
    wall_limit
        Seconds after which a run's worker process is killed; by default twice the time limit and a
        minute, or an hour without a time limit.
    memory_limit_gib
        GiB of memory at which a run's worker process is killed.
    repetitions
        How often every run is repeated; different answers are reported.
    include
        Suites whose runs are added; paths relative to this file.
    simulation
        Traces on clusters with policies. Of the limits, they have those of time and memory; a
        simulation that takes longer than the time limit is of no use, and its process is killed.
    """

    name: Id
    notes: str | None = None
    time_limit: PositiveAmount | None = None
    wall_limit: PositiveAmount | None = None
    memory_limit_gib: PositiveAmount | None = None
    gap: Amount = 0
    threads: PositiveCount = 1
    solver: Id = "highs"
    repetitions: PositiveCount = 1
    include: tuple[Id, ...] = ()
    instances: tuple[Source, ...] = ()
    methods: tuple[MethodSpec, ...] = ()
    simulation: tuple[SimulationEntry, ...] = ()

    _workloads: list[list[WorkloadSpec]] = PrivateAttr(default_factory=list)
    _specs: list[InstanceSpec] = PrivateAttr(default_factory=list)
    _parts: list[Suite] = PrivateAttr(default_factory=list)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        for field in ("instances", "methods"):
            other = self.methods if field == "instances" else self.instances
            if not getattr(self, field) and (other or not (self.include or self.simulation)):
                raise Flaw((field,), "is missing", f"add a [[{field}]] table")
        return self

    @property
    def instance_specs(self) -> list[InstanceSpec]:
        """The instances in order, without those of included suites; more can be appended."""
        return self._specs

    def method_specs(self, problem: str) -> list[MethodSpec]:
        """Return the methods for a problem."""
        return [m for m in self.methods if m.problem in (None, problem)]

    @property
    def limits(self) -> Limits:
        """The limits of every run, except those of included suites."""
        names = ("time_limit", "wall_limit", "memory_limit_gib", "gap")
        given = {name: float(v) for name in names if (v := getattr(self, name)) is not None}
        if "time_limit" in given:
            given.setdefault("wall_limit", 2 * given["time_limit"] + 60)
        return Limits(**given, threads=self.threads, solver=self.solver)

    @property
    def most_threads(self) -> int:
        """The most threads that a run uses."""
        return max([self.threads, *(part.most_threads for part in self._parts)])

    def tasks(self, folder: str | None = None) -> list[Task]:
        """Return all runs in order, with those of included suites; duplicates are left out.

        The user's own modules are looked for in a folder first, by default the working directory.
        """
        tasks: dict[str, Task] = {}
        for part in self._all():
            own = part._own_tasks(folder or os.getcwd())
            tasks |= {task.key: task for task in planned(own) if task.key not in tasks}
        return list(tasks.values())

    def _all(self) -> Iterator[Suite]:
        yield self
        for part in self._parts:
            yield from part._all()

    def _own_tasks(self, folder: str) -> Iterator[Task]:
        """Yield the runs that this suite states itself, without the identity of their code."""
        limits = self.limits
        for spec in self.instance_specs:
            for method in self.method_specs(spec.problem):
                for seed, k in itertools.product(method.seeds, range(self.repetitions)):
                    yield Task(spec, method.name, method.options, seed, k, limits, folder, {})
        wall = min(limits.wall_limit, limits.time_limit or limits.wall_limit)
        limits = Limits(wall_limit=wall, memory_limit_gib=limits.memory_limit_gib)
        for entry, workloads in zip(self.simulation, self._workloads, strict=True):
            runs = [
                (policy.policy, policy.arguments(), seed, k)
                for policy, seed, k in itertools.product(
                    entry.policies, entry.seeds, range(self.repetitions)
                )
            ]
            runs += [(BOUND, options, 0, 0) for options in entry.bound_runs()]
            for workload in workloads:
                for policy_name, options, seed, k in runs:
                    yield Task(workload, policy_name, options, seed, k, limits, folder, {})

    def _runs_of(self, problem: str) -> int:
        """Return the number of runs of an instance of a problem."""
        return self.repetitions * sum(len(method.seeds) for method in self.method_specs(problem))

    def _resolve(self, folder: Path, where: str, count: _Count) -> None:
        """Find every instance and method before the first run.

        Raises
        ------
        InstanceError
            If one cannot be found or used; it names the field.
        """
        try:
            validate_limits(**self.limits.for_solve())
            find_backend(self.solver)
        except DlschedError as error:
            raise InstanceError(where, "", str(error), "change it in the suite") from None
        for s, source in enumerate(self.instances):
            with _located(where, f"instances[{s}]"):
                if source.generate is not None:
                    each = max(1, self._runs_of(source.generate))
                    count.add(each * len(source.seeds) * math.prod(map(len, source.grid.values())))
                specs = list(source.specs(folder))
                if source.generate is None:
                    count.add(sum(self._runs_of(spec.problem) for spec in specs))
                self._specs.extend(specs)
        for s, entry in enumerate(self.simulation):
            with _located(where, f"simulation[{s}]"):
                each = self.repetitions * len(entry.policies) * len(entry.seeds)
                count.add((each + len(entry.bound_runs())) * entry.workloads)
                self._workloads.append(list(entry.specs(folder)))
        for m, method in enumerate(self.methods):
            kinds = {(spec.problem, spec.variant): spec for spec in self._specs}
            for spec in kinds.values():
                if method.problem in (None, spec.problem):
                    _validate_method(method, spec.owner, where, f"methods[{m}]")


@contextmanager
def _located(where: str, entry: str) -> Iterator[None]:
    """Turn a flaw in an entry of a suite into an error that names its field."""
    try:
        yield
    except Flaw as flaw:
        field = ".".join(map(str, (entry, *flaw.path)))
        raise InstanceError(where, field, flaw.problem, flaw.remedy) from None


def _validate_method(spec: MethodSpec, owner: Problem, where: str, field: str) -> None:
    try:
        method = owner.resolve(spec.name)
    except DlschedError as error:
        remedy = f'for one problem only, add problem = "{owner.name}" or another'
        remedy = "see docs/add-a-method" if isinstance(error, OptionError) else remedy
        raise InstanceError(where, f"{field}.name", str(error), remedy) from None
    for name, value in spec.options.items():
        try:
            method.validate_options({name: value})
        except OptionError as error:
            known = ", ".join(method.options) or "none"
            flaw = str(error) if name in method.options else "is no option of it"
            raise InstanceError(
                where, f"{field}.options.{name}", flaw, f"it has: {known}"
            ) from None


def read_suite(path: str | Path, *, many_runs: bool = False) -> Suite:
    """Read a suite; find its instances and methods.

    Parameters
    ----------
    path
        The suite's file.
    many_runs
        Whether it may have more than a million runs. All are held in memory, about 1 kB each.

    Raises
    ------
    InstanceError
        If the file or an entry cannot be used; it names the field and the remedy.
    """
    specs.forget()
    (suite,) = _read(Path(path), (), set(), _Count(math.inf if many_runs else MOST_RUNS))
    return suite


def _read(path: Path, readers: tuple[Path, ...], known: set[Path], count: _Count) -> list[Suite]:
    """Return a suite; nothing if it is known, as one that two others include."""
    where, place = str(path), path.parent.resolve() / path.name
    if path.resolve() in readers:
        raise InstanceError(where, "include", "includes itself", "break the circle")
    if place in known:
        return []
    known.add(place)
    text = read_text(path, opening="")
    if len(text) > MAX_BYTES:
        raise InstanceError(where, "", "is larger than 1 MiB", "a suite is a short TOML file")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InstanceError(where, "", f"is not TOML ({error})", "correct it there") from None
    suite = Suite.parse(data, where)
    suite._resolve(path.parent, where, count)
    chain = (*readers, path.resolve())
    for name in suite.include:
        suite._parts += _read(path.parent / name, chain, known, count)
    return [suite]
