"""Variants against enumeration: every solution checked, the added constraints evaluated at each."""

from __future__ import annotations

import pytest
from changes import assert_not_beaten, changes
from enumerations import DRAWN, SIZES, best_of, instances, solutions
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dlsched


def validate_agreement(problem: str, data: st.DataObject) -> None:
    """Compare `exact` on a drawn variant with the enumeration."""
    instance = data.draw(instances(problem))
    known = solutions(instance)
    assume(known)
    variant = data.draw(changes(instance, levels=True))
    best = best_of([dlsched.verify(instance, s, variant=variant) for s in known])
    result = dlsched.solve(instance, variant=variant)
    if best is None:
        assert result.status == "infeasible", result.reason
        return
    assert result.status == "optimal", result.reason
    assert list(result.objective) == pytest.approx(list(map(float, best)), rel=1e-6, abs=1e-12)
    assert_not_beaten(result.certified, best)
    assert_not_beaten(dlsched.bound(instance, variant=variant), best)
    assert dlsched.verify(instance, result.solution, variant=variant).feasible


@pytest.mark.parametrize("draws", [4, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("problem", sorted(SIZES))
def test_exact_equals_enumeration(problem: str, draws: int) -> None:
    """Objective, infeasibility, certified bounds: for rows, fixings and levels drawn at random."""

    @settings(DRAWN, max_examples=draws)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        validate_agreement(problem, data)

    agree()
