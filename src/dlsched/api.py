"""The public calls: load, solve, verify, compare, bound, generate, model, export."""

from __future__ import annotations

import inspect
import logging
import numbers
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, cast

import numpy as np

from dlsched import library, registry
from dlsched.errors import InstanceError, OptionError, SolverDisagreement, describe
from dlsched.evaluation import evaluate_claim
from dlsched.files import read_json, validate_target, write_bytes, write_json
from dlsched.frames.layout import columns
from dlsched.frames.read import Reader
from dlsched.labels import distinguish, labelled, method_labels
from dlsched.objective import Bounds, gap
from dlsched.records import load_result
from dlsched.registry import Kind, Method, MethodLike, Problem, problem_names
from dlsched.result import Claim, Point, Report, Result, Start, Status
from dlsched.run import Run, Stage, StageListener, announce
from dlsched.schema.envelope import SCHEMA_VERSION, AnyInstance, Instance
from dlsched.schema.link import link_instance
from dlsched.schema.quantities import shown
from dlsched.schema.solution import AnySolution, Solution
from dlsched.solvers.lp import lp_text
from dlsched.solvers.mps import mps_text
from dlsched.table import Failure, comparison_rows, data_frame

if TYPE_CHECKING:
    import pandas

logger = logging.getLogger(__name__)

InstanceLike: TypeAlias = "Instance | str | Path | Mapping[str, Any]"
SolutionLike: TypeAlias = "Solution | Result | str | Path | Mapping[str, Any]"


def list_problems() -> list[str]:
    """Return the names of the problems."""
    return problem_names()


def list_methods(problem: str) -> pandas.DataFrame:
    """Return the methods of a problem as a table: name, kind, summary, options.

    Raises
    ------
    UnknownName
        If there is no such problem.
    """
    import pandas as pd

    rows = [
        (m.name, str(m.kind), m.summary, m.options)
        for m in registry.problem(problem).methods.values()
    ]
    return pd.DataFrame(rows, columns=["method", "kind", "summary", "options"])


def list_instances(problem: str | None = None) -> list[str]:
    """Return the names of the shipped instances, of one problem or of all."""
    return library.names(problem)


def load(source: InstanceLike) -> AnyInstance:
    """Load an instance.

    Parameters
    ----------
    source
        A name in the library, a path to ``.json`` or ``.json.gz``, plain data, or an instance.

    Raises
    ------
    InstanceError
        If the file or the data cannot be used; it names the field and the remedy.
    UnknownName
        If it is neither a file nor a name in the library.
    """
    if isinstance(source, Instance):
        return cast(AnyInstance, source)
    if isinstance(source, Mapping):
        return _parse_instance(source, "the instance")
    path = _path(source, "the instance")
    bare = path.name == str(source) and not os.path.isfile(path)
    if bare and (path.name in library.index() or not (path.suffix or os.path.exists(path))):
        path = library.instance_file(path.name)  # raises if there is none, naming the near ones
    return _parse_instance(read_json(path), str(source))


def from_frames(problem: str, /, **parts: Any) -> AnyInstance:
    """Make an instance from data frames; the inverse of ``instance.to_frames()``.

    Parameters
    ----------
    problem
        Name of the problem.
    **parts
        Single values of the instance by name, as ``demand=2``; its name is "unnamed" by default.
        Lists and mappings as frames: ``servers=``, ``jobs=``. What a row of these has as a list or
        mapping is a frame of its own, with a column for the id, as ``jobs_workers=`` with the
        column ``job``; `dlsched.frame_columns` lists frames and columns. Instead, a column of the
        row's own frame may hold lists, or, for a mapping, there may be a column per key, as
        ``gpus.V100``. The frame ``instance=`` has single values in one row. Lists and mappings of
        the instance itself may also be given as such.

        Rows are in the instance's order; the index counts only if it has a name. A cell without a
        value (None, NaN, NA) is an absent field. Whole floats are integers, as pandas makes floats
        of integers with gaps.

    Raises
    ------
    UnknownName
        If there is no such problem.
    InstanceError
        Naming frame, row (counted from 0, as for ``iloc``) and column, and the remedy.
    """
    owner = registry.problem(problem)
    reader = Reader(owner.instance, parts)
    data = {"dlsched": SCHEMA_VERSION, "problem": owner.name, "name": "unnamed"} | reader.data()
    made: AnyInstance = reader.parse(data)
    return made


