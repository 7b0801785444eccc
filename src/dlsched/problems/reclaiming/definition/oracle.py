"""Brute force for reclaiming."""

from itertools import combinations

from dlsched.problems.reclaiming.definition.check import evaluate
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.results.objective import Objective


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over every choice of ``demand`` servers; ``None`` if there is none."""
    choices = combinations(range(len(instance.servers)), instance.demand)
    return min((evaluate(instance, set(choice)) for choice in choices), default=None)
