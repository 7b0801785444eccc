"""Brute force for configurations."""

from __future__ import annotations

from itertools import product

from dlsched.problems.configurations.definition.check import check
from dlsched.problems.configurations.definition.costs import Costs
from dlsched.problems.configurations.definition.schema import Instance, Solution
from dlsched.results.objective import Objective


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over each choice, for every job, of a configuration that it can use."""
    costs = Costs(instance)
    choices = [[None, *costs.of(job)] for job in instance.jobs]
    reports = (check(instance, _solution(instance, chosen)) for chosen in product(*choices))
    return min(report.objective for report in reports if report.objective and report.feasible)


def _solution(instance: Instance, chosen: tuple[str | None, ...]) -> Solution:
    pairs = zip(instance.jobs, chosen, strict=True)
    return Solution(configurations={job.id: name for job, name in pairs if name is not None})
