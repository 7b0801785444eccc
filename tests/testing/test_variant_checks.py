"""The checks of `check_problem` for variants find a model that states less than the definition."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.problems.reclaiming import model
from dlsched.testing import check_problem

CHECKS = ("variant_rows", "variant_fixings", "variant_levels")


def test_a_problem_passes_with_its_rows_in_both_directions() -> None:
    """On a few draws."""
    assert check_problem("reclaiming", checks=CHECKS, examples=3).passed == list(CHECKS)


@pytest.mark.slow
def test_rows_in_one_direction_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that only the objective holds down may be anything in a variant."""

    def nothing(m: Any, instance: Any) -> None:
        m.nothing = None

    monkeypatch.setattr(model, "complete", nothing)
    found = check_problem("reclaiming", checks=CHECKS, examples=20)
    assert not found
