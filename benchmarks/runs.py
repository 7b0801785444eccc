"""Rows of instances by methods: most sections on a problem are such, as arguments in their page."""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from statistics import median
from typing import Any

import dlsched
from dlsched.results.result import Result
from dlsched.schema import Instance

Row = dict[str, Any]


def timed(instance: Instance, method: Any, calls: int = 1, **options: Any) -> tuple[Result, float]:
    """Return a method's result, and the median processor seconds of some calls."""
    spent = []
    for _ in range(calls):
        began = time.process_time()
        result = dlsched.solve(instance, method, **options)
        spent.append(time.process_time() - began)
    return result, median(spent)


def compare(
    problem: str,
    methods: Sequence[Mapping[str, Any] | str],
    grid: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    groups: Sequence[Mapping[str, Any]] = ({},),
) -> Iterator[Row]:
    """Yield a row for each generated instance and method; gaps are to the first method's bounds.

    Parameters
    ----------
    methods
        Names, or options of `solve` with `method`, a `label`, and `calls`, whose median counts.
    grid
        Lists of parameters; all combinations are drawn.
    groups
        Further parameters, with a `label` for their rows, and `seeds` of their own.
    """
    for group, values in itertools.product(groups, itertools.product(*grid.values())):
        parameters = dict(group) | dict(zip(grid, values, strict=True))
        label, own = parameters.pop("label", {}), parameters.pop("seeds", seeds)
        for seed in own:
            instance = dlsched.generate(problem, seed, **_whole(parameters))
            said = {k: _said(v) for k, v in parameters.items() if not isinstance(v, dict | list)}
            yield from rows_of(instance, methods, {**label, **said, **label, "seed": seed})


def _said(value: Any) -> Any:
    """Return a parameter as a row has it: 0.5 and 1.0, but whole numbers as such."""
    return str(value) if isinstance(value, float | bool) else value


def _whole(parameters: Row) -> Row:
    """Return parameters with numbers as the keys of tables, which TOML has as texts."""
    return {
        name: {int(k) if k.isdigit() else k: v for k, v in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in parameters.items()
    }


def rows_of(
    instance: Instance, methods: Sequence[Mapping[str, Any] | str], said: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield a row for each method of one instance."""
    best: Result | None = None
    for each in methods:
        options = {"method": each} if isinstance(each, str) else dict(each)
        label = options.pop("label", options["method"])
        module, _, function = options["method"].partition(":")
        if function:
            options["method"] = getattr(import_module(module), function)
        try:
            result, seconds = timed(instance, **options)
        except dlsched.OptionError:  # not for this instance
            continue
        best = best or result
        yield dict(said) | {"method": label, "s": seconds} | figures(result, best)


def figures(result: Result, best: Result) -> Row:
    """Return what a row states of a result: values and gaps by level, in per cent."""
    row: Row = {"status": str(result.status), "proved": result.status == "optimal"}
    row["resolved"] = result.method
    own = result.certified[0]
    if own is not None:
        row["bound"] = float(own.value)
    if result.objective is None:
        return row | {"gap": "stuck"}
    gaps = result.gap_to(best.bound)
    for (level, value), gap in zip(result.objective.pairs(), gaps, strict=True):
        row[level.name] = float(value)
        if gap is not None:
            row[f"{level.name}, gap"] = 100 * float(gap)
    row["gap"] = row.get(f"{gaps.levels[0].name}, gap", "-")
    if own is not None:
        value, bound = float(result.objective[0]), row["bound"]
        row["certified gap"] = 100 * abs(value - bound) / max(1e-12, abs(value), abs(bound))
    return row
