"""The declarative model of reclaiming; components are named as on the card models/reclaiming.md."""

from collections.abc import Mapping
from typing import Any

from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.schema import Number, granularity

NAMEABLE = {
    "x": "x[s]: server s is returned",
    "y": "y[j]: job j is preempted",
    "z": "z[j,s]: job j is preempted, and its GPUs on server s, which is kept, are lost",
}
"""The variables that a variant may name."""


def build(instance: Instance) -> Any:
    """Return the Pyomo model: the paper's dependent knapsack with both levels as objectives.

    Sets and variables are indexed by the instance's ids.
    """
    import pyomo.core as pyo

    m = pyo.ConcreteModel(instance.name)
    m.SERVERS = pyo.Set(initialize=[server.id for server in instance.servers])
    m.JOBS = pyo.Set(initialize=[job.id for job in instance.jobs])
    damage = _add_pairs(m, instance)
    m.x = pyo.Var(m.SERVERS, domain=pyo.Binary)
    m.y = pyo.Var(m.JOBS, domain=pyo.Binary)
    m.z = pyo.Var(m.DAMAGE, domain=pyo.Binary)
    _add_levels(m, instance, damage)

    met = pyo.quicksum(m.x.values()) == instance.demand  # True or False without servers
    m.demand = pyo.Constraint(expr=pyo.Constraint.Feasible if met is True else met)
    m.preempt = pyo.Constraint(m.BASE, rule=lambda m, j, s: m.y[j] >= m.x[s])
    m.vacate = pyo.Constraint(m.DAMAGE, rule=lambda m, j, s: m.z[j, s] >= m.y[j] - m.x[s])
    return m


def _add_pairs(m: Any, instance: Instance) -> dict[tuple[str, str], int]:
    """Add the pairs of a job and a server of its base, and those where GPUs may be lost.

    Of the latter the GPUs are returned: collateral needs a variable only where the job can be
    preempted and the server not returned.
    """
    import pyomo.core as pyo

    servers = [server.id for server in instance.servers]
    of_base: list[tuple[str, str]] = []
    damage: dict[tuple[str, str], int] = {}
    for job, held, base in zip(instance.jobs, instance.held, instance.base_servers, strict=True):
        of_base += [(job.id, servers[s]) for s in sorted(base)]
        if base:
            damage |= {(job.id, servers[s]): gpus for s, gpus in held.items() if base != {s}}
    m.BASE = pyo.Set(initialize=of_base, dimen=2)
    m.DAMAGE = pyo.Set(initialize=list(damage), dimen=2)
    return damage


def _add_levels(m: Any, instance: Instance, damage: Mapping[tuple[str, str], int]) -> None:
    """Minimise the weight of preempted jobs; then the GPUs that they lose on servers kept."""
    import pyomo.core as pyo

    # The weight of a job that cannot be preempted must not enter the level's granularity.
    weights: dict[str, Number] = {}
    for job, base in zip(instance.jobs, instance.base_servers, strict=True):
        if not base:
            m.y[job.id].setub(0)
        elif job.weight:
            weights[job.id] = job.weight
    m.preempted = pyo.Objective(expr=pyo.quicksum(float(w) * m.y[j] for j, w in weights.items()))
    m.collateral = pyo.Objective(expr=pyo.quicksum(g * m.z[js] for js, g in damage.items()))
    # Every value of a level is a multiple of this, so its bounds may be rounded to one.
    m.GRANULARITY = {
        "preempted": granularity(weights.values()),
        "collateral": granularity(damage.values()),
    }


def complete(m: Any, instance: Instance) -> None:
    """State what a solution does to jobs in the other direction, too: no more than it has to."""
    import pyomo.core as pyo

    base: dict[str, list[Any]] = {j: [] for j in m.JOBS}
    for j, s in m.BASE:
        base[j].append(m.x[s])
    m.preempt_only = pyo.Constraint(
        m.JOBS,
        rule=lambda m, j: m.y[j] <= pyo.quicksum(base[j]) if base[j] else pyo.Constraint.Feasible,
    )
    m.vacate_preempted = pyo.Constraint(m.DAMAGE, rule=lambda m, j, s: m.z[j, s] <= m.y[j])
    m.vacate_kept = pyo.Constraint(m.DAMAGE, rule=lambda m, j, s: m.z[j, s] <= 1 - m.x[s])


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    returned = tuple(s for s in m.SERVERS if round(m.x[s].value or 0) == 1)
    return Solution(returned=returned)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to the value that the solution gives it."""
    assign_preemptions(instance, m, solution)
    returned = set(solution.returned)
    preempted = {j for j, y in m.y.items() if y.value}
    for (j, s), z in m.z.items():
        z.set_value(int(j in preempted and s not in returned), skip_validation=True)


def assign_preemptions(instance: Instance, m: Any, solution: Solution) -> None:
    """Set the variables of level 1, ``x`` and ``y``, to the values that the solution gives them."""
    index = {instance.server_index[s] for s in solution.returned}
    for s, x in m.x.items():
        x.set_value(int(instance.server_index[s] in index), skip_validation=True)
    for y, base in zip(m.y.values(), instance.base_servers, strict=True):
        y.set_value(int(not base.isdisjoint(index)), skip_validation=True)
