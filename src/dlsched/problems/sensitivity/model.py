"""The declarative model of sensitivity; components are named as on models/sensitivity.md."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.schema import (
    Allocation,
    Choice,
    Instance,
    Servers,
    Solution,
)
from dlsched.problems.sensitivity.structures.scaled_units import capacity_row
from dlsched.schema import Number, granularity

Key: TypeAlias = tuple[str, int]
"""A job, and the position of one of its choices."""
MOST_VARIABLES = 50_000
"""Upper limit of the triples of job, choice and server, each of which has a variable."""
FEW_SERVERS = 8
"""Up to this many servers the program with every server is solved early: of 4 servers, jobs of
several GPUs, 20 seeds, in 84 ms in the mean instead of 221 (CP-SAT 128 over ten of them)."""

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
    """Return the Pyomo model: every job's choice, and its GPUs on every server."""
    import pyomo.core as pyo

    validate_size(instance)
    m = pyo.ConcreteModel(instance.name)
    choices = _sets(m, instance)
    gpus = {job.id: instance.profile(job).gpus for job in instance.jobs}
    on_server = {j: min(count, instance.servers.gpus) for j, count in gpus.items()}
    m.x = pyo.Var(m.CHOICES, domain=pyo.Binary)
    m.y = pyo.Var(
        m.CHOICES,
        m.SERVERS,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, j, c, s: (0, on_server[j]),
    )
    m.z = pyo.Var(m.SEVERAL, m.SERVERS, domain=pyo.Binary)
    m.q = pyo.Var(m.SEVERAL, domain=pyo.Integers, bounds=(0, int(instance.allow_split)))
    _levels(m, choices)
    _jobs(m, gpus, instance.may_wait)
    _capacities(m, choices, instance.servers)
    _splits(m, gpus, on_server)
    return m


def _sets(m: Any, instance: Instance) -> dict[Key, Choice]:
    """Add the sets; return the choices of jobs."""
    import pyomo.core as pyo

    choices = {
        (job.id, c): choice
        for job in instance.jobs
        for c, choice in enumerate(instance.undominated[job.profile])
    }
    m.JOBS = pyo.Set(initialize=[job.id for job in instance.jobs])
    m.SERVERS = pyo.Set(initialize=range(instance.servers.count))
    m.CHOICES = pyo.Set(initialize=list(choices), dimen=2)
    m.SEVERAL = pyo.Set(
        initialize=[job.id for job in instance.jobs if instance.profile(job).gpus > 1]
    )
    m.CHOICES_OF = {job.id: range(len(instance.undominated[job.profile])) for job in instance.jobs}
    return choices


def _levels(m: Any, choices: Mapping[Key, Choice]) -> None:
    """Maximise the throughput; then minimise the jobs that are split over servers."""
    import pyomo.core as pyo

    m.throughput = pyo.Objective(
        expr=pyo.quicksum(float(c.throughput) * m.x[key] for key, c in choices.items()),
        sense=pyo.maximize,
    )
    m.split = pyo.Objective(expr=pyo.quicksum(m.q.values()))
    # Every value of a level is a multiple of this, so its bounds may be rounded to one.
    m.GRANULARITY = {"throughput": granularity(c.throughput for c in choices.values()), "split": 1}


def _jobs(m: Any, gpus: Mapping[str, int], may_wait: bool) -> None:
    """State that a job has one choice, at most one if it may wait, and its GPUs with that."""
    import pyomo.core as pyo

    def one(m: Any, j: str) -> Any:
        chosen = pyo.quicksum(m.x[j, c] for c in m.CHOICES_OF[j])
        return chosen <= 1 if may_wait else chosen == 1

    m.choice = pyo.Constraint(m.JOBS, rule=one)
    m.gpus = pyo.Constraint(
        m.CHOICES,
        rule=lambda m, j, c: pyo.quicksum(m.y[j, c, s] for s in m.SERVERS) == gpus[j] * m.x[j, c],
    )


def _capacities(m: Any, choices: Mapping[Key, Choice], servers: Servers) -> None:
    """State that the GPUs on a server, with their CPUs and memory, are no more than it has."""
    import pyomo.core as pyo

    def within(limit: Number, sizes: list[Number]) -> Any:
        row = capacity_row(limit, sizes)
        taken = {key: size for key, size in zip(choices, row.sizes, strict=True) if size}

        def rule(m: Any, s: int) -> Any:
            used = pyo.quicksum(size * m.y[(*key, s)] for key, size in taken.items())
            return used <= row.limit if taken else pyo.Constraint.Feasible

        return pyo.Constraint(m.SERVERS, rule=rule)

    m.gpu_capacity = within(servers.gpus, [1] * len(choices))
    m.cpu_capacity = within(servers.cpus, [choice.cpus for choice in choices.values()])
    m.memory_capacity = within(servers.memory, [choice.memory for choice in choices.values()])


def _splits(m: Any, gpus: Mapping[str, int], on_server: Mapping[str, int]) -> None:
    """State that a job has GPUs where it is, at most `on_server`, on one server if not split."""
    import pyomo.core as pyo

    def used(m: Any, j: str, s: int) -> Any:
        held = pyo.quicksum(m.y[j, c, s] for c in m.CHOICES_OF[j])
        return held <= on_server[j] * m.z[j, s]

    def spread(m: Any, j: str) -> Any:
        most = min(gpus[j], len(m.SERVERS))
        return pyo.quicksum(m.z[j, s] for s in m.SERVERS) <= 1 + (most - 1) * m.q[j]

    m.used = pyo.Constraint(m.SEVERAL, m.SERVERS, rule=used)
    m.spread = pyo.Constraint(m.SEVERAL, rule=spread)


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
