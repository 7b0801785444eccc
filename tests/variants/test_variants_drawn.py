"""Drawn variants with added variables against enumeration in fractions.

Rows and levels have coefficients and ranges as an attacker would choose them. The reference knows
neither a solver nor the library's exact program: binaries are enumerated, a wide integer is at an
end of its interval, and two continuous variables at a crossing of two lines.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
import pytest
from enumerations import solutions

import dlsched
from dlsched import ByLevel
from dlsched.variants import owner_of

PEOPLE = (0, 12)
"""Powers of ten of units that people use."""
HOSTILE = (-9, 12)
Point = Mapping[str, Fraction]


class DrawnRow(NamedTuple):
    """Coefficients by the names of added variables and of the base; limits."""

    terms: dict[str, float]
    lower: float | None
    upper: float | None


class Drawn(NamedTuple):
    """What a variant adds: variables with their ranges, rows, and a level of its own."""

    ranges: dict[str, tuple[float, float]]
    rows: list[DrawnRow]
    level: dict[str, float]
    sense: str
    first: bool

    def variant(self, problem: str) -> dlsched.Variant:
        """Return it as a variant of a problem."""

        def constrain(m: Any, instance: Any) -> None:
            for name, (low, high) in self.ranges.items():
                domain = pyo.Reals if name.startswith("t") else pyo.Integers
                m.add_component(f"own_{name}", pyo.Var(domain=domain, bounds=(low, high)))
            m.own_rows = pyo.ConstraintList()
            base = base_terms(m)
            for row in self.rows:
                body = sum(c * _variable(m, base, name) for name, c in row.terms.items())
                m.own_rows.add((row.lower, body, row.upper))

        def expression(m: Any, instance: Any) -> Any:
            base = base_terms(m)
            return sum(c * _variable(m, base, name) for name, c in self.level.items())

        known = [level.name for level in dlsched.registry.problem(problem).levels]
        own = dlsched.Level("own", self.sense, expression)  # type: ignore[arg-type]
        levels = [own, *known] if self.first else [*known, own]
        return dlsched.Variant(problem, "drawn", constrain, levels)


def base_terms(m: Any) -> list[Any]:
    """Return the problem's variables that rows name."""
    return list(m.x.values())[:4]


def _variable(m: Any, base: Sequence[Any], name: str) -> Any:
    return base[int(name[1:])] if name.startswith("x") else m.component(f"own_{name}")


def draw(seed: int, powers: tuple[int, int]) -> Drawn:
    """Return what a variant adds: up to two variables of each kind, up to four rows."""
    rng = np.random.default_rng(seed)
    ranges: dict[str, tuple[float, float]] = {f"b{i}": (0, 1) for i in range(rng.integers(0, 3))}
    for name in [f"t{i}" for i in range(rng.integers(0, 3))]:
        ranges[name] = _range(rng)
    wide = bool(rng.integers(0, 2))
    if rng.integers(0, 2):
        low = int(rng.integers(-3, 1))
        ranges["n"] = tuple(map(float, np.rint(_range(rng)))) if wide else (low, low + 4)
    if not ranges:
        ranges["t0"] = _range(rng)
    rows = [_row(rng, list(ranges), wide, powers) for _ in range(rng.integers(1, 5))]
    names = [name for name in [*ranges, "x0", "x1"] if rng.integers(0, 2)] or list(ranges)
    level = {name: _number(rng, powers) for name in names}
    return Drawn(ranges, rows, level, str(rng.choice(["minimize", "maximize"])), bool(seed % 2))


def _range(rng: np.random.Generator) -> tuple[float, float]:
    size = float(10.0 ** rng.integers(0, 14))
    return (0.0, size) if rng.integers(0, 2) else (-size, size)


def _number(rng: np.random.Generator, powers: tuple[int, int]) -> float:
    digits = [1.0, 2.0, 0.7, 0.1 + 0.2, float(rng.random()), 3.0][int(rng.integers(6))]
    return float(digits * 10.0 ** rng.integers(*powers) * rng.choice([-1, 1]))


