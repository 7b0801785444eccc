"""What the model leaves out of solutions, for variants: choices that another one dominates.

It stands apart from `model`, which would not read better with it: it replaces capacities and the
throughput for the jobs that a variant names, which are known only after its functions were called.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dlsched.problems.sensitivity.definition.schema import Allocation, Choice, Instance, Solution
from dlsched.problems.sensitivity.model import assign, read
from dlsched.problems.sensitivity.structures.scaled_units import capacity_row
from dlsched.problems.sensitivity.variant.allow import assign_parts
from dlsched.schema import granularity


def complete(m: Any, instance: Instance) -> None:
    """State that a job is only on servers where it has GPUs, and split only if on two of them.

    Variables `v` and `w` are there for the jobs that a variant names; see `state_named`.
    """
    import pyomo.core as pyo

    m.used_only = pyo.Constraint(
        m.SEVERAL,
        m.SERVERS,
        rule=lambda m, j, s: m.z[j, s] <= sum(m.y[j, c, s] for c in m.CHOICES_OF[j]),
    )
    m.split_only = pyo.Constraint(
        m.SEVERAL, rule=lambda m, j: 2 * m.q[j] <= sum(m.z[j, s] for s in m.SERVERS)
    )
    measured = {job.id: instance.choices[job.profile] for job in instance.jobs}
    gpus = {job.id: instance.profile(job).gpus for job in instance.jobs}

    def most_choices(j: str, c: int) -> tuple[int, int]:
        return 0, int(c < len(measured[j]))

    def most_gpus(j: str, c: int, s: int) -> tuple[int, int]:
        return 0, most_choices(j, c)[1] * min(gpus[j], instance.servers.gpus)

    m.MEASURED = pyo.Set(initialize=range(max(map(len, measured.values()), default=0)))
    m.v = pyo.Var(
        m.JOBS, m.MEASURED, dense=False, domain=pyo.Binary, bounds=lambda _, *k: most_choices(*k)
    )
    m.w = pyo.Var(
        m.JOBS,
        m.MEASURED,
        m.SERVERS,
        dense=False,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, *key: most_gpus(*key),
    )
    m.NAMED_LATER = {"v": most_choices, "w": most_gpus}
    m.NAMES_ALL = "rate"  # what a choice is worth, which dominated choices have less of
    m.rate = pyo.Expression(expr=m.throughput.expr)
    m.throughput.set_value(m.rate)


def state_named(m: Any, instance: Instance, jobs: Iterable[str]) -> None:
    """State which measured choice each of some jobs has, and where its GPUs are.

    `x` and `y` are their sums over the choices that one of `instance.undominated` stands for; the
    capacities and the throughput have the choices as they are.
    """
    import pyomo.core as pyo

    m.NAMED = pyo.Set(initialize=list(jobs))
    m.named_choice = pyo.ConstraintList()
    m.named_gpus = pyo.ConstraintList()
    for job in instance.jobs:
        if job.id in m.NAMED:
            _state_sums(m, instance, job.id, job.profile)
    taken = list(_taken(m, instance))
    m.cpu_capacity.deactivate()
    m.memory_capacity.deactivate()
    m.named_capacity = pyo.ConstraintList()
    for name in ("cpus", "memory"):
        sizes = [getattr(t.choice, name) for t in taken]
        row = capacity_row(getattr(instance.servers, name), sizes)
        for s in m.SERVERS:
            here = [size * t.gpus[s] for t, size in zip(taken, row.sizes, strict=True)]
            m.named_capacity.add(pyo.quicksum(here) <= row.limit)
    m.rate.set_value(pyo.quicksum(float(t.choice.throughput) * t.variable for t in taken))
    m.GRANULARITY["throughput"] = granularity(t.choice.throughput for t in taken)


class _Taken(NamedTuple):
    """A choice of a job, the variable that says whether it has it, and its GPUs by server."""

    choice: Choice
    variable: Any
    gpus: Sequence[Any]


def _taken(m: Any, instance: Instance) -> Iterator[_Taken]:
    """Yield the choices of all jobs: the measured ones of those that are named."""
    for job in instance.jobs:
        if job.id in m.NAMED:
            choices, chosen, gpus = instance.choices, m.v, m.w
        else:
            choices, chosen, gpus = instance.undominated, m.x, m.y
        for c, choice in enumerate(choices[job.profile]):
            held = [gpus[job.id, c, s] for s in m.SERVERS]
            yield _Taken(choice, chosen[job.id, c], held)


def _state_sums(m: Any, instance: Instance, j: str, profile: str) -> None:
    """State that a job's measured choices add up to those that they count as."""
    import pyomo.core as pyo

    counts_as = _counts_as(instance, profile)
    for c in range(len(counts_as)):
        held = pyo.quicksum(m.w[j, c, s] for s in m.SERVERS)
        m.named_gpus.add(held == instance.profiles[profile].gpus * m.v[j, c])
    for d in range(len(instance.undominated[profile])):
        same = [c for c, stands_for in enumerate(counts_as) if stands_for == d]
        m.named_choice.add(pyo.quicksum(m.v[j, c] for c in same) == m.x[j, d])
        for s in m.SERVERS:
            m.named_gpus.add(pyo.quicksum(m.w[j, c, s] for c in same) == m.y[j, d, s])


def _counts_as(instance: Instance, profile: str) -> list[int]:
    """Return for each measured choice the position of the undominated one that it counts as."""
    options = instance.undominated[profile]
    return [
        options.index(instance.replacement(profile, choice.cpus, choice.memory))
        for choice in instance.choices[profile]
    ]


def read_complete(instance: Instance, m: Any) -> Solution:
    """Return the solution of the variables' values, with the named jobs' measured choices."""
    solution = read(instance, m)
    if m.component("NAMED") is None:
        return solution
    allocation = dict(solution.allocation)
    for job in instance.jobs:
        if job.id in m.NAMED and job.id in allocation:
            choice = _measured(instance, m, job.id, job.profile)
            allocation[job.id] = Allocation(
                cpus=choice.cpus, memory=choice.memory, gpus=allocation[job.id].gpus
            )
    return Solution(allocation=allocation)


def _measured(instance: Instance, m: Any, job: str, profile: str) -> Choice:
    """Return the choice that the variables of a placed job hold."""
    values = [m.v[job, c].value or 0 for c in range(len(instance.choices[profile]))]
    return instance.choices[profile][values.index(max(values))]


def assign_complete(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in the solution."""
    assign(instance, m, solution)
    assign_parts(m, solution)
    profile = {job.id: job.profile for job in instance.jobs}

    def chosen(j: str, c: int) -> Allocation | None:
        given, measured = solution.allocation.get(j), instance.choices[profile[j]]
        if given is None or c >= len(measured):
            return None
        same = (measured[c].cpus, measured[c].memory) == (given.cpus, given.memory)
        return given if same else None

    for (j, c), variable in m.v.items():
        variable.set_value(int(chosen(j, c) is not None), skip_validation=True)
    for (j, c, s), variable in m.w.items():
        given = chosen(j, c)
        variable.set_value(given.gpus.get(str(s), 0) if given else 0, skip_validation=True)
