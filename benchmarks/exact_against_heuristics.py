"""Every method of a problem under a limit: its solution and its bound, beside the best ones.

Every run has the limit, its start included. Seconds are of processor time, of which a busy machine
gives less than the limit, which is one of the clock. A solution's gap is to the best one, a bound's
to it, with the level at which they first differ. A test (tests/test_retirement.py) reads from these
rows which methods could be retired.
"""

from collections.abc import Sequence
from typing import Any

from runs import Row, timed

import dlsched
from dlsched import registry
from dlsched.registry import Kind
from dlsched.results.objective import ByLevel, gap
from dlsched.results.result import Result
from dlsched.text.figures import display

HEURISTICS = {Kind.HEURISTIC, Kind.BASELINE}
TINY = 1e-8
"""Gaps that are a solver's last digits."""


def section(problem: str, limit: float, instances: Sequence[Row]) -> list[Row]:
    """Return rows of the exact method beside the best heuristic, of solutions and of bounds."""
    made = [dlsched.generate(problem, 0, **parameters) for parameters in instances]
    _runs(made[0], 1.0)  # imports everything
    return [row for instance in made for row in _rows(instance, _runs(instance, limit))]


def _runs(instance: Any, limit: float) -> dict[str, tuple[Result, float]]:
    """Return the results and processor seconds of the methods that take an instance."""
    runs = {}
    for name in registry.problem(instance.problem).methods:
        try:
            runs[name] = timed(instance, name, time_limit=limit)
        except dlsched.OptionError:  # not for this instance
            continue
    return runs


def _rows(instance: Any, runs: dict[str, tuple[Result, float]]) -> list[Row]:
    methods = registry.problem(instance.problem).methods
    exact, seconds = runs[dlsched.solve(instance, time_limit=0.1).method]
    rules = [run for name, run in runs.items() if methods[name].kind in HEURISTICS]
    best, own = _best(rules)
    stated = [value for value in exact.gap if value is not None]
    left = next((value for value in stated if value), stated[-1] if stated else None)
    rows: list[Row] = [{
        "table": "exact", "instance": instance.name, "exact": exact.method,
        "status": str(exact.status), "objective": _worth(exact), "gap": _percent(left),
        "processor s": seconds, "best heuristic": best.method, "its objective": _worth(best),
        "its processor s": own,
        "better than exact": ", ".join(r.method for r, _ in rules if _beats(r, exact)) or "-",
    }]  # fmt: skip
    size = instance.name.removeprefix(f"{instance.problem}-").rpartition("-")[0].replace("-", ", ")
    first, _ = _best(list(runs.values()))
    for name, (result, spent) in runs.items():
        said = {"method": name, "instance": size or "as generated", "seconds": f"{spent:.3g}"}
        kind = methods[name].kind
        if kind in HEURISTICS | {Kind.EXACT}:
            rows.append({"table": "solutions"} | said | _solution(result, first))
        if kind not in HEURISTICS:
            rows.append({"table": "bounds"} | said | _bound(result, first))
    return rows


def _best(runs: Sequence[tuple[Result, float]]) -> tuple[Result, float]:
    """Return the first run whose solution no other one beats."""
    best = runs[0]
    for other in runs[1:]:
        best = other if _beats(other[0], best[0]) else best
    return best


def _beats(one: Result, other: Result) -> bool:
    if one.objective is None:
        return False
    return bool(other.objective is None or one.objective.better_than(other.objective))


def _solution(result: Result, best: Result) -> Row:
    """Return the gap to the best solution at the first level at which they differ."""
    if result.objective is None or best.objective is None:
        return {}
    if result.status == "optimal":
        return {"gap": "proved"}
    return _first_gap(gap(result.objective, best.objective)) or {"gap": "0"}


def _bound(result: Result, best: Result) -> Row:
    """Return the gap of the best solution to a bound; the level is the last one that is bounded."""
    if best.objective is None or result.bound[0] is None:
        return {}
    gaps = best.gap_to(result.bound)
    pairs = zip(gaps.levels, gaps, strict=True)
    stated = [level.name for level, value in pairs if value is not None]
    closed: Row = {"gap": "0"}
    if stated and len(stated) < len(gaps):
        closed = {"gap": f"0 ({stated[-1]})", "level": stated[-1]}
    return _first_gap(gaps) or (closed if stated else {})


def _first_gap(gaps: ByLevel[float | None]) -> Row:
    """Return the first gap that is more than a solver's last digits, and its level."""
    for level, value in zip(gaps.levels, gaps, strict=True):
        if value is not None and value > TINY:
            return {"gap": f"{_percent(value)} ({level.name})", "level": level.name}
    return {}


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * float(value):.3g} %" if value else "0"


def _worth(result: Result) -> str:
    """Return the values of all levels."""
    return "none" if result.objective is None else ", ".join(map(display, result.objective))
