"""The nearest optimum, against brute force over all optima."""

from itertools import combinations

import pytest
from claims_only.nearest import nearest_optimum

import dlsched
from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.testing.strategies import reclaiming
from drawing import drawn


@drawn(30, reclaiming(max_servers=5))
def test_no_optimum_is_nearer(instance: Instance) -> None:
    """Brute force over all optima of level 1 finds none that shares more servers."""
    rule = dlsched.solve(instance, "scf").solution
    near = nearest_optimum(instance, rule)
    assert dlsched.verify(instance, near)
    mine = {instance.server_index[s] for s in rule.returned}
    choices = [set(c) for c in combinations(range(len(instance.servers)), instance.demand)]
    worth = [evaluate(instance, choice).preempted for choice in choices]
    best = [c for c, w in zip(choices, worth, strict=True) if w == min(worth)]
    found = {instance.server_index[s] for s in near.returned}
    assert found in best
    assert len(found & mine) == max(len(choice & mine) for choice in best)
    assert (near.instance, near.method) == (instance.name, "nearest_optimum")


def test_an_optimal_choice_is_its_own_nearest() -> None:
    """Where the rule is optimal, all of its servers are shared, whichever optimum milp returns."""
    made = dlsched.generate("reclaiming", 2, servers=60, demand=9, placement="together")
    rule = dlsched.solve(made, "lyra")
    assert rule.objective.preempted == dlsched.solve(made).objective.preempted
    assert set(nearest_optimum(made, rule.solution).returned) == set(rule.solution.returned)


def test_no_nearest_optimum_is_an_error() -> None:
    """A time limit or an infeasible instance raises, with the reason."""
    made = dlsched.generate("reclaiming", 1, servers=60)
    rule = dlsched.solve(made, "lyra").solution
    with pytest.raises(dlsched.DlschedError, match="time limit"):
        nearest_optimum(made, rule, time_limit=0)
    more = Instance(name="x", demand=9, servers=made.servers[:2], jobs=())
    with pytest.raises(dlsched.DlschedError, match="nearest optimum was not found"):
        nearest_optimum(more, rule)