def frame_columns(problem: str) -> dict[str, list[str]]:
    """Return the frames that `from_frames` takes for a problem, each with its columns.

    Raises
    ------
    UnknownName
        If there is no such problem.
    """
    return columns(registry.problem(problem).instance)


def load_solution(source: SolutionLike, problem: str | None = None) -> AnySolution:
    """Load a solution from a path, plain data, or a result.

    Raises
    ------
    InstanceError
        If it cannot be used, or belongs to another problem than `problem`.
    """
    if isinstance(source, Result):
        if source.solution is None:
            raise InstanceError("the result", "solution", "is missing", source.reason)
        source = source.solution
    if isinstance(source, Solution):
        _validate_problem(source.problem, problem, "the solution")
        return cast(AnySolution, source)
    if isinstance(source, Mapping):
        where, data = "the solution", source
    else:
        path = _path(source, "the solution")
        where, data = str(path), read_json(path)
    owner = _owner(data, where)
    if "name" in data and "instance" not in data:
        raise InstanceError(where, "", "is an instance, not a solution", "give the solution's file")
    _validate_problem(owner.name, problem, where)
    found: AnySolution = owner.solution.parse(data, where)
    return found


def _validate_problem(found: str, wanted: str | None, where: str) -> None:
    if wanted is not None and found != wanted:
        remedy = f'a solution of a "{wanted}" instance is needed'
        raise InstanceError(where, "problem", f'is "{found}"', remedy)


def save(document: Instance | Solution, path: str | Path) -> None:
    """Write an instance or a solution; gzipped if the name ends in ``.gz``."""
    write_json(Path(path), document.to_data())


def read_result(text: str) -> Result:
    """Return the result that `Result.to_json` wrote.

    Raises
    ------
    InstanceError
        If the text is something else, or a part of it is missing.
    """
    return load_result(text)


def solve(
    instance: InstanceLike,
    method: MethodLike = "exact",
    *,
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    solver: str = "highs",
    start: SolutionLike | None = None,
    log: bool = False,
    on_progress: Callable[[Point], None] | None = None,
    on_stage: StageListener | None = None,
    **method_options: Any,
) -> Result:
    """Solve an instance and have the answer checked.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    method
        Name of a method, ``module:function``, or any callable ``f(instance, rng) -> Solution``.
        ``"exact"`` is the best exact method for the instance.
    time_limit
        Wall-clock seconds for everything, or ``None``. A limit that strikes never raises: the
        status says whether there is a solution, the bound what holds.
    gap
        Relative gap at which a proof is good enough.
    threads, seed
        The same seed gives the same answer on one thread. More threads than the machine has are
        not used.
    solver
        ``"highs"`` or any solver that Pyomo knows, for methods that build a model.
    start
        A solution to start from; the result's ``start`` says whether it was used.
    log
        Let the solver write to the terminal.
    on_progress
        Called with each `Point` (seconds, objective, bound).
    on_stage
        Called with each `StageEvent` (stage, detail): loading, compiling, building, searching,
        checking. Stages and points are also logged by the logger ``dlsched``.
    **method_options
        Options of the method; see `methods`.

    Raises
    ------
    InstanceError
        If instance or start cannot be used.
    UnknownName, OptionError, SolverMissing
        If there is no such method, option or solver.
    SolverDisagreement
        If the checker does not confirm what the method claims.
    """
    if not isinstance(instance, Instance):
        announce(on_stage, Stage.LOADING, "the instance")
    inst = load(instance)
    owner = registry.problem(inst.problem)
    chosen = owner.resolve(method, inst)
    chosen.validate_options(method_options)
    validate_limits(time_limit, gap, threads, solver)
    chosen.prepare(owner.package, on_stage, inst)
    cores = os.cpu_count() or 1
    if threads > cores:
        logger.info("%d threads instead of %d: there are no more cores", cores, threads)
    run = Run(
        time_limit,
        gap,
        min(threads, cores),
        seed,
        solver,
        log=log,
        on_progress=on_progress,
        on_stage=on_stage,
    )
    run.start, rejected = _start(owner, inst, start)
    why = owner.explain(inst)
    if why:
        claim = Claim(status=Status.INFEASIBLE, reason=why)
    elif chosen.wants_run:
        with run.interruptible():
            claim = chosen(inst, run, method_options)
    else:
        claim = chosen(inst, run, method_options)
    result = evaluate_claim(owner, inst, chosen, claim, run, method_options)
    if start is not None and result.start is None:
        reason = rejected or f"{chosen.name} takes no start"
        result = replace(result, start=Start(False, reason))
        link_instance(result, inst)
    if result.start is not None and not result.start.accepted:
        logger.warning("the start is not used: %s", result.start.reason)
    return result


