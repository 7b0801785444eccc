"""The declarative model of sensitivity; components are named as on models/sensitivity.md."""

from __future__ import annotations

from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Solution
from dlsched.problems.sensitivity.structures.scaled_units import capacity_row
from dlsched.schema import Number, granularity

MOST_VARIABLES = 50_000
"""Upper limit of the triples of job, choice and server, each of which has a variable."""

NAMEABLE = {
    "x": "x[j,c]: job j has choice c, the position in instance.undominated of its profile",
    "y": "y[j,c,s]: GPUs of job j with choice c on server s",
    "z": "z[j,s]: job j, of several GPUs, is on server s",
    "q": "q[j]: job j, of several GPUs, is split over servers",
    "v": "v[j,c]: job j has choice c, the position in instance.choices of its profile",
    "w": "w[j,c,s]: GPUs of job j with that choice c on server s",
}
"""The variables that a variant may name. In x and y a choice that another one dominates counts as
that; v and w tell them apart."""


def variables(instance: Instance) -> int:
    """Return the number of triples of job, choice and server."""
    choices = instance.undominated
    return instance.servers.count * sum(len(choices[job.profile]) for job in instance.jobs)


def validate_size(instance: Instance) -> None:
    """Raise `OptionError` if the model would be too large."""
    if variables(instance) > MOST_VARIABLES:
        raise OptionError(
            f"the model of {instance.name} would have {variables(instance)} variables "
            f"for GPUs, the most is {MOST_VARIABLES}; use patterns"
        )


def build(instance: Instance) -> Any:
    """Return the Pyomo model: every job's choice, and its GPUs on every server.

    Raises
    ------
    OptionError
        If there are more than `MOST_VARIABLES` triples of job, choice and server.
    """
    import pyomo.core as pyo

    servers = instance.servers
    profile = {job.id: instance.profile(job) for job in instance.jobs}
    choices = {
        (job.id, c): choice
        for job in instance.jobs
        for c, choice in enumerate(instance.undominated[job.profile])
    }
    validate_size(instance)
    several = [j for j, p in profile.items() if p.gpus > 1]

    m = pyo.ConcreteModel(instance.name)
    m.JOBS = pyo.Set(initialize=list(profile))
    m.SERVERS = pyo.Set(initialize=range(servers.count))
    m.CHOICES = pyo.Set(initialize=list(choices), dimen=2)
    m.SEVERAL = pyo.Set(initialize=several)

    m.x = pyo.Var(m.CHOICES, domain=pyo.Binary)
    m.y = pyo.Var(
        m.CHOICES,
        m.SERVERS,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, j, c, s: (0, min(profile[j].gpus, servers.gpus)),
    )
    m.z = pyo.Var(m.SEVERAL, m.SERVERS, domain=pyo.Binary)
    m.q = pyo.Var(m.SEVERAL, domain=pyo.Integers, bounds=(0, int(instance.allow_split)))

    m.throughput = pyo.Objective(
        expr=pyo.quicksum(float(c.throughput) * m.x[key] for key, c in choices.items()),
        sense=pyo.maximize,
    )
    m.split = pyo.Objective(expr=pyo.quicksum(m.q.values()))
    # Every value of a level is a multiple of this, so its bounds may be rounded to one.
    m.GRANULARITY = {"throughput": granularity(c.throughput for c in choices.values()), "split": 1}

    of = {job.id: range(len(instance.undominated[job.profile])) for job in instance.jobs}
    m.CHOICES_OF = of  # for the rows of variants

    def one(m: Any, j: str) -> Any:
        chosen = pyo.quicksum(m.x[j, c] for c in of[j])
        return chosen <= 1 if instance.may_wait else chosen == 1

    m.choice = pyo.Constraint(m.JOBS, rule=one)
    m.gpus = pyo.Constraint(
        m.CHOICES,
        rule=lambda m, j, c: (
            pyo.quicksum(m.y[j, c, s] for s in m.SERVERS) == profile[j].gpus * m.x[j, c]
        ),
    )

    def within(limit: Number, sizes: list[Number]) -> Any:
        row = capacity_row(limit, sizes)

        def rule(m: Any, s: int) -> Any:
            pairs = zip(choices, row.sizes, strict=True)
            used = [size * m.y[(*key, s)] for key, size in pairs if size]
            return pyo.quicksum(used) <= row.limit if used else pyo.Constraint.Feasible

        return rule

    cpus = [choice.cpus for choice in choices.values()]
    memory = [choice.memory for choice in choices.values()]
    m.gpu_capacity = pyo.Constraint(m.SERVERS, rule=within(servers.gpus, [1] * len(choices)))
    m.cpu_capacity = pyo.Constraint(m.SERVERS, rule=within(servers.cpus, cpus))
    m.memory_capacity = pyo.Constraint(m.SERVERS, rule=within(servers.memory, memory))
    # A job's GPUs on a server are at most the smaller of its own and the server's.
    m.used = pyo.Constraint(
        m.SEVERAL,
        m.SERVERS,
        rule=lambda m, j, s: (
            pyo.quicksum(m.y[j, c, s] for c in of[j])
            <= min(profile[j].gpus, servers.gpus) * m.z[j, s]
        ),
    )
    m.spread = pyo.Constraint(
        m.SEVERAL,
        rule=lambda m, j: (
            pyo.quicksum(m.z[j, s] for s in m.SERVERS)
            <= 1 + (min(profile[j].gpus, servers.count) - 1) * m.q[j]
        ),
    )
    return m


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution of the variables' values."""
    allocation = {}
    for job in instance.jobs:
        for c, choice in enumerate(instance.undominated[job.profile]):
            if round(m.x[job.id, c].value or 0) == 1:
                held = {str(s): round(m.y[job.id, c, s].value or 0) for s in m.SERVERS}
                gpus = {s: n for s, n in held.items() if n}
                allocation[job.id] = Allocation(cpus=choice.cpus, memory=choice.memory, gpus=gpus)
    return Solution(allocation=allocation)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in the solution; see `Instance.replacement`."""
    for job in instance.jobs:
        options = instance.undominated[job.profile]
        given = solution.allocation.get(job.id)
        best = None
        if given is not None:
            best = options.index(instance.replacement(job.profile, given.cpus, given.memory))
        placed = {} if given is None else given.gpus
        for c in range(len(options)):
            m.x[job.id, c].set_value(int(c == best), skip_validation=True)
            for s in m.SERVERS:
                count = placed.get(str(s), 0) if c == best else 0
                m.y[job.id, c, s].set_value(count, skip_validation=True)
        if job.id in m.SEVERAL:
            for s in m.SERVERS:
                m.z[job.id, s].set_value(int(str(s) in placed), skip_validation=True)
            m.q[job.id].set_value(int(len(placed) > 1), skip_validation=True)
