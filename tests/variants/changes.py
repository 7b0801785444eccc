"""Drawn variants: rows over named variables, fixings, levels of their own or in another order."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
from hypothesis import assume
from hypothesis import strategies as st

import dlsched
from dlsched import Level, Variant, registry

COEFFICIENTS = ["-3", "-1", "1", "2", "0.1", "0.3", "2.5"]


def nameable(instance: Any) -> dict[str, tuple[str, Any]]:
    """Return the component and the index of each variable that a variant may name, by its name."""
    plain = dlsched.model(instance, variant=Variant(instance.problem, "none"))
    found = {}
    for name in registry.problem(instance.problem).module("model").NAMEABLE:
        component = plain.component(name)
        for key in () if component is None else component.index_set():
            with contextlib.suppress(KeyError, ValueError):
                found[component[key].name] = name, key
    return found


@st.composite
def changes(draw: st.DrawFn, instance: Any, levels: bool) -> Variant:
    """Draw a variant."""
    known = nameable(instance)
    assume(known)
    names = list(known)
    term = st.tuples(st.sampled_from(COEFFICIENTS), st.sampled_from(names))
    terms = st.lists(term, min_size=1, max_size=4, unique_by=lambda pair: pair[1])
    row = st.tuples(
        terms, st.sampled_from(["<=", ">=", "=="]), st.sampled_from(["0", "0.3", "1", "2", "-0.1"])
    )
    rows = draw(st.lists(row, max_size=2))
    power = draw(st.sampled_from([0, -9, 9]))
    fix = draw(st.dictionaries(st.sampled_from(names), st.integers(0, 1), max_size=1))
    own = draw(terms)
    sense = draw(st.sampled_from(["minimize", "maximize"]))

    def total(m: Any, pairs: Any) -> Any:
        cells = ((c, known[name]) for c, name in pairs)
        return sum(float(f"{c}e{power}") * m.component(name)[key] for c, (name, key) in cells)

    def constrain(m: Any, _: Any) -> None:
        m.drawn = pyo.ConstraintList()
        for pairs, relation, least in rows:
            body, limit = total(m, pairs), float(f"{least}e{power}")
            m.drawn.add({"<=": body <= limit, ">=": body >= limit}.get(relation, body == limit))
        m.none = pyo.Set(initialize=[1])

    objective = None
    if levels and draw(st.booleans()):
        base = [level.name for level in registry.problem(instance.problem).levels]
        objective = [Level("own", sense, lambda m, _: total(m, own)), *draw(st.permutations(base))]
        objective = objective[: draw(st.integers(1, len(objective)))]
    return Variant(instance.problem, "drawn", constrain, objective, fix)


def assert_not_beaten(bounds: Any, best: Any) -> None:
    """Assert that an objective is no better than bounds, by level while they are attained."""
    for (level, bound), value in zip(bounds.pairs(), best, strict=True):
        assert bound is None or not level.better(value, Fraction(bound.value)), (level, value)
        if bound is None or value != bound.value:
            break