def verify(
    instance: InstanceLike, solution: SolutionLike, *, bound: Bounds | None = None
) -> Report:
    """Check a solution against the problem's definition; no solver is involved.

    Parameters
    ----------
    instance, solution
        Anything that `load` and `load_solution` take.
    bound
        What to state the gap to; by default the library's bound, if the instance is in it.

    Raises
    ------
    InstanceError
        If either cannot be used, or the solution is of another problem or instance.
    """
    inst = load(instance)
    owner = registry.problem(inst.problem)
    sol = load_solution(solution, inst.problem)
    if sol.instance_sha256 not in (None, inst.sha256):
        raise InstanceError(
            "the solution",
            "instance_sha256",
            f"is not the digest of {inst.name}",
            "verify it against the instance it was made for, or drop the field",
        )
    report = owner.check(inst, sol)
    bound = bound if bound is not None else library.best_bounds(inst.sha256)
    if bound is not None and report.feasible and report.objective is not None:
        report = replace(report, gap=gap(report.objective, bound))
    return report


def compare(
    instances: Iterable[InstanceLike],
    methods: Sequence[MethodLike],
    *,
    on_answer: Callable[[Result | Failure], None] | None = None,
    **solve_options: Any,
) -> pandas.DataFrame:
    """Solve every instance with every method and return one row for each.

    An exception does not end the comparison. A method that raises gives a row with status
    ``"error"`` and the reason; with status ``"rejected"`` if the checker does not confirm its
    answer, ``"memory"`` if it runs out of memory.

    Parameters
    ----------
    instances, methods
        Anything that `solve` takes.
    on_answer
        Called with each result or failure as soon as it is there.
    **solve_options
        Passed on to `solve`.

    Returns
    -------
    pandas.DataFrame
        The columns are described in `dlsched.table.COLUMNS`. ``gap`` is to the bound that the
        method itself proved, ``gap_to_best`` to the best bound known. Different instances with one
        name have 8 digits of their digest added to it.
    """
    return data_frame(comparison(instances, methods, on_answer=on_answer, **solve_options))


def comparison(
    instances: Iterable[InstanceLike],
    methods: Sequence[MethodLike],
    *,
    on_answer: Callable[[Result | Failure], None] | None = None,
    **solve_options: Any,
) -> list[dict[str, Any]]:
    """Return the rows of `compare`."""
    rows: list[dict[str, Any]] = []
    names = method_labels(methods)
    for source in instances:
        inst = load(source)
        group: list[Result | Failure] = []
        for chosen in methods:
            group.append(attempt(inst, chosen, **solve_options))
            if on_answer:
                on_answer(group[-1])
        size = len(getattr(inst, registry.problem(inst.problem).size))
        rows += [row | {"size": size} for row in comparison_rows(group, names)]
    return distinguish(rows)


