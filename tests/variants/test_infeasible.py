"""An infeasible variant names the added constraint and those of the problem that contradict it."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import SIZES

import dlsched
from dlsched import Variant, registry
from dlsched.variants import owner_of

NAMES = {
    "reclaiming": "reclaiming-small-04",
    "elastic": "elastic-small-01",
    "workers": "workers-small-01",
    "interleaving": "interleaving-small-01",
    "utility": "utility-small-06",
    "sensitivity": "sensitivity-small-01",
    "placement": "placement-small-02",
    "dispatch": "dispatch-small-02",
}


def too_much(m: Any, instance: Any) -> None:
    """More of the first family of variables than the problem's rows admit."""
    owner = owner_of(instance, Variant(instance.problem, "plain"))
    names = owner.module("model").nameable(m)
    chosen = [v for v in m.component(names[0]).values() if v.ub]
    m.all_of_them = pyo.Constraint(expr=sum(chosen) >= sum(v.ub for v in chosen))
    m.harmless = pyo.Constraint(expr=sum(chosen) >= 0)


@pytest.mark.parametrize("problem", sorted(SIZES))
def test_an_infeasible_variant_names_what_contradicts(problem: str) -> None:
    """The added one with some of the problem's, and not the one that is always satisfied."""
    instance = dlsched.load(NAMES[problem])
    assert instance.problem in registry.BUILT_IN
    result = dlsched.solve(instance, variant=Variant(problem, "too-much", too_much))
    assert result.status == "infeasible"
    said = result.reason.partition("contradict each other: ")[2].split(", ")
    assert "all_of_them" in said
    assert len(said) > 1
    assert not any("harmless" in name for name in said)
