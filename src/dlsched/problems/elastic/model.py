"""The declarative model of elastic; components are named as on the card models/elastic.md."""

from __future__ import annotations

from typing import Any

from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.problems.elastic.programs import two_pools_model as model_pools
from dlsched.schema import granularity

NAMEABLE = {"x": "x[j,w]: job j runs with w workers; x[j,a,b] with a and b on the two pools"}
"""The variables that a variant may name."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: a multiple-choice knapsack with both levels as objectives."""
    import pyomo.environ as pyo

    if instance.pools:
        return model_pools.build(instance)

    jobs = {job.id: job for job in instance.jobs}
    items = {(i.job, i.workers): i for choices in instance.choices for i in choices}
    pending = {(j, w) for j, w in items if not jobs[j].running}
    saving = {key: item.reduction for key, item in items.items() if item.reduction}

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.ITEMS = pyo.Set(initialize=list(items), dimen=2)

    m.x = pyo.Var(m.ITEMS, domain=pyo.Binary)

    m.launched = pyo.Objective(
        expr=pyo.quicksum(m.x[key] for key in items if key in pending), sense=pyo.maximize
    )
    m.reduction = pyo.Objective(
        expr=pyo.quicksum(float(value) * m.x[key] for key, value in saving.items()),
        sense=pyo.maximize,
    )
    # Every value of a level is a multiple of this, so its bounds may be rounded to one.
    m.GRANULARITY = {"launched": 1, "reduction": granularity(saving.values())}

    taken = pyo.quicksum(i.gpus * m.x[key] for key, i in items.items() if i.gpus)
    fits = taken <= instance.gpus
    m.capacity = pyo.Constraint(expr=pyo.Constraint.Feasible if fits is True else fits)

    def one_choice(m: Any, j: str) -> Any:
        chosen = pyo.quicksum(
            m.x[j, w] for w in range(jobs[j].min_workers, jobs[j].max_workers + 1)
        )
        return chosen == 1 if jobs[j].running else chosen <= 1

    m.choice = pyo.Constraint(m.JOBS, rule=one_choice)
    return m


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    if instance.pools:
        return model_pools.read(m)
    workers = {j: w for j, w in m.ITEMS if round(m.x[j, w].value or 0) == 1}
    return Solution(workers=workers)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    if instance.pools:
        model_pools.assign(m, solution)
        return
    counts = solution.counts
    for j, w in m.ITEMS:
        m.x[j, w].set_value(int(counts.get(j, 0) == w), skip_validation=True)
