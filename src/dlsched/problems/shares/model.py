"""The declarative model of shares; components are named as on the card models/shares.md.

Coefficients are computed exactly and rounded once, upward, so that the model is a relaxation.
"""

import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

from dlsched.problems.shares.definition.check import value_of
from dlsched.problems.shares.definition.schema import Instance, Solution
from dlsched.problems.shares.structures.kinds import (
    Kind,
    Part,
    ceiling,
    kinds_of,
    line,
    parts,
)
from dlsched.problems.shares.structures.times import solution_of, times_of

ESTIMATED = ("value",)
"""The level whose value in the model is an upper bound: finish times by their tangents."""
ROUNDED = True
"""Solutions are a solver's numbers, rounded: values agree to nine digits."""
NAMEABLE: dict[str, str] = {}
"""A variant cannot name totals of kinds, as shares are rounded after them."""
_BITS = 50
NEGLIGIBLE = 2**30
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
    present = Counter(job.model for job in instance.jobs)
    alone = [(c, k) for c, kind in kinds.items() for k in kind.rates]
    of_model = defaultdict[str, list[str]](list)
    for c, kind in kinds.items():
        of_model[kind.example.model].append(c)
    sides = [
        (c, other, k)
        for (model, other, k) in instance.beside
        if present[other] > (model == other)
        for c in of_model[model]
    ]
    m = pyo.ConcreteModel(instance.name)
    m.KINDS = pyo.Set(initialize=list(kinds))
    m.TYPES = pyo.Set(initialize=list(instance.gpus))
    m.ALONE = pyo.Set(initialize=alone, dimen=2)
    m.BESIDE = pyo.Set(initialize=sides, dimen=3)
    m.y = pyo.Var(m.ALONE, bounds=lambda m, c, k: (0, kinds[c].count))
    m.z = pyo.Var(m.BESIDE, bounds=lambda m, c, b, k: (0, kinds[c].count))
    m.level = pyo.Var(bounds=(0, 1 if kinds else 0))
    m.UNIT, m.AT, m.HELD = math.ldexp(1.0, math.frexp(float(ceiling(instance)))[1]), at, {}
    m.value = pyo.Objective(expr=m.UNIT * m.level, sense=pyo.maximize)
    m.GRANULARITY = {"value": 0}
    every = list(parts(instance, kinds, {**m.y, **m.z}))
    _add_limits(instance, m, kinds, every)
    _add_values(instance, m, kinds, every, integers)
    return m


def _add_limits(instance: Instance, m: Any, kinds: dict[str, Kind], every: list[Part]) -> None:
    """Add the rows of time and GPUs, and of what two sides share."""
    import pyomo.core as pyo

    busy = defaultdict[str, list[Any]](list)
    used = defaultdict[str, list[Any]](list)
    shared = defaultdict[tuple[str, str, str], list[Any]](list)
    for part in every:
        busy[part.kind.name].append(part.time)
        used[part.type].append(part.halves * part.time)
    for (c, b, k), z in m.z.items():
        shared[kinds[c].example.model, b, k].append(z)

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
    instance: Instance, m: Any, kinds: dict[str, Kind], every: list[Part], integers: bool
) -> None:
    """Add the rows of the level: the sum of the jobs' values, or no job's is less."""
    import pyomo.core as pyo

    work = defaultdict[str, list[tuple[Fraction, Any]]](list)
    for part in every:
        work[part.kind.name].append((part.rate, part.time))
    lines = {c: line(instance, kind.example, m.AT) for c, kind in kinds.items()}
    unit = Fraction(m.UNIT)

    def row(constant: Fraction, terms: list[tuple[Fraction, Any]]) -> Any:
        scale = 1
        if integers:  # the largest number has `_BITS` bits then
            largest = max([Fraction(1), constant, *(number for number, _ in terms)])
            scale = 2 ** max(0, _BITS - math.frexp(float(largest))[1])
        products = (_up(scale * number, integers) * var for number, var in terms)
        return scale * m.level <= _up(scale * constant, integers) + pyo.quicksum(products)

    def values(c: str, count: int) -> list[tuple[Fraction, Any]]:
        slope = lines[c][1] / (count * unit)
        return [(slope * rate, var) for rate, var in work[c]]

    def least(m: Any, c: str) -> Any:
        needs = lines[c][1] * max(rate for rate, _ in work[c])
        if instance.objective == "total" or needs > NEGLIGIBLE * unit:
            return pyo.Constraint.Skip
        return row(lines[c][0] / unit, values(c, kinds[c].count))

    m.least = pyo.Constraint(m.KINDS, rule=least)
    terms = [term for c in kinds for term in values(c, 1)] if instance.objective == "total" else []
    m.total = pyo.Constraint(expr=row(Fraction(0), terms) if terms else pyo.Constraint.Skip)


def _up(number: Fraction, integer: bool) -> float:
    """Return the nearest double that is not less, or the nearest integer."""
    if integer:
        return math.ceil(number)
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def read(instance: Instance, m: Any) -> Solution:
    """Return a solution close to the values of the model's variables; see `solution_of`."""
    times = {key: var.value for key, var in (*m.y.items(), *m.z.items()) if var.value}
    level = Fraction(m.UNIT) * Fraction(m.level.value or 0)
    needs = {}
    for name, kind in kinds_of(instance).items() if instance.objective != "total" else ():
        constant, slope = line(instance, kind.example, m.AT)
        if slope:
            needs[name] = (m.HELD.get(name, level) - constant) / slope
    return solution_of(instance, times, needs)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in a solution."""
    times = times_of(instance, solution)
    for key, var in (*m.y.items(), *m.z.items()):
        var.set_value(float(times.get(key, 0)), skip_validation=True)
    worth = value_of(instance, solution) / Fraction(m.UNIT)
    m.level.set_value(float(worth), skip_validation=True)