def attempt(
    instance: Instance, method: MethodLike | Method, **solve_options: Any
) -> Result | Failure:
    """Solve; return what was raised instead of raising it. The method may also exit or fork."""
    process, resolved = os.getpid(), None
    try:
        chosen = registry.problem(instance.problem).resolve(method, instance)
        resolved = chosen.name
        answer: Result | Failure = solve(instance, chosen, **solve_options)
    except (Exception, SystemExit) as error:  # a method may raise anything
        kinds = {SolverDisagreement: "rejected", MemoryError: "memory"}
        status = next((s for kind, s in kinds.items() if isinstance(error, kind)), "error")
        labels = (method_labels([method])[0], describe(error), status, instance.sha256)
        answer = Failure(instance.problem, instance.name, *labels, resolved)
    if os.getpid() != process:  # this is a child process that the method has forked
        os._exit(0)
    return answer


def bound(instance: InstanceLike, method: MethodLike | None = None, **solve_options: Any) -> Bounds:
    """Return a bound per level, each certified or claimed.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    method
        A bound or exact method; by default the problem's own bound method.

    Raises
    ------
    OptionError
        If the method is a heuristic, which proves nothing.
    """
    inst = load(instance)
    owner = registry.problem(inst.problem)
    chosen = owner.resolve(method or owner.bound, inst)
    if chosen.kind in (Kind.HEURISTIC, Kind.BASELINE):
        raise OptionError(f"{chosen.name} is a {chosen.kind}: it proves no bound")
    return solve(inst, chosen, **solve_options).bound


def generate(problem: str, seed: int = 0, **parameters: Any) -> AnyInstance:
    """Return a random instance with the paper's statistics.

    Parameters
    ----------
    problem
        Name of the problem.
    seed
        The same seed and parameters give the same instance.
    **parameters
        Of the problem's generator; see its docstring, ``dlsched show PROBLEM``, or the docs.

    Raises
    ------
    OptionError
        If the generator has no such parameter, or cannot take the value.
    """
    generator = registry.problem(problem).module("generate").generate
    known = list(inspect.signature(generator).parameters)[1:]
    for name in parameters:
        if name not in known:
            raise OptionError(f"generate {problem} has no parameter {name!r}; it has: {known}")
    rng = np.random.default_rng(seed)
    made: AnyInstance = generator(rng, **parameters)
    said = "".join(f", {k}={v!r}" for k, v in sorted(parameters.items()))
    labels = {
        "name": f"{labelled(problem, parameters)}-{seed}" if made.name == "unnamed" else made.name,
        "source": f"dlsched.generate({problem!r}, seed={seed}{said})",
    }
    return made.model_copy(update=labels)


def model(instance: InstanceLike) -> Any:
    """Return the instance's Pyomo model, with one objective per level, all of them active."""
    inst = load(instance)
    return registry.problem(inst.problem).module("model").build(inst)


def export(
    instance: InstanceLike,
    path: str | Path,
    *,
    level: str | None = None,
    held: Mapping[str, float] | None = None,
    built: Any = None,
    format: Literal["lp", "mps"] | None = None,
) -> None:
    """Write one level of an instance's model as an LP or MPS file, for any solver.

    Parameters
    ----------
    instance
        Anything that `load` takes.
    path
        ``.lp``, ``.lp.gz``, ``.mps`` or ``.mps.gz``.
    level
        Name of the level to optimise; the first by default.
    held
        ``{level name: value}`` for every earlier level: the value that it must keep.
    built
        The model to write; `model` of the instance by default.
    format
        ``"lp"`` or ``"mps"``; by default LP if `path` ends in ``.lp`` or ``.lp.gz``, else MPS.

    Raises
    ------
    OptionError
        If there is no such level or format, or an earlier level has no value.
    InstanceError
        If a constraint is violated whatever the variables are, so that there is no model.
    """
    validate_target(Path(path))
    if format is None:
        format = "lp" if Path(path).name.endswith((".lp", ".lp.gz")) else "mps"
    text = model_text(instance, format, level=level, held=held, built=built)
    write_bytes(Path(path), text.encode())


