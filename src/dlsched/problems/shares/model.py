"""The declarative model of shares; components are named as on the card models/shares.md.

Coefficients are computed exactly and rounded once, upward, so that the model is a relaxation.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dlsched.problems.shares.definition.check import value_of
from dlsched.problems.shares.definition.schema import Instance, Solution
from dlsched.problems.shares.structures.kinds import Kind, ceiling, kinds_of, line
from dlsched.problems.shares.structures.times import Times, solution_of, times_of

ESTIMATED = ("value",)
"""The level whose value in the model is an upper bound: finish times by their tangents."""
ROUNDED = True
"""Solutions are a solver's numbers, rounded: values agree to nine digits."""
NAMEABLE: dict[str, str] = {}
"""A variant cannot name totals of kinds, as shares are rounded after them."""
_BITS = 50
_NEGLIGIBLE = 2**30
"""A job that needs no more than its time by this for the ceiling's value has no row."""


def build(instance: Instance, at: Fraction = Fraction(0), *, integers: bool = False) -> Any:
    """Return the Pyomo model: total times of kinds of jobs, alone and beside a model.

    Parameters
    ----------
    at
        The value at which the tangents of finish times touch; an attained one is best.
    integers
        Whether rows of values have integers of 50 bits, as forms of proofs do: solvers do not cope.
    """
    import pyomo.core as pyo

    kinds = kinds_of(instance)
    of_model = _by_model(kinds)
    alone = [(c, k) for c, kind in kinds.items() for k in kind.rates]
    sides = [
        (c, other, k)
        for (model, other, k) in instance.beside
        if other in of_model and (model != other or sum(x.count for x in of_model[model]) > 1)
        for c in (kind.name for kind in of_model.get(model, ()))
    ]
    m = pyo.ConcreteModel(instance.name)
    m.KINDS = pyo.Set(initialize=list(kinds))
    m.TYPES = pyo.Set(initialize=list(instance.gpus))
    m.ALONE = pyo.Set(initialize=alone, dimen=2)
    m.BESIDE = pyo.Set(initialize=sides, dimen=3)
    m.y = pyo.Var(m.ALONE, bounds=lambda m, c, k: (0, kinds[c].count))
    m.z = pyo.Var(m.BESIDE, bounds=lambda m, c, b, k: (0, kinds[c].count))
    m.level = pyo.Var(bounds=(0, 1 if kinds else 0))
    m.UNIT, m.AT, m.HELD = _unit(ceiling(instance)), at, {}
    m.value = pyo.Objective(expr=m.UNIT * m.level, sense=pyo.maximize)
    m.GRANULARITY = {"value": 0}
    _add_limits(instance, m, kinds, of_model)
    _add_values(instance, m, kinds, at, integers)
    return m


def _by_model(kinds: dict[str, Kind]) -> dict[str, list[Kind]]:
    of_model: dict[str, list[Kind]] = {}
    for kind in kinds.values():
        of_model.setdefault(kind.example.model, []).append(kind)
    return of_model


def _add_limits(
    instance: Instance, m: Any, kinds: dict[str, Kind], of_model: dict[str, list[Kind]]
) -> None:
    """Add the rows of time and GPUs, and of what two sides share."""
    import pyomo.core as pyo

    busy: dict[str, list[Any]] = {c: [] for c in kinds}
    used: dict[str, list[Any]] = {k: [] for k in instance.gpus}
    shared: dict[tuple[str, str, str], list[Any]] = {}
    for (c, k), y in m.y.items():
        busy[c].append(y)
        used[k].append(2 * kinds[c].gpus * y)
    for (c, b, k), z in m.z.items():
        busy[c].append(z)
        used[k].append(kinds[c].gpus * z)
        shared.setdefault((kinds[c].example.model, b, k), []).append(z)

    def time(m: Any, c: str) -> Any:
        return pyo.quicksum(busy[c]) <= kinds[c].count

    def gpus(m: Any, k: str) -> Any:
        return pyo.quicksum(used[k]) <= 2 * instance.gpus[k] if used[k] else pyo.Constraint.Skip

    def equal(m: Any, a: str, b: str, k: str) -> Any:
        return pyo.quicksum(shared[a, b, k]) == pyo.quicksum(shared[b, a, k])

    def half(m: Any, c: str, b: str, k: str) -> Any:
        own = kinds[c].example.model == b and kinds[c].count == 1  # of two jobs it always holds
        return 2 * m.z[c, b, k] <= pyo.quicksum(shared[b, b, k]) if own else pyo.Constraint.Skip

    m.SIDES = pyo.Set(initialize=[(a, b, k) for a, b, k in shared if a < b], dimen=3)
    m.time = pyo.Constraint(m.KINDS, rule=time)
    m.gpus = pyo.Constraint(m.TYPES, rule=gpus)
    m.equal = pyo.Constraint(m.SIDES, rule=equal)
    m.half = pyo.Constraint(m.BESIDE, rule=half)