def _row(
    rng: np.random.Generator, added: Sequence[str], wide: bool, powers: tuple[int, int]
) -> DrawnRow:
    others = [name for name in added if name != "n"]
    names = list(added) if not (wide and "n" in added) else others
    if wide and "n" in added and rng.integers(0, 2):
        names = [name for name in added if not name.startswith("t")]
    chosen = [name for name in names if rng.integers(0, 4)] or list(names[:1])
    chosen += [f"x{i}" for i in range(4) if rng.integers(0, 2)]
    middle = int(rng.integers(*powers))
    near = (max(powers[0], middle - 2), min(powers[1], middle + 3))
    terms = {name: _number(rng, near if rng.integers(0, 2) else powers) for name in chosen}
    if not terms:
        terms = {"x0": 1.0}
    size = max(map(abs, terms.values()))
    limit = float(rng.choice([0.0, size, -size, _number(rng, powers)]))
    kind = int(rng.integers(0, 8))
    if kind == 0:
        return DrawnRow(terms, limit, limit)
    return DrawnRow(terms, limit, None) if kind % 2 else DrawnRow(terms, None, limit)


def exact(number: float) -> Fraction:
    """Return the decimal that a number prints as."""
    return Fraction(repr(number))


def best(drawn: Drawn, base: Point) -> Fraction | None:
    """Return the best value of the own level where the base has values; ``None`` if none fits."""
    better = min if drawn.sense == "minimize" else max
    cost = {name: exact(c) for name, c in drawn.level.items()}
    values = [
        sum((c * point[name] for name, c in cost.items()), Fraction(0))
        for point in _points(drawn, base)
    ]
    return better(values, default=None)


def _points(drawn: Drawn, base: Point) -> Iterator[Point]:
    """Yield points of the added variables among which a best one is."""
    whole = [name for name in drawn.ranges if name.startswith("b")]
    rows = [_exact(row) for row in drawn.rows]
    rows += [({name: Fraction(1)}, exact(a), exact(b)) for name, (a, b) in drawn.ranges.items()]
    wide = "n" in drawn.ranges and drawn.ranges["n"][1] - drawn.ranges["n"][0] > 4
    for binaries in itertools.product([Fraction(0), Fraction(1)], repeat=len(whole)):
        known = {**base, **dict(zip(whole, binaries, strict=True))}
        for n in _whole_values(drawn, rows, known, wide):
            at = known | ({} if n is None else {"n": n})
            left = [_substituted(row, at) for row in rows]
            yield from ({**at, **point} for point in _crossings(left))


def _exact(row: DrawnRow) -> Any:
    ends = [None if end is None else exact(end) for end in row[1:]]
    return {name: exact(c) for name, c in row.terms.items()}, *ends


def _substituted(row: Any, at: Point) -> Any:
    terms, *ends = row
    value = sum((c * at[name] for name, c in terms.items() if name in at), Fraction(0))
    left = {name: c for name, c in terms.items() if name not in at}
    return left, *(None if end is None else end - value for end in ends)


def _whole_values(
    drawn: Drawn, rows: Sequence[Any], known: Point, wide: bool
) -> Iterator[Fraction | None]:
    """Yield the values of the integer; a wide one shares no row with a continuous variable."""
    if "n" not in drawn.ranges:
        yield None
        return
    low, high = (Fraction(int(end)) for end in drawn.ranges["n"])
    if not wide:
        yield from (low + k for k in range(int(high - low) + 1))
        return
    for row in rows:
        if "n" in row[0]:
            terms, *ends = _substituted(row, known)
            first, last = _interval(terms["n"], *ends)
            low = low if first is None else max(low, Fraction(math.ceil(first)))
            high = high if last is None else min(high, Fraction(math.floor(last)))
    if low <= high:
        yield from {low, high}


def _interval(c: Fraction, low: Fraction | None, high: Fraction | None) -> Any:
    ends = [None if end is None else end / c for end in (low, high)]
    return ends if c > 0 else ends[::-1]


def _crossings(rows: Sequence[Any]) -> Iterator[Point]:
    """Yield the corners of what rows leave to at most two continuous variables."""
    names = sorted({name for terms, *_ in rows for name in terms})
    if not names:
        if all(_within(Fraction(0), *ends) for _, *ends in rows):
            yield {}
        return
    lines = [(terms, end) for terms, *ends in rows if terms for end in ends if end is not None]
    for chosen in itertools.combinations(lines, len(names)):
        point = _solved(names, chosen)
        if point is not None and all(
            _within(sum((c * point[name] for name, c in terms.items()), Fraction(0)), *ends)
            for terms, *ends in rows
        ):
            yield point