def model_text(
    instance: InstanceLike,
    format: Literal["lp", "mps"],
    *,
    level: str | None = None,
    held: Mapping[str, float] | None = None,
    built: Any = None,
) -> str:
    """Return what `export` writes."""
    if format not in _MODEL_FORMATS:
        raise OptionError(f"format={format!r:.40} is unknown; write one of: lp, mps")
    inst = load(instance)
    levels = [entry.name for entry in registry.problem(inst.problem).levels]
    target = level or levels[0]
    if target not in levels:
        raise OptionError(f"{inst.problem} has no level {target!r}; it has: {', '.join(levels)}")
    rank = levels.index(target)
    missing = [name for name in levels[:rank] if name not in (held or {})]
    if missing:
        raise OptionError(f"level {target!r} needs the value of {missing[0]!r}: pass it in held=")
    holds = [float((held or {})[name]) for name in levels[:rank]]
    try:
        return _MODEL_FORMATS[format](inst.name, built or model(inst), rank, holds)
    except Exception as error:
        why = registry.problem(inst.problem).explain(inst)
        if not why:
            raise
        problem = f"has no solution, and a model that cannot be written: {why}"
        raise InstanceError(inst.name, "", problem, "see: dlsched solve") from error


_MODEL_FORMATS = {"lp": lp_text, "mps": mps_text}


def _path(source: object, where: str) -> Path:
    if isinstance(source, (str, os.PathLike)):
        return Path(source)
    problem = f"is of type {type(source).__name__}"
    raise InstanceError(where, "", problem, "give a path, a name, or the data as a dict")


def _owner(data: Mapping[str, Any], where: str) -> Problem:
    version = data.get("dlsched")
    if version is None:
        raise InstanceError(where, "dlsched", "is missing", f'add "dlsched": {SCHEMA_VERSION}')
    whole = isinstance(version, numbers.Integral) and not isinstance(version, bool)
    if not whole or version != SCHEMA_VERSION:
        raise InstanceError(
            where,
            "dlsched",
            f"is {shown(version)}, a schema this version does not know",
            f"this is schema {SCHEMA_VERSION}; upgrade dlsched if the file is newer",
        )
    name = data.get("problem")
    if not isinstance(name, str) or not registry.is_problem(name):
        known = ", ".join(problem_names())
        problem = "is missing" if name is None else f"is {shown(name)}, an unknown problem"
        raise InstanceError(where, "problem", problem, f"write one of: {known}")
    return registry.problem(name)


def _parse_instance(data: Mapping[str, Any], where: str) -> AnyInstance:
    owner = _owner(data, where)
    if "instance" in data and "name" not in data:
        raise InstanceError(where, "", "is a solution, not an instance", "give the instance's file")
    found: AnyInstance = owner.instance.parse(data, where)
    return found


def _start(
    owner: Problem, inst: Instance, start: SolutionLike | None
) -> tuple[Solution | None, str]:
    """Return the start if the checker accepts it, else why not."""
    if start is None:
        return None, ""
    found = load_solution(start, inst.problem)
    # A start may be of another version of the instance: only its feasibility matters.
    solution = found.model_copy(update={"instance_sha256": inst.sha256, "credit": None})
    report = owner.check(inst, solution)
    if report.feasible:
        return solution, ""
    first = report.violations[0]
    return None, f"rejected by the checker: {first.where}: {first.message}"


def validate_limits(time_limit: object, gap: object, threads: object, solver: object) -> None:
    """Raise OptionError if a limit has a wrong type or value, or `solver` is not a name."""
    if time_limit is not None and not (_is_number(time_limit) and time_limit > 0):
        raise OptionError(f"time_limit={time_limit!r} must be above 0 seconds, or None")
    if not (_is_number(gap) and 0 <= gap < 1):
        raise OptionError(f"gap={gap!r} must be a fraction from 0 to below 1")
    if not isinstance(threads, numbers.Integral) or isinstance(threads, bool) or threads < 1:
        raise OptionError(f"threads={threads!r} must be at least 1, as a whole number")
    if not isinstance(solver, str):
        raise OptionError(f"solver={solver!r:.40} must be a solver's name, as highs")
    if time_limit is not None and time_limit > 1e9:
        warnings.warn("a time limit beyond 30 years is no limit", stacklevel=3)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
