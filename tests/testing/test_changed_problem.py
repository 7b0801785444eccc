"""`check_heuristic` and `find_worst` of a heuristic for a changed problem."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import Variant
from dlsched.testing import check_heuristic, find_worst, worst_case


def at_most_half(m: Any, instance: Any) -> None:
    """At most half of the demand, rounded up, from the first half of the servers."""
    first = [server.id for server in instance.servers][: len(instance.servers) // 2]
    total = sum(m.x[s] for s in first)
    half = -(-instance.demand // 2)
    m.half = pyo.Constraint(expr=total <= half) if first else pyo.Constraint.Feasible
    m.halves = pyo.Set(initialize=[1, 2])


HALF = Variant("reclaiming", "half", at_most_half)


def from_both_halves(instance: Any, rng: Any) -> dict[str, Any]:
    """Return as many servers of the first half as may be, the others of the second."""
    servers = [server.id for server in instance.servers]
    first, second = servers[: len(servers) // 2], servers[len(servers) // 2 :]
    most = -(-instance.demand // 2)
    chosen = second[: instance.demand]
    chosen += first[: min(most, instance.demand - len(chosen))]
    return {"returned": chosen}


@pytest.mark.slow
def test_a_heuristic_for_the_problem_is_not_one_for_the_variant() -> None:
    """The first instance on which it violates the added constraint is shrunk."""
    found = check_heuristic("reclaiming", "lyra", variant=HALF, examples=25, oracle=False)
    infeasible = next(f for f in found.findings if f.kind == "infeasible")
    assert "half is" in infeasible.message
    assert len(infeasible.instance.servers) <= 5


@pytest.mark.slow
def test_a_heuristic_for_the_variant_is_compared_with_its_optimum() -> None:
    """What it returns is feasible there; what is far from the optimum is found by `find_worst`."""
    drawn = dlsched.testing.strategies.reclaiming(max_jobs=3)
    found = check_heuristic(
        "reclaiming", from_both_halves, variant=HALF, examples=8, instances=drawn, invariant=()
    )
    assert not [f for f in found.findings if f.kind in ("infeasible", "beats_optimum")]
    assert found.solved >= found.optimal
    assert found.worst_gap is not None
    worst = find_worst("reclaiming", from_both_halves, 8, variant=HALF, instances=drawn)
    assert worst is not None
    assert worst.optimum == dlsched.solve(worst.instance, variant=HALF).objective


def test_names_and_problems() -> None:
    """`find_worst` is `worst_case`; a variant of another problem is refused."""
    assert find_worst is worst_case
    with pytest.raises(dlsched.OptionError, match="not for elastic"):
        check_heuristic("elastic", "lyra", variant=HALF)
