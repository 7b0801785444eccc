"""The declarative model of elastic; components are named as on the card models/elastic.md."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from dlsched.problems.elastic.definition.job_choices import (
    JobChoice,
    choices,
    solution_of,
    workers_of,
)
from dlsched.problems.elastic.definition.schema import POOLS, Instance, Job, Solution
from dlsched.schema import Id, granularity

NAMEABLE = {"x": "x[j,w]: job j runs with w workers; x[j,a,b] with a and b on the two pools"}
"""The variables that a variant may name."""

Items: TypeAlias = Mapping[tuple[Any, ...], JobChoice]
"""The choices by the indices of their variables."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: a multiple-choice knapsack with both levels as objectives.

    An item is a job with its workers, or with its workers by pool.
    """
    import pyomo.core as pyo

    jobs = {job.id: job for job in instance.jobs}
    items: Items = {(c.job, *c.workers): c for row in choices(instance) for c in row}

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.ITEMS = pyo.Set(initialize=list(items), dimen=1 + len(instance.capacities))
    m.x = pyo.Var(m.ITEMS, domain=pyo.Binary)
    _add_levels(m, jobs, items)
    _add_capacity(m, instance, items)
    _add_choice(m, jobs)
    return m


def _add_levels(m: Any, jobs: Mapping[Id, Job], items: Items) -> None:
    """Maximise the pending jobs that are launched; then the seconds that workers save."""
    import pyomo.core as pyo

    launched = [m.x[key] for key, choice in items.items() if not jobs[choice.job].running]
    saving = {key: choice.reduction for key, choice in items.items() if choice.reduction}
    saved = [float(seconds) * m.x[key] for key, seconds in saving.items()]
    m.launched = pyo.Objective(expr=pyo.quicksum(launched), sense=pyo.maximize)
    m.reduction = pyo.Objective(expr=pyo.quicksum(saved), sense=pyo.maximize)
    # Every value of a level is a multiple of this, so its bounds may be rounded to one.
    m.GRANULARITY = {"launched": 1, "reduction": granularity(saving.values())}


def _add_capacity(m: Any, instance: Instance, items: Items) -> None:
    """Chosen items take no more GPUs than are free, in each pool."""
    import pyomo.core as pyo

    def fits(k: int) -> Any:
        used = [choice.gpus[k] * m.x[key] for key, choice in items.items() if choice.gpus[k]]
        return pyo.quicksum(used) <= instance.capacities[k] if used else pyo.Constraint.Feasible

    if instance.pools:
        m.POOLS = pyo.Set(initialize=list(POOLS))
        m.capacity = pyo.Constraint(m.POOLS, rule=lambda m, name: fits(POOLS.index(name)))
    else:
        m.capacity = pyo.Constraint(expr=fits(0))


def _add_choice(m: Any, jobs: Mapping[Id, Job]) -> None:
    """A running job has one item, a pending one at most one."""
    import pyomo.core as pyo

    of_job: dict[Id, list[Any]] = {j: [] for j in jobs}
    for (j, *_), x in m.x.items():
        of_job[j].append(x)

    def choice(m: Any, j: Id) -> Any:
        chosen = pyo.quicksum(of_job[j])
        return chosen == 1 if jobs[j].running else chosen <= 1

    m.choice = pyo.Constraint(m.JOBS, rule=choice)


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    chosen = [key for key in m.ITEMS if round(m.x[key].value or 0) == 1]
    return solution_of({job: tuple(workers) for job, *workers in chosen})


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    given = {job.id: workers_of(instance, solution, job) for job in instance.jobs}
    for job, *workers in m.ITEMS:
        m.x[(job, *workers)].set_value(int(given[job] == tuple(workers)), skip_validation=True)
