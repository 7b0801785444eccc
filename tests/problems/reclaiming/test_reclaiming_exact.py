"""The integer program, its bounds and its model."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from reclaiming_instances import hand

import dlsched

HAND: dict[str, tuple[dict[str, Any], str, tuple[float, int]]] = {
    "a server with flexible workers only is free":
        (hand(1, {"a": "1:8 2:8f", "b": "3", "c": "4"}), "2", (0, 0)),
    "one heavy job costs more than two light ones":
        (hand(1, {"a": "1 2", "b": "3 4", "c": "3", "d": "4:3"}, a=2.5, d=0.25), "4", (1.25, 1)),
    "the level below decides: collateral":
        (hand(1, {"a": "1 2:6", "b": "3:2 4:3f", "c": "4 1:7f"}), "2", (1, 1)),
    "nothing to return": (hand(0, {"a": "1:8"}), "", (0, 0)),
    "everything to return": (hand(4, {"a": "1:8", "b": "2:2f"}, a=1.5, b=2), "1234", (1.5, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", HAND)
def test_worked_by_hand(name: str) -> None:
    """Flexible workers, weights and collateral, each where it decides."""
    instance, returned, objective = HAND[name]
    result = dlsched.solve(instance)
    assert result.status == "optimal"
    assert set(result.solution.returned) == {f"s{digit}" for digit in returned}
    assert tuple(result.objective) == objective


@pytest.mark.parametrize("flexible", [0.0, 0.5])
def test_generated_instances_are_proved(flexible: float) -> None:
    """At 60 servers, beyond brute force, the optimum is proved and the bound is below."""
    for seed, demand in ((0, 6), (1, 15), (2, 30)):
        instance = dlsched.generate(
            "reclaiming", seed, servers=60, demand=demand, flexible=flexible
        )
        best = dlsched.solve(instance)
        assert (best.status, tuple(best.gap)) == ("optimal", (0, 0))
        bound = dlsched.bound(instance)
        assert (bound.preempted.kind, bound.collateral) == ("certified", None)
        assert Fraction(bound.preempted.value).denominator == 1
        assert bound.preempted.value <= best.objective.preempted


def test_the_relaxation_is_rounded_up() -> None:
    """Figure 5: the relaxation's fraction of a job becomes one job; no solution is returned."""
    result = dlsched.solve("lyra-fig5", "lp")
    assert (result.status, result.termination) == ("no solution", "bound_only")
    assert result.solution is None
    assert result.bound.preempted.value == 1