def _within(value: Fraction, low: Fraction | None, high: Fraction | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _solved(names: Sequence[str], lines: Sequence[Any]) -> Point | None:
    matrix = [[terms.get(name, Fraction(0)) for name in names] for terms, _ in lines]
    ends = [end for _, end in lines]
    if len(names) == 1:
        return {names[0]: ends[0] / matrix[0][0]} if matrix[0][0] else None
    (a, b), (c, d) = matrix
    determinant = a * d - b * c
    if not determinant:
        return None
    x = (ends[0] * d - b * ends[1]) / determinant
    return {names[0]: x, names[1]: (a * ends[1] - c * ends[0]) / determinant}


INSTANCE = dlsched.generate("reclaiming", seed=2, servers=5, jobs=4, demand=2)
SOLUTIONS = solutions(INSTANCE) or []


def objectives(drawn: Drawn, levels: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return all solutions, with the values of all levels of those that fit."""
    found = []
    for solution in SOLUTIONS:
        base = {
            f"x{i}": Fraction(int(server.id in solution.returned))
            for i, server in enumerate(INSTANCE.servers[:4])
        }
        own = best(drawn, base)
        known = {**dlsched.verify(INSTANCE, solution).objective.as_dict(), "own": own}
        values = None if own is None else [known[level.name] for level in levels]
        found.append((solution, values and ByLevel(levels, values)))
    return found


def compare(seed: int, powers: tuple[int, int]) -> str:
    """Solve and check a drawn variant; return how the search ended."""
    drawn = draw(seed, powers)
    problem = owner_of(INSTANCE, drawn.variant("reclaiming"))
    known = objectives(drawn, problem.levels)
    for solution, objective in known:
        report = dlsched.verify(INSTANCE, solution, variant=problem)
        assert report.undecided or report.feasible == (objective is not None), (seed, solution)
        if objective is not None and report.objective is not None:
            assert [*report.objective] == [*objective], (seed, solution)
    optimum: Any = None
    for _, objective in known:
        if objective is not None and (optimum is None or objective.better_than(optimum)):
            optimum = objective
    result = dlsched.solve(INSTANCE, variant=problem)
    if result.status == "infeasible":
        assert optimum is None, seed
    if optimum is None:
        assert result.solution is None, seed
        return str(result.status)
    _assert_bounds(seed, result, optimum)
    if result.status == "optimal":
        for level, value, right in zip(problem.levels, result.objective, optimum, strict=True):
            assert not level.better(right, value) or near(value, right), (seed, level.name)
    return str(result.status)


def _assert_bounds(seed: int, result: Any, optimum: Sequence[Any]) -> None:
    """No bound is beaten by the optimum, level by level while the bounds are attained."""
    for bounds in (result.bound, result.certified):
        for level, bound, value in zip(result.bound.levels, bounds, optimum, strict=True):
            if bound is None:
                break
            beaten = level.better(value, bound.value)
            assert not beaten or (bound.kind != "certified" and near(bound.value, value)), (
                seed,
                level.name,
                bound,
                value,
            )
            if value != bound.value:
                break


def near(first: Any, second: Any) -> bool:
    """Whether two values differ by what results state as the solver's precision at most."""
    size = max(abs(Fraction(first)), abs(Fraction(second)))
    return abs(Fraction(first) - Fraction(second)) <= Fraction(1, 10**9) * size


def test_drawn_variants_are_answered_rightly() -> None:
    """Statuses, objectives and bounds are those of enumeration, or nothing is claimed."""
    for seed in range(80):
        compare(seed, HOSTILE)


def test_few_are_undecided_in_units_that_people_use() -> None:
    """With coefficients from 1 to 1e12 in one row, of forty at most one."""
    ended = Counter(compare(seed, PEOPLE) for seed in range(1000, 1040))
    assert ended["feasible"] + ended["no solution"] <= 1, ended


@pytest.mark.slow
def test_five_thousand_drawn_variants() -> None:
    """As above."""
    for seed in range(2000, 4500):
        compare(seed, HOSTILE)
    ended = Counter(compare(seed, PEOPLE) for seed in range(4500, 7000))
    assert ended["feasible"] + ended["no solution"] <= 50, ended
