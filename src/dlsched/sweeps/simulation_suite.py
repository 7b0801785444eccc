"""The ``[[simulation]]`` entries of a suite: jobs, servers, the policies simulated on them.

.. code-block:: toml

    [[simulation]]
    trace = "sample-philly"
    servers = 4
    gpus = 8
    policies = ["srtf", { policy = "muri_s", method = "exact" }]
    bounds = true

    [[simulation]]
    generate = "lyra"
    workload_seeds = [0, 1, 2]
    grid = { servers = [4, 8], load = [0.8, 0.95], wrong = [0, 0.3] }
    parameters = { days = 1 }
    policies = ["fifo", "lyra"]
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from dlsched.errors import DlschedError, UnknownName
from dlsched.schema.document import Document
from dlsched.schema.fields import Amount, Count, Id, PositiveCount
from dlsched.schema.flaws import Flaw, flaws
from dlsched.schema.quantities import shown
from dlsched.simulation import Cluster
from dlsched.simulation.engine.policy import interval_ticks
from dlsched.simulation.policies import find_policy, make_policy, policy_options
from dlsched.simulation.workload.cluster import TRAINING, Loan
from dlsched.simulation.workload.generators.generated import GENERATORS, SERVERS
from dlsched.simulation.workload.profiles import FILES, validate_options
from dlsched.sweeps.simulations import OVER
from dlsched.sweeps.specs import WorkloadSpec

_GROUPING = "interleaving"
"""The problem of policies that make jobs share GPUs."""
_UNIFORM = ("servers", "gpus", "cpus", "memory")
"""Fields that say what all servers have."""
_OF_TRACES = ("profiles", "profile_options", "together", "limit", *_UNIFORM, "kinds", "loans")
"""Fields that an entry with a generator has not."""


def _seeds(given: Any) -> Any:
    """Return seeds with ranges as ``"0-2499"`` as numbers; what is none is refused later."""
    if not isinstance(given, str | list | tuple):
        return given
    found: list[Any] = []
    for entry in [given] if isinstance(given, str) else given:
        first, dash, last = entry.partition("-") if isinstance(entry, str) else ("", "", "")
        known = dash and first.isdecimal() and last.isdecimal()
        if known and 0 <= int(last) - int(first) < _MOST_SEEDS - len(found):
            found += range(int(first), int(last) + 1)
        else:
            found.append(entry)
    if not found:
        raise Flaw((), "is empty", "give one, or leave it out")
    return found


def _grid(given: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Refuse a parameter without values: there would be no run."""
    for name, values in given.items():
        if not values:
            raise Flaw((name,), "is empty", "give at least one value")
    return given


_MOST_SEEDS = 10_000_000
Seeds: TypeAlias = Annotated[tuple[Count, ...], BeforeValidator(_seeds)]
"""Random seeds: numbers, and ranges as ``"0-2499"``, which have their ends."""
Grid: TypeAlias = Annotated[dict[str, tuple[Any, ...]], AfterValidator(_grid)]
"""Parameters with their values, of which all combinations are taken."""


def _share(value: int | Fraction) -> int | Fraction:
    if value > 1:
        raise Flaw((), f"{shown(value)} is too large", "write a share, from 0 to 1")
    return value


Share: TypeAlias = Annotated[Amount, AfterValidator(_share)]


class TraceGrid(Document):
    """What a grid can vary if the jobs are those of a trace; fields as of `SimulationEntry`."""

    servers: tuple[PositiveCount, ...] = ()
    gpus: tuple[PositiveCount, ...] = ()
    cpus: tuple[PositiveCount, ...] = ()
    memory: tuple[PositiveCount, ...] = ()
    limit: tuple[PositiveCount, ...] = ()
    together: tuple[bool, ...] = ()
    wrong: tuple[Share, ...] = ()


class ServerKind(Document):
    """Servers that are alike: the fields of `dlsched.simulation.Server`, and how many."""

    gpus: PositiveCount
    count: PositiveCount = 1
    gpu_type: str | None = None
    cpus: Amount | None = None
    memory: Amount | None = None
    pool: str = TRAINING
    region: str | None = None


