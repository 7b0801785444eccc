"""Brute force for placement."""

from itertools import product

from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.definition.schema import Instance, Solution
from dlsched.results.objective import Objective


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over all homes of all tables; ``None`` if no placement is feasible.

    For up to a few thousand placements: six tables in four regions.
    """
    best: Objective | None = None
    names = [table.id for table in instance.tables]
    for homes in product([region.id for region in instance.regions], repeat=len(names)):
        report = check(instance, Solution(home=dict(zip(names, homes, strict=True))))
        objective = report.objective if report.feasible else None
        if objective is not None and (best is None or objective.better_than(best)):
            best = objective
    return best
