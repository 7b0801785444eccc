"""Several methods on several instances: a row for each, whatever a method raises."""

from __future__ import annotations

import itertools
import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dlsched import registry
from dlsched.api.loading import InstanceLike, load
from dlsched.api.solving import solve
from dlsched.display.table import Failure, Row, comparison_rows, data_frame
from dlsched.errors import OptionError, SolverDisagreement, describe
from dlsched.execution.executors import executor_of
from dlsched.registry import Method, MethodLike
from dlsched.registry.labels import distinguish, method_labels
from dlsched.registry.methods import SOLVE_KEYWORDS, Options
from dlsched.results.result import Result
from dlsched.schema.envelope import Instance, link_instance
from dlsched.variants import VariantProblem, owner_of

if TYPE_CHECKING:
    import pandas

    from dlsched.display.comparison import Comparison


def compare(
    instances: Iterable[InstanceLike],
    methods: Sequence[MethodLike],
    *,
    on_answer: Callable[[Result | Failure], None] | None = None,
    jobs: int = 1,
    on: Any = None,
    **solve_options: Any,
) -> Comparison:
    """Solve every instance with every method and return one row for each.

    An exception does not end the comparison. A method that raises gives a row with status
    ``"error"`` and the reason; with status ``"rejected"`` if the checker does not confirm its
    answer, ``"memory"`` if it runs out of memory.

    Parameters
    ----------
    instances, methods
        Anything that `solve` takes.
    on_answer
        Called with each result or failure as soon as it is there, in the order of the rows.
    jobs
        Number of runs at a time; from 2 on they are made in other processes, for which methods must
        be names or functions of a module.
    on
        What makes the runs instead: an executor of `concurrent.futures`, or a client of Dask.
    **solve_options
        Passed on to `solve`. An option that some of the methods lack is an error of these.

    Raises
    ------
    OptionError
        If a keyword is neither one of `solve` nor an option of any of the methods, or a method is
        given twice.

    Returns
    -------
    Comparison
        A data frame, printed as its summary. The columns are described in
        `dlsched.display.table.COLUMNS`. ``gap`` is to the bound that the method itself proved,
        ``gap_to_best`` to the best bound known. Different instances with one name have 8 digits of
        their digest added to it.
    """
    rows = comparison(instances, methods, on_answer=on_answer, jobs=jobs, on=on, **solve_options)
    return as_comparison(data_frame(rows))


def as_comparison(frame: pandas.DataFrame) -> Comparison:
    """Return a frame of runs as the table of `compare`."""
    table: Comparison = import_module("dlsched.display.comparison").Comparison(frame)
    return table


def comparison(
    instances: Iterable[InstanceLike],
    methods: Sequence[MethodLike],
    *,
    on_answer: Callable[[Result | Failure], None] | None = None,
    jobs: int = 1,
    on: Any = None,
    **solve_options: Any,
) -> list[Row]:
    """Return the rows of `compare`."""
    rows: list[Row] = []
    names = method_labels(methods)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise OptionError(f"methods has {twice[0]!r} more than once; give each method once")
    loaded = list(map(load, instances))
    _refuse(loaded, methods, solve_options)
    one = partial(attempt, **solve_options)
    answers = _answers(list(itertools.product(loaded, methods)), one, jobs, on)
    for inst in loaded:
        group: list[Result | Failure] = []
        for answer in itertools.islice(answers, len(methods)):
            group.append(answer)
            if on_answer:
                on_answer(answer)
        size = len(getattr(inst, registry.problem(inst.problem).size))
        rows += [row | {"size": size} for row in comparison_rows(group, names)]
    return distinguish(rows)


def _answers(
    pairs: Sequence[tuple[Instance, MethodLike]],
    one: Callable[[Instance, MethodLike], Result | Failure],
    jobs: int,
    on: Any,
) -> Iterator[Result | Failure]:
    """Yield the answers in order: made here, or on an executor."""
    if on is None and type(jobs) is int and jobs == 1:
        yield from itertools.starmap(one, pairs)
        return
    if on is None:
        try:
            foreign = b"__main__" in pickle.dumps([one, [method for _, method in pairs]])
        except (pickle.PicklingError, AttributeError, TypeError):
            foreign = True
        if foreign:
            what = "a method or an option cannot go to another process"
            raise OptionError(f"jobs={jobs}: {what}: define it in a module of its own, or jobs=1")
    with executor_of(on, jobs) as pool:
        # A process takes longer to begin than a short run: each makes an eighth of a job's share.
        size = max(1, len(pairs) // (8 * jobs)) if on is None else 1
        parts = [pairs[i : i + size] for i in range(0, len(pairs), size)]
        futures = [_submitted(pool, one, part) for part in parts]
        try:
            for part, future in zip(parts, futures, strict=True):
                try:
                    answers = future.result()
                except Exception as error:  # of the worker: what a method raises is an answer
                    alone = (_submitted(pool, one, [pair]) for pair in part if len(part) > 1)
                    answers = [f.exception() or f.result()[0] for f in alone] or [error]
                for (inst, method), answer in zip(part, answers, strict=True):
                    if isinstance(answer, Exception):
                        labels = (method_labels([method])[0], describe(answer), "crashed")
                        yield Failure(inst.problem, inst.name, *labels, inst.sha256)
                        continue
                    if isinstance(answer, Result):
                        link_instance(answer, inst)
                    yield answer
        finally:
            for future in futures:
                future.cancel()


def _several(one: Callable[..., Any], pairs: Sequence[tuple[Instance, MethodLike]]) -> list[Any]:
    return list(itertools.starmap(one, pairs))


def _submitted(
    pool: Executor, one: Callable[..., Any], pairs: Sequence[tuple[Instance, MethodLike]]
) -> Future[list[Any]]:
    try:
        return pool.submit(_several, one, pairs)
    except RuntimeError as error:  # it is broken, by a run that was submitted before, or ended
        future: Future[list[Any]] = Future()
        future.set_exception(error)
        return future


def _refuse(instances: Sequence[Instance], methods: Sequence[MethodLike], options: Options) -> None:
    """Raise if a keyword is neither one of `solve` nor an option of any of the methods."""
    known: list[Method] = []
    for instance, method in itertools.product(instances if options else (), methods):
        with suppress(Exception, SystemExit):  # its row says what is wrong
            known.append(owner_of(instance, options.get("variant")).resolve(method, instance))
    for name, value in options.items():
        if name not in SOLVE_KEYWORDS and not any(method.accepts(name) for method in known):
            for method in known:
                method.validate_options({name: value})


def attempt(instance: Instance, method: MethodLike, **solve_options: Any) -> Result | Failure:
    """Solve; return what was raised instead of raising it. The method may also exit or fork."""
    process, resolved = os.getpid(), None
    try:
        owner = owner_of(instance, solve_options.get("variant"))
        chosen = owner.resolve(method, instance)
        resolved = chosen.name
        again = method if isinstance(owner, VariantProblem) else chosen
        answer: Result | Failure = solve(instance, again, **solve_options)
    except (Exception, SystemExit) as error:  # a method may raise anything
        kinds = {SolverDisagreement: "rejected", MemoryError: "memory"}
        status = next((s for kind, s in kinds.items() if isinstance(error, kind)), "error")
        labels = (method_labels([method])[0], describe(error), status, instance.sha256)
        answer = Failure(instance.problem, instance.name, *labels, resolved)
    if os.getpid() != process:  # this is a child process that the method has forked
        os._exit(0)
    return answer