def _add_values(
    instance: Instance, m: Any, kinds: dict[str, Kind], at: Fraction, integers: bool
) -> None:
    """Add the rows of the level: the sum of the jobs' values, or no job's is less."""
    import pyomo.core as pyo

    work: dict[str, list[tuple[Fraction, Any]]] = {c: [] for c in kinds}
    for (c, k), y in m.y.items():
        work[c].append((Fraction(kinds[c].rates[k]), y))
    for (c, b, k), z in m.z.items():
        work[c].append((Fraction(instance.beside[kinds[c].example.model, b, k]), z))
    lines = {c: line(instance, kind.example, at) for c, kind in kinds.items()}
    unit = Fraction(m.UNIT)

    def row(constant: Fraction, parts: list[tuple[Fraction, Any]]) -> Any:
        scale = _scale([constant, *(number for number, _ in parts)]) if integers else 1
        terms = (_up(scale * number, integers) * var for number, var in parts)
        return scale * m.level <= _up(scale * constant, integers) + pyo.quicksum(terms)

    def parts(c: str, count: int) -> list[tuple[Fraction, Any]]:
        slope = lines[c][1] / (count * unit)
        return [(slope * rate, var) for rate, var in work[c]]

    def least(m: Any, c: str) -> Any:
        needs = lines[c][1] * max(rate for rate, _ in work[c])
        if instance.objective == "total" or needs > _NEGLIGIBLE * unit:
            return pyo.Constraint.Skip
        return row(lines[c][0] / unit, parts(c, kinds[c].count))

    m.least = pyo.Constraint(m.KINDS, rule=least)
    terms = [term for c in kinds for term in parts(c, 1)] if instance.objective == "total" else []
    m.total = pyo.Constraint(expr=row(Fraction(0), terms) if terms else pyo.Constraint.Skip)


def _scale(numbers: list[Fraction]) -> int:
    """Return a power of two by which the largest of a row's numbers has `_BITS` bits."""
    return int(2 ** max(0, _BITS - math.frexp(float(max([Fraction(1), *numbers])))[1]))


def _unit(most: Fraction) -> float:
    """Return the least power of two from a number on; 1 for 0."""
    if not most:
        return 1.0
    mantissa, exponent = math.frexp(float(most))
    return math.ldexp(1.0, exponent if mantissa > 0.5 else exponent - 1) * (1 + (mantissa == 0.5))


def _up(number: Fraction, integer: bool) -> float:
    """Return the nearest double that is not less, or the nearest integer."""
    if integer:
        return math.ceil(number)
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def read(instance: Instance, m: Any) -> Solution:
    """Return a solution close to the values of the model's variables; see `solution_of`."""
    alone = {key: y.value for key, y in m.y.items() if y.value}
    beside = {key: z.value for key, z in m.z.items() if z.value}
    level = Fraction(m.UNIT) * Fraction(m.level.value or 0)
    needs = {}
    for name, kind in kinds_of(instance).items() if instance.objective != "total" else ():
        constant, slope = line(instance, kind.example, m.AT)
        if slope:
            needs[name] = (m.HELD.get(name, level) - constant) / slope
    return solution_of(instance, Times(alone, beside), needs)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in a solution."""
    times = times_of(instance, solution)
    for key, y in m.y.items():
        y.set_value(float(times.alone.get(key, 0)), skip_validation=True)
    for key, z in m.z.items():
        z.set_value(float(times.beside.get(key, 0)), skip_validation=True)
    worth = value_of(instance, solution) / Fraction(m.UNIT)
    m.level.set_value(float(worth), skip_validation=True)
