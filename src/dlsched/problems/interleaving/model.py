"""The declarative model of interleaving; components are named as on models/interleaving.md."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

from dlsched.errors import OptionError
from dlsched.problems.interleaving.gamma import best_offsets, efficiency
from dlsched.problems.interleaving.groups import (
    count_groups,
    job_groups,
    smallest_size,
    solution_of,
)
from dlsched.problems.interleaving.schema import Instance, Solution
from dlsched.schema import granularity

MOST_GROUPS = 200_000
"""The model has a variable for every group, and refuses to have more."""
_GRIDDED = 2000
"""Among more groups than this, a common grid of the efficiencies would be too fine to help."""

_FINEST_GRID = 1e-9
"""A grid below a solver's tolerances says nothing."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: set partitioning over all groups.

    Raises
    ------
    OptionError
        If there are more than `MOST_GROUPS` groups.
    """
    sizes = [len(jobs) for jobs in instance.classes.values()]
    count = count_groups(sizes, smallest_size(instance), instance.group_limit)
    if count > MOST_GROUPS:
        raise OptionError(
            f"the model of {instance.name} would have {count} groups, the most is {MOST_GROUPS}; "
            f"use aggregated if many jobs are alike, else column_generation"
        )
    ids = [job.id for job in instance.jobs]
    groups: dict[tuple[str, ...], int] = {}
    worth: dict[tuple[str, ...], float] = {}
    for columns in job_groups(instance):
        for row, gamma in zip(columns.members.tolist(), columns.gamma.tolist(), strict=True):
            group = tuple(ids[j] for j in row)
            groups[group] = columns.gpus
            worth[group] = gamma * instance.weight(columns.gpus)
    exact = _exact(instance, groups) if count <= _GRIDDED else {}

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=ids)
    m.GROUPS = pyo.Set(initialize=range(len(groups)))
    m.MEMBERS = tuple(groups)
    m.x = pyo.Var(m.GROUPS, domain=pyo.Binary)
    m.efficiency = pyo.Objective(
        expr=pyo.quicksum(
            float(exact.get(group, gamma)) * m.x[i]
            for i, (group, gamma) in enumerate(worth.items())
        ),
        sense=pyo.maximize,
    )
    # Every value is a multiple of this, so bounds may be rounded to one; 0 for no such number.
    step = granularity(exact.values())
    m.GRANULARITY = {"efficiency": step if step > _FINEST_GRID else 0}

    holding: dict[str, list[int]] = {job: [] for job in ids}
    for i, group in enumerate(groups):
        for job in group:
            holding[job].append(i)
    m.partition = pyo.Constraint(
        m.JOBS, rule=lambda m, j: pyo.quicksum(m.x[i] for i in holding[j]) == 1
    )
    m.budget = pyo.Constraint(expr=_budget(instance, m, list(groups.values())))
    return m


def _budget(instance: Instance, m: Any, gpus: list[int]) -> Any:
    if instance.gpu_budget is None or not gpus:
        return pyo.Constraint.Feasible
    return pyo.quicksum(g * m.x[i] for i, g in enumerate(gpus)) <= instance.gpu_budget


def _exact(instance: Instance, groups: dict[tuple[str, ...], int]) -> dict[Any, Fraction]:
    """Return the groups' exact worths."""
    found = {}
    for group, gpus in groups.items():
        stages = [instance.jobs[instance.job_index[job]].stages for job in group]
        found[group] = efficiency(stages, best_offsets(stages)) * instance.weight(gpus)
    return found


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    chosen = [m.MEMBERS[i] for i in m.GROUPS if round(m.x[i].value or 0) == 1]
    index = instance.job_index
    return solution_of(instance, [[index[job] for job in group] for group in chosen], "milp")


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it; offsets do not matter."""
    chosen = {frozenset(group.jobs) for group in solution.groups}
    for i in m.GROUPS:
        m.x[i].set_value(int(frozenset(m.MEMBERS[i]) in chosen), skip_validation=True)
