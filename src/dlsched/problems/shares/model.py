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
    m = pyo.ConcreteModel(instance.name)
    m.KINDS = pyo.Set(initialize=list(kinds))
    m.TYPES = pyo.Set(initialize=list(instance.gpus))
    m.ALONE = pyo.Set(initialize=[(c, k) for c, kind in kinds.items() for k in kind.rates], dimen=2)
    m.BESIDE = pyo.Set(initialize=_beside(instance, kinds), dimen=3)
    m.y = pyo.Var(m.ALONE, bounds=lambda m, c, k: (0, kinds[c].count))
    m.z = pyo.Var(m.BESIDE, bounds=lambda m, c, b, k: (0, kinds[c].count))
    m.level = pyo.Var(bounds=(0, 1 if kinds else 0))
    m.UNIT = math.ldexp(1.0, math.frexp(float(ceiling(instance)))[1])
    m.AT = at
    m.HELD = {}
    m.value = pyo.Objective(expr=m.UNIT * m.level, sense=pyo.maximize)
    m.GRANULARITY = {"value": 0}
    every = list(parts(instance, kinds, {**m.y, **m.z}))
    _add_limits(instance, m, kinds, every)
    _add_values(instance, m, kinds, every, integers)
    return m


def _beside(instance: Instance, kinds: dict[str, Kind]) -> list[tuple[str, str, str]]:
    """Return kinds, the models that one of their jobs can be beside, and types."""
    present = Counter(job.model for job in instance.jobs)
    sides = []
    for model, other, k in instance.beside:
        if present[other] > (model == other):
            sides += [(c, other, k) for c, kind in kinds.items() if kind.example.model == model]
    return sides


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
    total = {key: pyo.quicksum(times) for key, times in shared.items()}

    def half(m: Any, c: str, b: str, k: str) -> Any:
        own = kinds[c].example.model == b and kinds[c].count == 1  # of two jobs it always holds
        return 2 * m.z[c, b, k] <= total[b, b, k] if own else pyo.Constraint.Skip

    m.SIDES = pyo.Set(initialize=[(a, b, k) for a, b, k in shared if a < b], dimen=3)
    m.time = pyo.Constraint(m.KINDS, rule=lambda m, c: pyo.quicksum(busy[c]) <= kinds[c].count)
    m.gpus = pyo.Constraint(
        [k for k in m.TYPES if used[k]],
        rule=lambda m, k: pyo.quicksum(used[k]) <= 2 * instance.gpus[k],
    )
    m.equal = pyo.Constraint(m.SIDES, rule=lambda m, a, b, k: total[a, b, k] == total[b, a, k])
    m.half = pyo.Constraint(m.BESIDE, rule=half)


def _add_values(
    instance: Instance, m: Any, kinds: dict[str, Kind], every: list[Part], integers: bool
) -> None:
    """Add the rows of the level: no job's value is less, or the sum of all is not.

    A row of a kind is level <= (constant + slope x work / jobs) / unit.
    """
    import pyomo.core as pyo

    unit = Fraction(m.UNIT)
    terms = defaultdict[str, list[tuple[Fraction, Any]]](list)
    for part in every:
        terms[part.kind.name].append((part.rate, part.time))
    lines = {c: line(instance, kind.example, m.AT) for c, kind in kinds.items()}
    for c, (_, slope) in lines.items():
        terms[c] = [(slope / unit * rate, time) for rate, time in terms[c]]

    def row(constant: Fraction, added: list[tuple[Fraction, Any]], jobs: int = 1) -> Any:
        numbers = [number / jobs for number, _ in added]
        scale = 1
        if integers:  # the largest number has `_BITS` bits then
            largest = max([Fraction(1), constant, *numbers])
            scale = 2 ** max(0, _BITS - math.frexp(float(largest))[1])
        rounded = [_up(scale * number, integers) for number in numbers]
        products = [number * time for number, (_, time) in zip(rounded, added, strict=True)]
        return scale * m.level <= _up(scale * constant, integers) + pyo.quicksum(products)

    def least(m: Any, c: str) -> Any:
        if instance.objective == "total" or max(number for number, _ in terms[c]) > NEGLIGIBLE:
            return pyo.Constraint.Skip
        return row(lines[c][0] / unit, terms[c], kinds[c].count)

    m.least = pyo.Constraint(m.KINDS, rule=least)
    m.total = pyo.Constraint(
        expr=row(Fraction(0), [term for c in kinds for term in terms[c]])
        if kinds and instance.objective == "total"
        else pyo.Constraint.Skip
    )


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
