"""The declarative model of configurations, as on the card models/configurations.md."""

from typing import Any

from dlsched.problems.configurations.definition.costs import UNIT, Costs, in_units
from dlsched.problems.configurations.definition.schema import Configuration, Gpu, Instance, Solution
from dlsched.schema import Id, granularity

NAMEABLE = {"x": "x[j,c]: job j has configuration c"}
"""The variables that a variant may name."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: a multiple-choice knapsack with a capacity for each type."""
    import pyomo.core as pyo

    costs = Costs(instance)
    of_job = {job.id: costs.of(job) for job in instance.jobs}
    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(of_job))
    m.CHOICES = pyo.Set(initialize=[(j, c) for j, row in of_job.items() for c in row], dimen=2)
    m.x = pyo.Var(m.CHOICES, domain=pyo.Binary)
    units = {(j, c): n - costs.waiting for j, row in of_job.items() for c, n in row.items()}
    kept = [m.x[job.id, job.present] for job in instance.jobs if job.present is not None]
    saved = pyo.quicksum(n / UNIT * m.x[key] for key, n in units.items() if n)
    m.cost = pyo.Objective(expr=costs.waiting * len(of_job) / UNIT + saved)
    m.moved = pyo.Objective(expr=len(kept) - pyo.quicksum(kept))
    unit = granularity(map(in_units, (costs.waiting, *units.values())))
    m.GRANULARITY = {"cost": unit, "moved": 1}
    add_rooms(m, instance, [(instance.by_id[c], x) for (_, c), x in m.x.items()])

    def choice(m: Any, j: Id) -> Any:
        return pyo.quicksum(m.x[j, c] for c in of_job[j]) <= 1 if of_job[j] else pyo.Constraint.Skip

    m.choice = pyo.Constraint(m.JOBS, rule=choice)
    return m


def add_rooms(m: Any, instance: Instance, used: list[tuple[Configuration, Any]]) -> None:
    """Configurations fit into the nodes of their type, in blocks of each size of `blocks`."""
    import pyomo.core as pyo

    def room(m: Any, t: Id, b: int) -> Any:
        kind = instance.type_of[t]
        taken = [(blocks_of(kind, one, b), x) for one, x in used if one.type == t]
        terms = [n * x for n, x in taken if n]
        most = kind.nodes * (kind.gpus_per_node // b)
        return pyo.quicksum(terms) <= most if terms else pyo.Constraint.Skip

    m.ROOMS = pyo.Set(initialize=[(t.id, b) for t in instance.types for b in blocks(t)], dimen=2)
    m.room = pyo.Constraint(m.ROOMS, rule=room)


def blocks(kind: Gpu) -> list[int]:
    """Return the sizes of blocks whose number limits a type: 1, and those that leave a rest."""
    sizes = [2**k for k in range(kind.gpus_per_node.bit_length())]
    return [b for b in sizes if b == 1 or kind.gpus_per_node % b]


def blocks_of(kind: Gpu, one: Configuration, size: int) -> int:
    """Return how many blocks of a size a configuration takes; a smaller one takes none."""
    return one.nodes * (min(one.gpus, kind.gpus_per_node) // size)


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    return Solution(configurations={j: c for (j, c), x in m.x.items() if round(x.value or 0)})


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    for (j, c), x in m.x.items():
        x.set_value(int(solution.configurations.get(j) == c), skip_validation=True)
