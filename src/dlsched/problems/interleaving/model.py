"""The declarative model of interleaving; components are named as on models/interleaving.md."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.interleaving.definition.check import efficiency
from dlsched.problems.interleaving.definition.schema import Instance, Solution
from dlsched.problems.interleaving.structures.group_counts import count_groups
from dlsched.problems.interleaving.structures.groups import (
    efficiencies,
    job_groups,
    solution_of,
    stage_array,
)
from dlsched.problems.interleaving.structures.offsets import best_offsets
from dlsched.schema import granularity

MOST_GROUPS = 200_000
"""The model has a variable for every group, and refuses to have more."""
_MOST_EXACT = 2000
"""With more groups the granularity of their efficiencies would be too fine to be of use."""
_LEAST_GRANULARITY = 1e-9
"""A granularity below a solver's tolerances is of no use."""

NAMEABLE = {"x": "x[i]: the jobs m.MEMBERS[i] are a group"}
"""The variables that a variant may name."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: set partitioning over all groups.

    Raises
    ------
    OptionError
        If there are more than `MOST_GROUPS` groups.
    """
    import pyomo.core as pyo

    count = count_groups(instance)
    if count > MOST_GROUPS:
        raise OptionError(
            f"the model of {instance.name} would have {count} groups, the most is {MOST_GROUPS}; "
            f"use aggregated if many jobs are alike, else column_generation"
        )
    ids = [job.id for job in instance.jobs]
    groups: dict[tuple[str, ...], int] = {}
    worth: list[float] = []
    stages = stage_array(instance)
    for gpus, members in job_groups(instance):
        groups |= {tuple(ids[j] for j in row): gpus for row in members.tolist()}
        worth += (efficiencies(stages, members) * instance.weight(gpus)).tolist()
    exact = [_worth(instance, *entry) for entry in groups.items()] if count <= _MOST_EXACT else []

    values = list(map(float, exact)) or worth

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=ids)
    m.GROUPS = pyo.Set(initialize=range(len(groups)))
    m.MEMBERS = tuple(groups)
    m.x = pyo.Var(m.GROUPS, domain=pyo.Binary)
    m.efficiency = pyo.Objective(
        expr=pyo.quicksum(value * m.x[i] for i, value in enumerate(values)), sense=pyo.maximize
    )
    # All values are multiples of this, so bounds may be rounded to one; 0 if there is none.
    step = granularity(exact)
    m.GRANULARITY = {"efficiency": step if step > _LEAST_GRANULARITY else 0}

    holding: dict[str, list[int]] = {job: [] for job in ids}
    for i, group in enumerate(groups):
        for job in group:
            holding[job].append(i)
    m.partition = pyo.Constraint(
        m.JOBS, rule=lambda m, j: pyo.quicksum(m.x[i] for i in holding[j]) == 1
    )
    used = pyo.quicksum(needed * m.x[i] for i, needed in enumerate(groups.values()))
    limited = instance.gpu_budget is not None and groups
    m.budget = pyo.Constraint(
        expr=used <= instance.gpu_budget if limited else pyo.Constraint.Feasible
    )
    return m


def _worth(instance: Instance, group: Iterable[str], gpus: int) -> Fraction:
    """Return a group's exact worth."""
    stages = instance.stages_of(group)
    return efficiency(stages, best_offsets(stages)) * instance.weight(gpus)


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    chosen = [m.MEMBERS[i] for i in m.GROUPS if round(m.x[i].value or 0) == 1]
    index = instance.job_index
    return solution_of(instance, [[index[job] for job in group] for group in chosen])


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in the solution; the offsets are not part of the model."""
    chosen = {frozenset(group.jobs) for group in solution.groups}
    for i in m.GROUPS:
        m.x[i].set_value(int(frozenset(m.MEMBERS[i]) in chosen), skip_validation=True)
