"""Brute force for configurations."""

from itertools import product

from dlsched.problems.configurations.definition.check import check
from dlsched.problems.configurations.definition.costs import Costs
from dlsched.problems.configurations.definition.schema import Instance, Solution
from dlsched.results.objective import Objective


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over each choice, for every job, of a configuration that it can use."""
    names, costs = [job.id for job in instance.jobs], Costs(instance)
    best: Objective | None = None
    for chosen in product(*([None, *costs.of(job)] for job in instance.jobs)):
        given = {name: c for name, c in zip(names, chosen, strict=True) if c is not None}
        report = check(instance, Solution(configurations=given))
        found = report.objective if report.feasible else None
        if found is not None and (best is None or found.better_than(best)):
            best = found
    return best
