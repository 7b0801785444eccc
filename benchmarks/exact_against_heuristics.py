"""`exact` against all heuristics and baselines of its problem, under limits of 1, 10 and 60 s.

Run ``python benchmarks/exact_against_heuristics.py utility-1 interleaving-10``: sections are a
problem and a limit; all by default, which takes hours. Every run has the limit, its start included.
Seconds are of processor time, of which a busy machine gives less than the limit, which is one of
the clock. Where a run is ended by its limit, the same call has another result the next time: if a
heuristic is better than the exact method, both run twice more, and the table says how often it was.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from figures import arguments, cell, write
from machine import load

import dlsched
from dlsched import registry
from dlsched.registry import Kind
from dlsched.results.result import Result
from dlsched.schema import Instance
from dlsched.text.figures import display

LIMITS = (1, 10, 60)
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
}
"""By problem the parameters of the instances, each drawn with seed 0."""


def section(problem: str, limit: float) -> Iterator[str]:
    """Yield the table of a problem under a limit."""
    yield f"## {problem}, {limit} s\n"
    yield f"{load().capitalize()}.\n"
    yield (
        "| instance | exact | status | objective | gap | processor s | best heuristic | objective "
        "| processor s | better than exact |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    _warm_up(dlsched.generate(problem, 0, **INSTANCES[problem][0]))
    for parameters in INSTANCES[problem]:
        instance = dlsched.generate(problem, 0, **parameters)
        exact, seconds = _timed(instance, "exact", limit)
        others = [*_heuristics(instance, limit)]
        better = [_repeated(instance, r, limit) for r, _ in others if _beats(r, exact)]
        best, own = others[0]
        for other, taken in others[1:]:
            best, own = (other, taken) if _beats(other, best) else (best, own)
        yield (
            f"| {instance.name} | {exact.method} | {exact.status} | {_worth(exact)} "
            f"| {_gap(exact)} | {seconds:.2f} | {best.method} | {_worth(best)} "
            f"| {own:.2f} | {', '.join(better) or '-'} |"
        )


def _warm_up(instance: Instance) -> None:
    """Import and compile everything."""
    dlsched.solve(instance, time_limit=1)
    list(_heuristics(instance, 1))


def _timed(instance: Instance, method: str, limit: float) -> tuple[Result, float]:
    """Return a method's result and its processor time."""
    began = time.process_time()
    return dlsched.solve(instance, method, time_limit=limit), time.process_time() - began


def _heuristics(instance: Instance, limit: float) -> Iterator[tuple[Result, float]]:
    for method in registry.problem(instance.problem).methods.values():
        if method.kind in (Kind.HEURISTIC, Kind.BASELINE):
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

if __name__ == "__main__":
    write("exact_against_heuristics", SECTIONS, arguments())
