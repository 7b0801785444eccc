"""The model of elastic on two pools: the same components, with workers and capacities by pool."""

from __future__ import annotations

from typing import Any

from dlsched.problems.elastic.definition.schema import POOLS, Instance, Solution
from dlsched.problems.elastic.definition.two_pools_choices import choices, solution_of
from dlsched.schema import granularity


def build(instance: Instance) -> Any:
    """Return the Pyomo model: a multiple-choice knapsack with two capacities."""
    import pyomo.environ as pyo

    rows = choices(instance)
    items = {(i.job, *i.workers): i for row in rows for i in row}
    saving = {key: item.reduction for key, item in items.items() if item.reduction}

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=[job.id for job in instance.jobs])
    m.ITEMS = pyo.Set(initialize=list(items), dimen=3)
    m.POOLS = pyo.Set(initialize=list(POOLS))

    m.x = pyo.Var(m.ITEMS, domain=pyo.Binary)

    jobs = {job.id: job for job in instance.jobs}
    launches = [key for key in items if not jobs[key[0]].running]
    m.launched = pyo.Objective(expr=pyo.quicksum(m.x[key] for key in launches), sense=pyo.maximize)
    m.reduction = pyo.Objective(
        expr=pyo.quicksum(float(value) * m.x[key] for key, value in saving.items()),
        sense=pyo.maximize,
    )
    # Every value of a level is a multiple of this, so its bounds may be rounded to one.
    m.GRANULARITY = {"launched": 1, "reduction": granularity(saving.values())}

    capacities = {str(pool.id): pool.capacity for pool in instance.by_pool}

    def fits(m: Any, name: str) -> Any:
        k = POOLS.index(name)
        taken = [item.gpus[k] * m.x[key] for key, item in items.items() if item.gpus[k]]
        return pyo.quicksum(taken) <= capacities[name] if taken else pyo.Constraint.Feasible

    m.capacity = pyo.Constraint(m.POOLS, rule=fits)

    chosen = {
        job.id: pyo.quicksum(m.x[(i.job, *i.workers)] for i in row)
        for job, row in zip(instance.jobs, rows, strict=True)
    }

    def one_choice(m: Any, j: str) -> Any:
        return chosen[j] == 1 if jobs[j].running else chosen[j] <= 1

    m.choice = pyo.Constraint(m.JOBS, rule=one_choice)
    return m


def read(m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    chosen = [key for key in m.ITEMS if round(m.x[key].value or 0) == 1]
    return solution_of({j: (a, b) for j, a, b in chosen})


def assign(m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    for j, a, b in m.ITEMS:
        m.x[j, a, b].set_value(int(solution.split(j) == (a, b)), skip_validation=True)
