"""The declarative model of dispatch; components are named as on models/dispatch.md."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.check import DAY
from dlsched.problems.dispatch.definition.machines import RESOURCES
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.definition.schema import Instance, Placed, Solution, Started
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES, PendingJob
from dlsched.schema import Number, granularity
from dlsched.solvers.digits import BASE, DigitRow, carries, digit_rows, small, tightened

MOST_VARIABLES = 60_000
"""Upper limit of the pairs of a pending job and a machine, each of which has a variable."""


def pairs(instance: Instance) -> Iterator[tuple[int, PendingJob, int, int]]:
    """Yield (workload, job, machine, tasks that fit) for every machine that a job can use."""
    for ranked in startable(instance):
        workload = instance.pending[ranked.position]
        regions = set(instance.regions_of(workload))
        for job in workload.jobs:
            for group in instance.groups:
                fits = most_tasks(job, group.machines) if group.region in regions else 0
                if fits:
                    for k in range(group.machines.count):
                        yield ranked.position, job, group.first + k, fits


def most_tasks(job: PendingJob, machines: Any) -> int:
    """Return how many tasks of a job fit on an empty machine, at most the job's."""
    if job.gpu_type not in (None, machines.gpu_type):
        return 0
    needs = ((getattr(job, name), getattr(machines, name)) for name in RESOURCES)
    return min([job.tasks, *(int(have // need) for need, have in needs if need)])


class _Data:
    """What may be where: jobs, regions, clusters and machines by name.

    Attributes
    ----------
    fits
        Tasks that fit, by workload, job and machine.
    by_place, on
        Machines by workload, job and cluster; workloads and jobs by machine.
    """

    def __init__(self, instance: Instance) -> None:
        self.fits: dict[tuple[str, str, str], int] = {}
        for n, (position, job, machine, most) in enumerate(pairs(instance)):
            if n >= MOST_VARIABLES:
                raise OptionError(
                    f"the model of {instance.name} would have more than {MOST_VARIABLES} variables "
                    f"for tasks on machines; use clusters for the scope one, else classes"
                )
            key = (instance.pending[position].id, job.id, instance.machine_name(machine))
            self.fits[key] = most
        ranking = startable(instance)
        self.priority = {ranked.workload: ranked.priority for ranked in ranking}
        pending = {ranked.workload: instance.pending[ranked.position] for ranked in ranking}
        self.jobs = {(w, job.id): job for w, workload in pending.items() for job in workload.jobs}
        self.options = {w: instance.regions_of(workload) for w, workload in pending.items()}
        self.places = [
            (w, j, cluster.id)
            for w, j in self.jobs
            for r in self.options[w]
            for cluster in instance.regions[r].clusters
        ]
        self.machines = list(dict.fromkeys(name for _, _, name in self.fits))
        self.number = {name: instance.machine_number(name) or 0 for name in self.machines}
        self.kind = {name: instance.kinds[n] for name, n in self.number.items()}
        self.rack = {name: (k.cluster, k.machines.rack) for name, k in self.kind.items()}
        self.by_place: dict[tuple[str, str, str], list[str]] = {p: [] for p in self.places}
        self.on: dict[str, list[tuple[str, str]]] = {name: [] for name in self.machines}
        for w, j, name in self.fits:
            self.by_place[w, j, self.kind[name].cluster].append(name)
            self.on[name].append((w, j))


def build(instance: Instance) -> Any:
    """Return the Pyomo model: tasks by machine, victims, machines and racks in use.

    Raises
    ------
    OptionError
        If more than `MOST_VARIABLES` pairs of a job and a machine are possible.
    """
    import pyomo.environ as pyo

    data = _Data(instance)
    fits, jobs, priority, options = data.fits, data.jobs, data.priority, data.options
    machines, rack = data.machines, data.rack
    held = _held(instance)

    m = pyo.ConcreteModel(instance.name)
    m.WORKLOADS = pyo.Set(initialize=list(priority))
    m.REGIONS = pyo.Set(
        initialize=[(w, instance.regions[r].id) for w in priority for r in options[w]], dimen=2
    )
    m.PLACES = pyo.Set(initialize=data.places, dimen=3)
    m.TASKS = pyo.Set(initialize=list(fits), dimen=3)
    m.MACHINES = pyo.Set(initialize=machines)
    m.RACKS = pyo.Set(initialize=list(dict.fromkeys(rack.values())), dimen=2)
    m.VICTIMS = pyo.Set(initialize=_victims(instance, set(machines), priority))

    m.x = pyo.Var(m.REGIONS, domain=pyo.Binary)
    m.u = pyo.Var(m.PLACES, domain=pyo.Binary)
    m.y = pyo.Var(
        m.TASKS, domain=pyo.NonNegativeIntegers, bounds=lambda m, w, j, k: (0, fits[w, j, k])
    )
    m.v = pyo.Var(m.VICTIMS, domain=pyo.Binary)
    m.d = pyo.Var(m.MACHINES, domain=pyo.Binary)
    m.g = pyo.Var(m.RACKS, domain=pyo.Binary)

    _objectives(instance, m, priority)

    m.region = pyo.Constraint(
        m.WORKLOADS,
        rule=lambda m, w: (
            pyo.quicksum(m.x[w, instance.regions[r].id] for r in options[w]) <= 1
            if options[w]
            else pyo.Constraint.Feasible
        ),
    )
    m.JOBS = pyo.Set(
        initialize=[(w, j, instance.regions[r].id) for w, j in jobs for r in options[w]], dimen=3
    )
    in_region = {
        region.id: [cluster.id for cluster in region.clusters] for region in instance.regions
    }
    m.cluster = pyo.Constraint(
        m.JOBS,
        rule=lambda m, w, j, r: pyo.quicksum(m.u[w, j, c] for c in in_region[r]) == m.x[w, r],
    )
    m.place = pyo.Constraint(
        m.PLACES,
        rule=lambda m, w, j, c: (
            pyo.quicksum(m.y[w, j, k] for k in data.by_place[w, j, c])
            == jobs[w, j].tasks * m.u[w, j, c]
        ),
    )

    rows = {
        (k, resource): rows
        for k in machines
        for i, resource in enumerate(RESOURCES)
        for rows in [_capacity(data, k, resource, held.get(data.number[k], {}), i, m.VICTIMS)]
    }

    m.RESOURCES = pyo.Set(initialize=RESOURCES)
    m.DIGITS = rows
    m.CARRIES = pyo.Set(
        initialize=[(*at, d) for at, own in rows.items() for d in range(len(own) - 1)], dimen=3
    )
    m.carry = pyo.Var(
        m.CARRIES,
        domain=pyo.Integers,
        bounds=lambda m, k, resource, d: rows[k, resource][d].carry,
    )

    def digit(m: Any, k: str, resource: str, d: int) -> Any:
        row = rows[k, resource][d]
        total = pyo.quicksum(
            a * (m.v[key] if isinstance(key, str) else m.y[key]) for key, a in row.cells.items()
        )
        if d > 0:
            total += m.carry[k, resource, d - 1]
        if row.carry is not None:
            total -= BASE * m.carry[k, resource, d]
        return total <= row.high

    m.capacity = pyo.Constraint(
        m.MACHINES,
        m.RESOURCES,
        rule=lambda m, k, resource: (
            digit(m, k, resource, len(rows[k, resource]) - 1)
            if rows[k, resource]
            else pyo.Constraint.Feasible
        ),
    )
    m.digit = pyo.Constraint(m.CARRIES, rule=digit)
    # Integer tasks make this exact: a victim needs one task of a higher priority on its machines.
    m.justify = pyo.Constraint(
        m.VICTIMS,
        rule=lambda m, v: (
            m.v[v]
            <= pyo.quicksum(
                m.y[w, j, k]
                for k in _machines_of(instance, v)
                for w, j in data.on.get(k, ())
                if priority[w] < instance.victim_priority(_running(instance, v))
            )
        ),
    )
    m.used = pyo.Constraint(m.TASKS, rule=lambda m, w, j, k: m.y[w, j, k] <= fits[w, j, k] * m.d[k])
    m.in_rack = pyo.Constraint(m.MACHINES, rule=lambda m, k: m.d[k] <= m.g[rack[k]])
    return m


def _capacity(
    data: _Data,
    machine: str,
    resource: str,
    held: Mapping[str, Sequence[Number]],
    i: int,
    victims: Container[str],
) -> list[DigitRow[Any]]:
    """Return a machine's capacity of the i-th resource in rows of small integers, none if not used.

    Their columns are keys of `y`, and ids of victims.
    """
    limit = getattr(data.kind[machine].machines, resource)
    stays = sum((row[i] for row in held.values()), Fraction(0))
    freed = {v: row[i] for v, row in held.items() if v in victims}
    needs = {(*key, machine): getattr(data.jobs[key], resource) for key in data.on[machine]}
    if not any(needs.values()):
        return []
    unit = granularity([*needs.values(), *freed.values(), limit, stays])
    cells: dict[Any, int] = {key: int(a / unit) for key, a in needs.items() if a}
    cells |= {v: -int(a / unit) for v, a in freed.items() if a}
    high = int((limit - stays) / unit)
    if small(cells, high):
        return [DigitRow(cells, high, None)]
    most = {key: data.fits[key] if key in needs else 1 for key in cells}
    cells, high = tightened(cells, high, most)
    return digit_rows(cells, high, most) if cells else []


def _objectives(instance: Instance, m: Any, priority: dict[str, int]) -> None:
    """Add the levels, with their granularities."""
    import pyomo.environ as pyo

    pending = {workload.id: workload for workload in instance.pending}
    sizes: dict[str, Number] = {w: instance.size(pending[w]) for w in priority}
    grain = granularity(sizes.values())
    m.GRANULARITY = {"young": 0, "spread": 1}
    victims = {v: _running(instance, v) for v in m.VICTIMS}
    for p in range(1, MOST_PRIORITIES + 1):
        lost = pyo.quicksum(
            len(victim.jobs) * m.v[v]
            for v, victim in victims.items()
            if instance.victim_priority(victim) == p
        )
        gained = pyo.quicksum(
            float(sizes[w]) * m.x[w, r] for w, r in m.REGIONS if priority[w] == p and sizes[w]
        )
        m.add_component(f"preempted_{p}", pyo.Objective(expr=lost))
        m.add_component(f"started_{p}", pyo.Objective(expr=gained, sense=pyo.maximize))
        m.GRANULARITY |= {f"preempted_{p}": 1, f"started_{p}": grain}
    young = {v: max(0, DAY - victim.seconds) for v, victim in victims.items()}
    m.young = pyo.Objective(expr=pyo.quicksum(float(s) * m.v[v] for v, s in young.items() if s))
    m.GRANULARITY["young"] = granularity(young.values())
    m.spread = pyo.Objective(expr=pyo.quicksum(m.d.values()) + pyo.quicksum(m.g.values()))


def _held(instance: Instance) -> dict[int, dict[str, list[Number]]]:
    """Return by machine what each running workload holds there."""
    held: dict[int, dict[str, list[Number]]] = {}
    for workload in instance.running:
        for job in workload.jobs:
            for name, tasks in job.on.items():
                machine = held.setdefault(instance.machine_number(name) or 0, {})
                row = machine.setdefault(workload.id, [0, 0, 0])
                for i, resource in enumerate(RESOURCES):
                    row[i] += tasks * getattr(job, resource)
    return held


def _victims(instance: Instance, machines: set[str], priority: dict[str, int]) -> list[str]:
    """Return the running workloads of lower priority than some start, on usable machines."""
    best = min(priority.values(), default=MOST_PRIORITIES)
    return [
        workload.id
        for workload in instance.running
        if instance.victim_priority(workload) > best
        and any(name in machines for job in workload.jobs for name in job.on)
    ]


def _running(instance: Instance, name: str) -> Any:
    return instance.running[instance.running_index[name]]


def _machines_of(instance: Instance, victim: str) -> list[str]:
    return list(dict.fromkeys(name for job in _running(instance, victim).jobs for name in job.on))


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    start = {}
    for w, r in m.REGIONS:
        if round(m.x[w, r].value or 0):
            start[w] = r
    on: dict[tuple[str, str], dict[str, int]] = {}
    for w, j, k in m.TASKS:
        tasks = round(m.y[w, j, k].value or 0)
        if tasks and w in start:
            on.setdefault((w, j), {})[k] = tasks
    cluster = {(w, j): c for w, j, c in m.PLACES if round(m.u[w, j, c].value or 0)}
    found = {}
    for w, r in start.items():
        jobs = {
            j: Placed(cluster=c, on=on.get((w, j), {})) for (v, j), c in cluster.items() if v == w
        }
        found[w] = Started(region=r, jobs=jobs)
    preempt = tuple(v for v in m.VICTIMS if round(m.v[v].value or 0))
    return Solution(start=found, preempt=preempt)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in the solution."""
    start = solution.start
    for w, r in m.REGIONS:
        m.x[w, r].set_value(int(w in start and start[w].region == r), skip_validation=True)
    for w, j, c in m.PLACES:
        here = w in start and start[w].jobs[j].cluster == c
        m.u[w, j, c].set_value(int(here), skip_validation=True)
    machines, racks = set(), set()
    for w, j, k in m.TASKS:
        tasks = start[w].jobs[j].on.get(k, 0) if w in start else 0
        m.y[w, j, k].set_value(tasks, skip_validation=True)
        if tasks:
            kind = instance.kinds[instance.machine_number(k) or 0]
            machines.add(k)
            racks.add((kind.cluster, kind.machines.rack))
    for v in m.VICTIMS:
        m.v[v].set_value(int(v in solution.preempt), skip_validation=True)
    for (k, resource), rows in m.DIGITS.items():
        if len(rows) > 1:
            columns = {key for row in rows for key in row.cells}
            x = {key: (m.v[key] if isinstance(key, str) else m.y[key]).value for key in columns}
            for d, carry in enumerate(carries(rows, x)):
                m.carry[k, resource, d].set_value(carry, skip_validation=True)
    for k in m.MACHINES:
        m.d[k].set_value(int(k in machines), skip_validation=True)
    for rack in m.RACKS:
        m.g[rack].set_value(int(rack in racks), skip_validation=True)
