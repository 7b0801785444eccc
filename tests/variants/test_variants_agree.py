"""Variants against enumeration: every solution checked, the added constraints evaluated at each."""

from __future__ import annotations

from pathlib import Path

import pytest
from changes import assert_right, changes
from enumerations import DRAWN, SIZES, instances, solutions
from hypothesis import assume, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("draws", [4, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("problem", sorted(SIZES))
def test_exact_equals_enumeration(problem: str, draws: int, tmp_path: Path) -> None:
    """Objective, infeasibility, bounds and proofs: for rows, fixings and levels drawn at random."""

    @settings(DRAWN, max_examples=draws)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        instance = data.draw(instances(problem))
        known = solutions(instance)
        assume(known)
        variant = data.draw(changes(instance, levels=True))
        proved = problem != "placement" or not variant.levels
        assert_right(instance, variant, known, tmp_path if proved else None, "exact")

    agree()
