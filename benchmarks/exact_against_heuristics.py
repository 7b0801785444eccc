"""`exact` against all heuristics and baselines of its problem, under limits of 1, 10 and 60 s.

Run ``python benchmarks/exact_against_heuristics.py utility-1 interleaving-10``: sections are a
problem and a limit; all by default, which takes hours. Every run has the limit, its start included.
Seconds are of processor time, of which a busy machine gives less than the limit, which is one of
the clock. Where a run is ended by its limit, the same call has another result the next time: if a
heuristic is better than the exact method, both run twice more, and the table says how often it was.

Two more tables have every method of the problem: the gap of its solution to the best one of the
row, and the gap of the best solution to its bound, with the level at which they first differ.
A test (tests/test_retirement.py) reads from them which methods could be retired.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, TypeAlias

from figures import cell
from machine import load

import dlsched
from dlsched import registry
from dlsched.registry import Kind
from dlsched.results.objective import ByLevel, gap
from dlsched.results.result import Result
from dlsched.schema import Instance
from dlsched.text.figures import display

LIMITS = (1, 10, 60)
HEURISTICS = {Kind.HEURISTIC, Kind.BASELINE}
TINY = 1e-8
"""Gaps that are a solver's last digits."""
Timed: TypeAlias = tuple[Result, float]
"""A result, and the processor seconds that it took."""
INSTANCES: dict[str, list[dict[str, Any]]] = {
    "reclaiming": [
        {"servers": 40, "demand": 12, "spread": 0.9},
        {"servers": 520, "demand": 200, "spread": 0.9},
        {"servers": 1000, "demand": 300, "gpus": 64, "jobs": 4000, "scattered": 4},
    ],
    "elastic": [
        {"jobs": 100},
        {"jobs": 354, "capacity": 245, "loan": 80},
        {"jobs": 10_000},
    ],
    "interleaving": [
        {"jobs": 64},
        {"jobs": 64, "grouping": "cover"},
        {"jobs": 64, "resources": 2},
        {"jobs": 256},
        {"jobs": 1000, "distinct": False},
        {"jobs": 1000},
    ],
    "utility": [
        {"jobs": 8, "slots": 20},
        {"jobs": 25, "slots": 40, "mix": "even"},
        {"jobs": 100, "slots": 100},
        {"jobs": 480, "slots": 400, "gpus": 60},
        {"jobs": 6, "slots": 8, "forking": True},
    ],
    "placement": [
        {"tables": 15, "regions": 4, "jobs": 20},
        {"tables": 30, "regions": 4, "jobs": 40},
        {"tables": 300, "regions": 6, "jobs": 900},
        {"tables": 1000, "regions": 10, "jobs": 3000},
    ],
    "sensitivity": [
        {"servers": 4},
        {"servers": 16, "multi": True},
        {"servers": 16, "multi": True, "distinct": True},
        {"servers": 64, "multi": True},
    ],
    "workers": [
        {"training": 12, "loan": 16, "jobs": 30},
        {},
        {"scenario": "heterogeneous"},
    ],
    "dispatch": [
        {"scope": "one"},
        {"pending": 15},
        {"pending": 40, "machines": 40},
        {"pending": 150, "machines": 200, "allocation": 0.99},
    ],
    "shares": [
        {},
        {"jobs": 256, "objective": "makespan"},
        {"jobs": 256, "objective": "finish_time"},
    ],
    "configurations": [
        {},
        {"jobs": 100, "workload": "newtrace"},
        {"jobs": 1000, "scale": 32},
    ],
}
"""By problem the parameters of the instances, each drawn with seed 0."""


