"""Drawn variants: rows over named variables, fixings, levels of their own or in another order."""

from __future__ import annotations

import contextlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import best_of
from hypothesis import assume
from hypothesis import strategies as st

import dlsched
from dlsched import Level, Variant, registry
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.prove import ProofFailed

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


def assert_right(
    instance: Any, variant: Variant, known: Any, folder: Path | None, *methods: str
) -> None:
    """Compare what methods say of a variant with all solutions of its problem; in a folder, prove.

    Objective, infeasibility and bounds are theirs; what is worse or forbidden has no proof.
    """
    reports = [(s, dlsched.verify(instance, s, variant=variant)) for s in known]
    best = best_of([report for _, report in reports])
    for method in methods:
        result = dlsched.solve(instance, method, variant=variant)
        if best is None:
            assert result.status == "infeasible", result.reason
            continue
        assert result.status == "optimal", result.reason
        near = pytest.approx(list(map(float, best)), rel=1e-6, abs=1e-12)
        assert list(result.objective) == near
        assert_not_beaten(result.certified, best)
        assert_not_beaten(dlsched.bound(instance, variant=variant), best)
        assert dlsched.verify(instance, result.solution, variant=variant).feasible
    if folder is None or best is None:
        return
    proof = dlsched.prove(instance, result.solution, variant=variant)
    levels = dlsched.check_proof(instance, proof, variant=variant).levels
    assert [float(level.value) for level in levels] == list(map(float, result.objective))
    for solution, report in reports:
        if not report.feasible or worse(result.objective, report.objective):
            with pytest.raises(ProofFailed):
                dlsched.prove(instance, solution, variant=variant)
            labels = {"instance": instance.name, "instance_sha256": instance.sha256}
            forged = proof.to_data() | {"solution": solution.to_data() | labels}
            for level, value in zip(forged["levels"], report.objective or (), strict=False):
                level["target"] = str(value)
            (folder / "forged.json").write_text(json.dumps(forged))
            with pytest.raises(InvalidProof):
                dlsched.check_proof(instance, folder / "forged.json", variant=variant)
            break


def worse(best: Any, other: Any) -> bool:
    """Return whether an objective is worse by more than what nine digits leave open."""
    pairs = [(float(a), float(b)) for a, b in zip(best, other, strict=True)]
    first = next(((a, b) for a, b in pairs if a != b), (0.0, 0.0))
    return abs(first[0] - first[1]) > 1e-6 * max(map(abs, first))
