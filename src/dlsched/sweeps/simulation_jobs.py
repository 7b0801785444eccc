"""The jobs and servers of a ``[[simulation]]`` entry: a trace or a generator, and its grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from dlsched.errors import DlschedError, UnknownName
from dlsched.schema.document import Document
from dlsched.schema.fields import Amount, Count, Id, PositiveCount
from dlsched.schema.flaws import Flaw
from dlsched.simulation import Cluster
from dlsched.simulation.workload.cluster import TRAINING, Loan
from dlsched.simulation.workload.generators.generated import GENERATORS, SERVERS
from dlsched.simulation.workload.profiles import FILES, validate_options
from dlsched.sweeps.specs import WorkloadSpec

UNIFORM = ("servers", "gpus", "cpus", "memory")
"""Fields that say what all servers have."""
GRID = (*UNIFORM, "limit", "together", "wrong")
"""What a grid can vary if the jobs are those of a trace."""
_OF_TRACES = ("profiles", "profile_options", "together", "limit", *UNIFORM, "kinds", "loans")
"""Fields that an entry with a generator has not."""
WRONG = "wrong"


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


class ServerKind(Document):
    """Servers that are alike: the fields of `dlsched.simulation.Server`, and how many."""

    gpus: PositiveCount
    count: PositiveCount = 1
    gpu_type: str | None = None
    cpus: Amount | None = None
    memory: Amount | None = None
    pool: str = TRAINING
    region: str | None = None


class JobsEntry(Document):
    """Jobs on a cluster.

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
        the number of servers whatever it calls it, and ``wrong``; for a trace of `GRID`.
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
    """

    trace: Id | None = None
    generate: Id | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    grid: Grid = Field(default_factory=dict)
    workload_seeds: Seeds = ()
    wrong: Amount = 0
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


def validate_jobs(entry: JobsEntry) -> None:
    """Raise `Flaw` if an entry's jobs and servers are not stated, or in two ways."""
    given = entry.model_fields_set
    if (entry.trace is None) == (entry.generate is None):
        raise Flaw(("trace",), "must stand alone, or generate", "write one of both")
    if entry.generate is None:
        _validate_trace(entry)
    else:
        _validate_generator(entry, entry.generate)
    beside = [name for name in UNIFORM if name in given]
    if entry.kinds and beside:
        raise Flaw(("kinds",), f"stands beside {beside[0]}", "remove one of them")
    try:
        validate_options(entry.profiles, entry.profile_options)
    except UnknownName as error:
        raise Flaw(("profiles",), str(error), "see Workload.from_trace") from None
    except DlschedError as error:
        raise Flaw(("profile_options",), str(error), "see Workload.from_trace") from None


def _validate_trace(entry: JobsEntry) -> None:
    given = entry.model_fields_set
    if "parameters" in given:
        raise Flaw(("parameters",), "stands beside trace", "they belong to generate")
    for name, values in entry.grid.items():
        if name not in GRID:
            raise Flaw(("grid", name), "cannot be varied", f"for a trace: {', '.join(GRID)}")
        for value in values:
            _validate_value(name, value)
    if entry.kinds and set(entry.grid) & set(UNIFORM):
        raise Flaw(("grid",), "varies servers that kinds states", "remove one of them")
    drawn = entry.wrong or any(entry.grid.get(WRONG, ()))
    if entry.workload_seeds and not drawn:
        what = "has no effect: nothing of a trace is drawn"
        raise Flaw(("workload_seeds",), what, "remove it, or state the share of wrong estimates")
    _validate_value(WRONG, entry.wrong)


def _validate_value(name: str, value: Any) -> None:
    if name == WRONG:
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:
            raise Flaw((name,), f"{value!r} is no share", "write a number from 0 to 1")
    elif name == "together":
        if not isinstance(value, bool):
            raise Flaw(("grid", name), f"{value!r} is neither true nor false", "write one of them")
    elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Flaw(("grid", name), f"{value!r} is no number from 1", "write whole numbers")


def _validate_generator(entry: JobsEntry, name: str) -> None:
    if name not in GENERATORS:
        raise Flaw(("generate",), f'"{name}" is no generator', f"those: {', '.join(GENERATORS)}")
    for field in _OF_TRACES:
        if field in entry.model_fields_set:
            remedy = "what the generator takes stands in parameters"
            raise Flaw((field,), "stands beside generate", remedy)
    known = {**GENERATORS[name].parameters, SERVERS: None}
    for field in ("parameters", "grid"):
        for parameter in getattr(entry, field):
            if parameter not in known and (field, parameter) != ("grid", WRONG):
                remedy = f"it has: {', '.join(known)}"
                raise Flaw((field, parameter), "is no parameter of the generator", remedy)
    both = set(entry.parameters) & set(entry.grid)
    if both:
        raise Flaw(("grid", min(both)), "stands in parameters, too", "remove one of them")


def workload_specs(entry: JobsEntry, folder: Path) -> Iterator[WorkloadSpec]:
    """Yield the specifications of an entry's workloads; a trace is read now, once.

    Raises
    ------
    Flaw
        If the trace or its profiles cannot be used; with the field's path.
    """
    for values in itertools.product(*entry.grid.values()):
        varied = dict(zip(entry.grid, values, strict=True))
        for seed in entry.workload_seeds or (None,):
            if entry.generate is None:
                yield _of_trace(entry, folder, varied, seed)
            else:
                parameters = plain(entry.parameters) | plain(varied)
                wrong = parameters.pop(WRONG, entry.wrong) if WRONG in varied else entry.wrong
                yield WorkloadSpec.generated(
                    entry.generate, parameters, seed or 0, wrong=float(wrong), varied=varied
                )


def _of_trace(
    entry: JobsEntry, folder: Path, varied: Mapping[str, Any], seed: int | None
) -> WorkloadSpec:
    chosen = {name: getattr(entry, name) for name in GRID} | dict(varied)
    options = {name: chosen[name] for name in ("together", "limit")}
    options = {"profiles": entry.profiles} | options | plain(entry.profile_options)
    files = {
        name: _path(folder, options[name])
        for name in FILES.get(entry.profiles or "", ())
        if name in options
    }
    trace = str(entry.trace)
    try:
        return WorkloadSpec.of_trace(
            *(_path(folder, trace), trace, options, cluster_of(entry, chosen), files),
            wrong=float(chosen[WRONG]),
            seed=seed,
            varied=varied,
        )
    except (DlschedError, TypeError) as error:
        remedy = "a path is relative to the suite; profiles must suit the trace"
        raise Flaw(("trace",), f"cannot be used: {error}", remedy) from None


def cluster_of(entry: JobsEntry, chosen: Mapping[str, Any]) -> Cluster:
    """Return the servers of an entry with a trace."""
    if entry.kinds:
        made = Cluster.of([kind.model_dump(exclude_none=True) for kind in entry.kinds])
    else:
        servers, gpus = chosen["servers"], chosen["gpus"]
        made = Cluster.uniform(servers, gpus, cpus=chosen["cpus"], memory=chosen["memory"])
    if not entry.loans:
        return made
    data = made.model_dump(mode="json", exclude_defaults=True)
    return Cluster.parse(data | {"loans": [loan.model_dump() for loan in entry.loans]}, "loans")


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