def section(problem: str, limit: float) -> Iterator[str]:
    """Yield the table of a problem under a limit."""
    yield f"{load().capitalize()}.\n"
    yield (
        "| instance | exact | status | objective | gap | processor s | best heuristic | objective "
        "| processor s | better than exact |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    _warm_up(dlsched.generate(problem, 0, **INSTANCES[problem][0]))
    measured: dict[str, dict[str, Timed]] = {}
    for parameters in INSTANCES[problem]:
        instance = dlsched.generate(problem, 0, **parameters)
        exact, seconds = _timed(instance, "exact", limit)
        others = [*_runs(instance, limit, HEURISTICS)]
        better = [_repeated(instance, r, limit) for r, _ in others if _beats(r, exact)]
        best, own = _best(others)
        yield (
            f"| {instance.name} | {exact.method} | {exact.status} | {_worth(exact)} "
            f"| {_gap(exact)} | {seconds:.2f} | {best.method} | {_worth(best)} "
            f"| {own:.2f} | {', '.join(better) or '-'} |"
        )
        rest = _runs(instance, limit, set(Kind) - HEURISTICS, besides=exact.method)
        size = instance.name.removeprefix(f"{problem}-").rpartition("-")[0].replace("-", ", ")
        runs = [(exact, seconds), *others, *rest]
        measured[size or "as generated"] = {run[0].method: run for run in runs}
    for title, kinds, gap_of in (
        ("Solutions of all methods", HEURISTICS | {Kind.EXACT}, _solution_gap),
        ("Bounds of all methods", set(Kind) - HEURISTICS, _bound_gap),
    ):
        yield f"\n{title}: gap, processor seconds.\n"
        yield f"| method | {' | '.join(measured)} |\n|---{'|---' * len(measured)}|"
        for name, method in registry.problem(problem).methods.items():
            if method.kind in kinds:
                cells = [
                    _timed_cell(runs.get(name), gap_of, _best(list(runs.values()))[0])
                    for runs in measured.values()
                ]
                yield f"| `{name}` | {' | '.join(cells)} |"


def _best(runs: Sequence[Timed]) -> Timed:
    """Return the first run whose solution no other one beats."""
    best = runs[0]
    for other in runs[1:]:
        best = other if _beats(other[0], best[0]) else best
    return best


def _timed_cell(run: Timed | None, gap_of: Callable[[Result, Result], str], best: Result) -> str:
    said = gap_of(run[0], best) if run else ""
    return f"{said}, {run[1]:.3g} s" if run and said else "-"


def _solution_gap(result: Result, best: Result) -> str:
    """Return the gap to the best solution at the first level at which they differ."""
    if result.objective is None or best.objective is None:
        return ""
    if result.status == "optimal":
        return "proved"
    return _first_gap(gap(result.objective, best.objective)) or "0"


def _bound_gap(result: Result, best: Result) -> str:
    """Return the gap of the best solution to a bound; the level is the last one that is bounded."""
    if best.objective is None or result.bound[0] is None:
        return ""
    gaps = best.gap_to(result.bound)
    stated = [level.name for level, gap in zip(gaps.levels, gaps, strict=True) if gap is not None]
    closed = "0" if len(stated) == len(gaps) else f"0 ({stated[-1]})" if stated else ""
    return _first_gap(gaps) or closed


def _first_gap(gaps: ByLevel[float | None]) -> str:
    """Return the first gap that is more than a solver's last digits, and its level."""
    for level, gap_here in zip(gaps.levels, gaps, strict=True):
        if gap_here is not None and gap_here > TINY:
            return f"{cell(gap_here)} ({level.name})"
    return ""


def _warm_up(instance: Instance) -> None:
    """Import everything."""
    list(_runs(instance, 1, set(Kind)))


def _timed(instance: Instance, method: str, limit: float) -> Timed:
    """Return a method's result and its processor time."""
    began = time.process_time()
    return dlsched.solve(instance, method, time_limit=limit), time.process_time() - began


def _runs(instance: Instance, limit: float, kinds: Set[Kind], besides: str = "") -> Iterator[Timed]:
    """Run the methods of some kinds that take the instance."""
    for method in registry.problem(instance.problem).methods.values():
        if method.kind in kinds and method.name != besides:
            try:
                yield _timed(instance, method.name, limit)
            except dlsched.OptionError:  # not for this instance
                continue


def _repeated(instance: Instance, first: Result, limit: float) -> str:
    """Return how often a heuristic that was better than the exact method is so in three runs."""
    times = 1
    for _ in range(2):
        exact = dlsched.solve(instance, time_limit=limit)
        times += _beats(dlsched.solve(instance, first.method, time_limit=limit), exact)
    return f"{first.method}, {times} of 3"


def _beats(one: Result, other: Result) -> bool:
    if one.objective is None:
        return False
    return bool(other.objective is None or one.objective.better_than(other.objective))


def _worth(result: Result) -> str:
    """Return the values of all levels."""
    return "none" if result.objective is None else ", ".join(map(display, result.objective))


def _gap(result: Result) -> str:
    """Return the last gap that is stated, of the first level that is not at its bound."""
    stated = [gap for gap in result.gap if gap is not None]
    return cell(next((gap for gap in stated if gap), stated[-1] if stated else None))


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    f"{problem}-{limit}": functools.partial(section, problem, limit)
    for problem in INSTANCES
    for limit in LIMITS
}
