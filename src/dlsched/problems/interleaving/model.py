"""The declarative model of interleaving; components are named as on models/interleaving.md."""

from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.interleaving.definition.check import efficiency
from dlsched.problems.interleaving.definition.schema import Instance, Solution
from dlsched.problems.interleaving.structures.group_counts import count_groups
from dlsched.problems.interleaving.structures.groups import (
    best_offsets,
    efficiencies,
    job_groups,
    solution_of,
    stage_array,
)
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
    groups = _groups(instance)
    exact = [_worth(instance, group) for group in groups] if count <= _MOST_EXACT else []
    worth = [float(value) for value in exact] or [group.worth for group in groups]

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=[job.id for job in instance.jobs])
    m.GROUPS = pyo.Set(initialize=range(count))
    m.MEMBERS = tuple(group.jobs for group in groups)
    m.x = pyo.Var(m.GROUPS, domain=pyo.Binary)
    m.efficiency = pyo.Objective(
        expr=pyo.quicksum(worth[i] * m.x[i] for i in m.GROUPS), sense=pyo.maximize
    )
    # All values are multiples of this, so bounds may be rounded to one; 0 if there is none.
    step = granularity(exact)
    m.GRANULARITY = {"efficiency": step if step > _LEAST_GRANULARITY else 0}

    with_job: dict[str, list[int]] = {job: [] for job in m.JOBS}
    for i, members in enumerate(m.MEMBERS):
        for job in members:
            with_job[job].append(i)
    m.partition = pyo.Constraint(
        m.JOBS, rule=lambda m, j: pyo.quicksum(m.x[i] for i in with_job[j]) == 1
    )
    used = pyo.quicksum(groups[i].gpus * m.x[i] for i in m.GROUPS)
    limited = instance.gpu_budget is not None and groups
    m.budget = pyo.Constraint(
        expr=used <= instance.gpu_budget if limited else pyo.Constraint.Feasible
    )
    return m


class _Group(NamedTuple):
    jobs: tuple[str, ...]
    gpus: int
    worth: float


def _groups(instance: Instance) -> list[_Group]:
    """Return every allowed group, with its worth in doubles."""
    stages = stage_array(instance)
    groups = []
    for gpus, rows in job_groups(instance):
        worth = efficiencies(stages, rows) * instance.weight(gpus)
        for members, value in zip(rows.tolist(), worth.tolist(), strict=True):
            groups.append(_Group(tuple(instance.jobs[j].id for j in members), gpus, value))
    return groups


def _worth(instance: Instance, group: _Group) -> Fraction:
    """Return a group's exact worth."""
    stages = instance.stages_of(group.jobs)
    return efficiency(stages, best_offsets(stages)) * instance.weight(group.gpus)


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
