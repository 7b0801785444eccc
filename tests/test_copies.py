"""Copies of an instance, and instances with nothing in them."""

from __future__ import annotations

import pytest

import dlsched


def test_a_changed_copy_has_its_own_digest() -> None:
    """A copy with another demand does not keep the digest or the arrays of the first."""
    inst = dlsched.load("lyra-fig5")
    before = inst.sha256
    assert inst.model_copy(update={"name": "other"}).sha256 == before
    assert inst.model_copy(update={"demand": 3}).sha256 != before


@pytest.mark.parametrize("method", ["milp", "densest", "lyra", "scf", "random"])
def test_no_servers_and_no_demand_is_solved(method: str) -> None:
    """Returning nothing from nothing preempts nobody."""
    data = {"dlsched": 1, "problem": "reclaiming", "name": "none"}
    result = dlsched.solve(data | {"demand": 0, "servers": [], "jobs": []}, method)
    assert tuple(result.objective) == (0, 0)