class PolicyEntry(Document):
    """A policy of a simulation.

    Attributes
    ----------
    policy
        A policy's name, or ``module:class``.
    method
        What solves its problem, as in `dlsched.simulation.simulate`; by default the paper's own.
    options
        Options of the policy.
    """

    policy: Id
    method: Id | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `simulate` that differ from the defaults."""
        method = {} if self.method is None else {"method": self.method}
        return method | plain(self.options)


class SimulationEntry(Document):
    """Jobs on a cluster, and the policies that are simulated on it.

    Attributes
    ----------
    trace
        A file's path, relative to the suite, or the name of a trace that comes with dlsched.
    generate
        Instead of a trace, what draws jobs and servers: hadar, lyra, mast or synergy
        (`dlsched.simulation.workload.generators`).
    parameters
        Parameters of the generator.
    grid
        ``{parameter: values}``: all combinations. Of the generator's parameters, ``servers`` for
        the number of servers whatever it calls it, and ``wrong``; for a trace of
        servers, gpus, cpus, memory, limit, together, wrong.
    workload_seeds
        Seeds of the generator, and of the drawing of wrong estimates; for each the same policies.
    wrong
        Share of the jobs whose running time policies are told wrongly, by up to 25 %.
    profiles, profile_options
        A set of profiles, and its options, as in `Workload.from_trace`; paths among these are
        relative to the suite.
    together
        Whether all jobs count as submitted at the start.
    limit
        The first jobs only.
    servers, gpus
        Number of servers, and of GPUs on each; 8 by default.
    cpus, memory
        CPUs and GB of memory of each server, for policies that ask.
    kinds
        Several kinds of servers, instead.
    loans
        How many servers of the pool ``loan`` are lent, by time: tables with ``time``, ``servers``.
        The generator of ``lyra`` has its own.
    policies
        Names, or tables with ``policy``, ``method``, ``options``.
    seeds
        Random seeds; one run for each.
    bounds
        Whether lower bounds over all policies are computed, too.
    """

    trace: Id | None = None
    generate: Id | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    grid: Grid = Field(default_factory=dict)
    workload_seeds: Seeds = ()
    wrong: Share = 0
    profiles: Id | None = None
    profile_options: dict[str, Any] = Field(default_factory=dict)
    together: bool = False
    limit: PositiveCount | None = None
    servers: PositiveCount = 8
    gpus: PositiveCount = 8
    cpus: PositiveCount | None = None
    memory: PositiveCount | None = None
    kinds: tuple[ServerKind, ...] = ()
    loans: tuple[Loan, ...] = ()
    policies: tuple[PolicyEntry, ...]
    seeds: Seeds = (0,)
    bounds: bool = False

    @field_validator("policies", mode="before")
    @classmethod
    def _names_are_policies(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [{"policy": policy} if isinstance(policy, str) else policy for policy in value]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.policies:
            raise Flaw(("policies",), "is empty", "name at least one policy")
        if (self.trace is None) == (self.generate is None):
            raise Flaw(("trace",), "must stand alone, or generate", "write one of both")
        if self.generate is None:
            self._validate_trace()
        else:
            self._validate_generator(self.generate)
        beside = [name for name in _UNIFORM if name in self.model_fields_set]
        if self.kinds and beside:
            raise Flaw(("kinds",), f"stands beside {beside[0]}", "remove one of them")
        try:
            validate_options(self.profiles, self.profile_options)
        except DlschedError as error:
            field = "profiles" if isinstance(error, UnknownName) else "profile_options"
            raise Flaw((field,), str(error), "see Workload.from_trace") from None
        for i, entry in enumerate(self.policies):
            _validate_policy(entry, ("policies", i))
        return self

    def _validate_trace(self) -> None:
        if "parameters" in self.model_fields_set:
            raise Flaw(("parameters",), "stands beside trace", "they belong to generate")
        try:
            TraceGrid.model_validate({**self.grid})
        except ValidationError as error:
            path, problem, remedy = next(flaws(error, TraceGrid))
            raise Flaw(("grid", *path), problem, remedy) from None
        if self.kinds and set(self.grid) & set(_UNIFORM):
            raise Flaw(("grid",), "varies servers that kinds states", "remove one of them")
        drawn = self.wrong or any(self.grid.get("wrong", ()))
        if self.workload_seeds and not drawn:
            what = "has no effect: nothing of a trace is drawn"
            remedy = "remove it, or state the share of wrong estimates"
            raise Flaw(("workload_seeds",), what, remedy)

    def _validate_generator(self, name: str) -> None:
        if name not in GENERATORS:
            remedy = f"those: {', '.join(GENERATORS)}"
            raise Flaw(("generate",), f'"{name}" is no generator', remedy)
        for field in _OF_TRACES:
            if field in self.model_fields_set:
                remedy = "what the generator takes stands in parameters"
                raise Flaw((field,), "stands beside generate", remedy)
        known = {**GENERATORS[name].parameters, SERVERS: None}
        for field, given in (("parameters", self.parameters), ("grid", self.grid)):
            for parameter in given:
                if parameter not in known and (field, parameter) != ("grid", "wrong"):
                    remedy = f"it has: {', '.join(known)}"
                    raise Flaw((field, parameter), "is no parameter of the generator", remedy)
        both = set(self.parameters) & set(self.grid)
        if both:
            raise Flaw(("grid", min(both)), "stands in parameters, too", "remove one of them")

    @property
    def workloads(self) -> int:
        """Number of workloads: what `specs` yields."""
        return math.prod(map(len, self.grid.values())) * max(1, len(self.workload_seeds))

    def bound_runs(self) -> list[dict[str, Any]]:
        """Return the options of the bounds that the policies are compared with, each once."""
        found: list[str] = []
        for entry in self.policies if self.bounds else ():
            unknown = self.profiles == "muri" and ":" in entry.policy  # only the run will tell
            kind = None if ":" in entry.policy else find_policy(entry.policy)
            shares = getattr(kind, "problem", None) == _GROUPING
            found += OVER if unknown else [OVER[shares]]
        return [{"over": over} for over in dict.fromkeys(found)]

    def specs(self, folder: Path) -> Iterator[WorkloadSpec]:
        """Yield the specifications of the workloads; a trace is read now, once.

        Raises
        ------
        Flaw
            If the trace or its profiles cannot be used; with the field's path.
        """
        for values in itertools.product(*self.grid.values()):
            varied = dict(zip(self.grid, values, strict=True))
            for seed in self.workload_seeds or (None,):
                if self.generate is None:
                    yield self._of_trace(folder, varied, seed)
                    continue
                parameters = plain(self.parameters) | plain(varied)
                wrong = parameters.pop("wrong") if "wrong" in varied else self.wrong
                yield WorkloadSpec.generated(
                    self.generate, parameters, seed or 0, wrong=float(wrong), varied=varied
                )

    def _of_trace(self, folder: Path, varied: Mapping[str, Any], seed: int | None) -> WorkloadSpec:
        chosen = {name: getattr(self, name) for name in TraceGrid.model_fields} | dict(varied)
        options = {name: chosen[name] for name in ("together", "limit")}
        options = {"profiles": self.profiles} | options | plain(self.profile_options)
        for name in FILES.get(self.profiles or "", ()):
            if name in options:
                options[name] = _path(folder, options[name])
        try:
            return WorkloadSpec.of_trace(
                _path(folder, self.trace),
                options,
                self._cluster(chosen),
                wrong=float(chosen["wrong"]),
                seed=seed,
                varied=varied,
            )
        except (DlschedError, TypeError) as error:
            remedy = "a path is relative to the suite; profiles must suit the trace"
            raise Flaw(("trace",), f"cannot be used: {error}", remedy) from None

    def _cluster(self, chosen: Mapping[str, Any]) -> Cluster:
        if self.kinds:
            made = Cluster.of([kind.model_dump(exclude_none=True) for kind in self.kinds])
        else:
            servers, gpus = chosen["servers"], chosen["gpus"]
            made = Cluster.uniform(servers, gpus, cpus=chosen["cpus"], memory=chosen["memory"])
        if not self.loans:
            return made
        data = made.model_dump(mode="json", exclude_defaults=True)
        return Cluster.parse(data | {"loans": [loan.model_dump() for loan in self.loans]}, "loans")


def _validate_policy(entry: PolicyEntry, place: tuple[str, int]) -> None:
    """Refuse a policy or an option that there is not."""
    if ":" in entry.policy:
        return
    try:
        kind = find_policy(entry.policy)
    except DlschedError as error:
        raise Flaw((*place, "policy"), str(error), "see: dlsched list policies") from None
    known = policy_options(kind)
    for name in entry.options:
        if name not in known:
            remedy = f"it has: {', '.join(known) or 'none'}"
            raise Flaw((*place, "options", name), "is no option of it", remedy)
    try:
        interval_ticks(make_policy(entry.policy, entry.method, **plain(entry.options)))
    except DlschedError as error:
        raise Flaw(place, "cannot be used", str(error)) from None


def _path(folder: Path, name: Any) -> Any:
    """Return the path of a file beside the suite; a name that is no such file as it is."""
    if not isinstance(name, str) or not (folder / name).exists():
        return name
    return str((folder / name).resolve())


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return frozen options as plain data, which can be sent to other processes."""
    return {name: _plain(value) for name, value in options.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
