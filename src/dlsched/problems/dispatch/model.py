"""The declarative model of dispatch; components are named as on models/dispatch.md.

No constraint has quotas or credits: they decide the priorities, in `definition.ranking`.
"""

from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.check import DAY
from dlsched.problems.dispatch.definition.machines import RESOURCES, Group
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.definition.schema import Instance, Placed, Solution, Started
from dlsched.problems.dispatch.definition.workloads import (
    MOST_PRIORITIES,
    PendingJob,
    RunningWorkload,
    amounts,
)
from dlsched.problems.dispatch.structures.fleet import fits
from dlsched.schema import Number, granularity
from dlsched.solvers.digits import BASE, DigitRow, carries, digit_rows, small, tightened

MOST_VARIABLES = 60_000
"""Upper limit of the pairs of a pending job and a machine, each of which has a variable."""

NAMEABLE = {
    "x": "x[w,r]: workload w starts in region r",
    "u": "u[w,j,c]: its job j is in cluster c",
    "y": "y[w,j,k]: tasks of its job j on machine k",
    "v": "v[w]: the running workload w is preempted",
    "d": "d[k]: machine k gets a task",
    "g": "g[c,rack]: a rack of cluster c gets a task",
}
"""The variables that a variant may name."""


class _Data:
    """What may be where: jobs, regions, clusters, machines and victims by name.

    Attributes
    ----------
    regions
        By workload the regions with all its tables.
    clusters
        By region.
    tasks
        Tasks that fit, by workload, job and machine.
    group, jobs_on
        Of each machine on which some task fits, and the jobs whose tasks do.
    machines
        By workload, job and cluster: the machines on which tasks fit.
    held
        By machine, running workload and resource what it holds there.
    victims
        The running workloads of lower priority than some start, on these machines.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        ranking = startable(instance)
        self.priority = {ranked.workload: ranked.priority for ranked in ranking}
        self.pending = {r.workload: instance.pending[r.position] for r in ranking}
        self.jobs = {(w, job.id): job for w, row in self.pending.items() for job in row.jobs}
        self.clusters = {region.id: [c.id for c in region.clusters] for region in instance.regions}
        self.regions = {
            w: [instance.regions[r].id for r in instance.regions_of(workload)]
            for w, workload in self.pending.items()
        }
        self.tasks: dict[tuple[str, str, str], int] = {}
        self.group: dict[str, Group] = {}
        self.jobs_on: dict[str, list[tuple[str, str]]] = {}
        self.machines: dict[tuple[str, str, str], list[str]] = {}
        for w, j in self.jobs:
            self._place(w, j)
        self.held: dict[str, dict[str, dict[str, Number]]] = {}
        for workload in instance.running:
            self._hold(workload)
        best = min(self.priority.values(), default=MOST_PRIORITIES)
        usable = {v for name in self.group for v in self.held.get(name, ())}
        self.victims = {
            workload.id: workload
            for workload in instance.running
            if workload.id in usable and instance.victim_priority(workload) > best
        }

    def _place(self, w: str, j: str) -> None:
        """Find the machines on which a job's tasks fit."""
        job = self.jobs[w, j]
        for group in self.instance.groups:
            inside = self.instance.regions[group.region].id in self.regions[w]
            most = _most_tasks(job, group) if inside else 0
            for k in range(group.machines.count if most else 0):
                if len(self.tasks) == MOST_VARIABLES:
                    raise OptionError(
                        f"the model of {self.instance.name} would have more than {MOST_VARIABLES} "
                        f"variables for tasks on machines; use classes"
                    )
                name = f"{group.machines.id}#{k}"
                self.tasks[w, j, name] = most
                self.group[name] = group
                self.jobs_on.setdefault(name, []).append((w, j))
                self.machines.setdefault((w, j, group.cluster), []).append(name)

    def _hold(self, workload: RunningWorkload) -> None:
        """Add up what a running workload holds on each machine."""
        for job in workload.jobs:
            for name, tasks in job.on.items():
                nothing: dict[str, Number] = dict.fromkeys(RESOURCES, 0)
                held = self.held.setdefault(name, {}).setdefault(workload.id, nothing)
                for resource in RESOURCES:
                    held[resource] += tasks * getattr(job, resource)

    def rack(self, machine: str) -> tuple[str, int]:
        """Return cluster and number of a machine's rack."""
        group = self.group[machine]
        return group.cluster, group.machines.rack


def _most_tasks(job: PendingJob, group: Group) -> int:
    """Return how many tasks of a job fit on an empty machine, at most the job's."""
    if job.gpu_type not in (None, group.machines.gpu_type):
        return 0
    return min(job.tasks, fits(amounts(group.machines), amounts(job)))


def build(instance: Instance) -> Any:
    """Return the Pyomo model: tasks by machine, victims, machines and racks in use.

    Raises
    ------
    OptionError
        If more than `MOST_VARIABLES` pairs of a job and a machine are possible.
    """
    import pyomo.core as pyo

    data = _Data(instance)
    rows = _Rows(data)
    m = pyo.ConcreteModel(instance.name)
    _add_sets(m, data)
    _add_variables(m, data)
    _add_levels(m, data)
    m.region = pyo.Constraint(m.WORKLOADS, rule=rows.region)
    m.cluster = pyo.Constraint(m.JOBS, rule=rows.cluster)
    m.place = pyo.Constraint(m.PLACES, rule=rows.place)
    _add_digits(m, data)
    m.capacity = pyo.Constraint(list(m.DIGITS), rule=rows.capacity)
    m.digit = pyo.Constraint(m.CARRIES, rule=rows.digit)
    m.justify = pyo.Constraint(m.VICTIMS, rule=rows.justify)
    m.used = pyo.Constraint(m.TASKS, rule=rows.used)
    m.in_rack = pyo.Constraint(m.MACHINES, rule=rows.in_rack)
    return m


def _add_sets(m: Any, data: _Data) -> None:
    """Add the sets of the card's tables."""
    import pyomo.core as pyo

    starts = [(w, r) for w, regions in data.regions.items() for r in regions]
    jobs = [(w, j, r) for w, j in data.jobs for r in data.regions[w]]
    places = [(w, j, c) for w, j, r in jobs for c in data.clusters[r]]
    m.RACK_OF = {k: data.rack(k) for k in data.group}
    m.WORKLOADS = pyo.Set(initialize=list(data.priority))
    m.REGIONS = pyo.Set(initialize=starts, dimen=2)
    m.JOBS = pyo.Set(initialize=jobs, dimen=3)
    m.PLACES = pyo.Set(initialize=places, dimen=3)
    m.TASKS = pyo.Set(initialize=list(data.tasks), dimen=3)
    m.MACHINES = pyo.Set(initialize=list(m.RACK_OF))
    m.RACKS = pyo.Set(initialize=list(dict.fromkeys(m.RACK_OF.values())), dimen=2)
    m.VICTIMS = pyo.Set(initialize=list(data.victims))
    m.RESOURCES = pyo.Set(initialize=RESOURCES)


def _add_variables(m: Any, data: _Data) -> None:
    """Add what starts where, the tasks by machine, victims, and machines and racks in use."""
    import pyomo.core as pyo

    m.x = pyo.Var(m.REGIONS, domain=pyo.Binary)
    m.u = pyo.Var(m.PLACES, domain=pyo.Binary)
    m.y = pyo.Var(
        m.TASKS, domain=pyo.NonNegativeIntegers, bounds=lambda m, *key: (0, data.tasks[key])
    )
    m.v = pyo.Var(m.VICTIMS, domain=pyo.Binary)
    m.d = pyo.Var(m.MACHINES, domain=pyo.Binary)
    m.g = pyo.Var(m.RACKS, domain=pyo.Binary)


class _Rows:
    """The rows of the model, by the names of the card."""

    def __init__(self, data: _Data) -> None:
        self.data = data

    def region(self, m: Any, w: str) -> Any:
        """A workload starts in at most one region."""
        import pyomo.core as pyo

        regions = self.data.regions[w]
        return pyo.quicksum(m.x[w, r] for r in regions) <= 1 if regions else pyo.Constraint.Skip

    def cluster(self, m: Any, w: str, j: str, r: str) -> Any:
        """Each job of a workload that starts in a region is in one of its clusters."""
        import pyomo.core as pyo

        return pyo.quicksum(m.u[w, j, c] for c in self.data.clusters[r]) == m.x[w, r]

    def place(self, m: Any, w: str, j: str, c: str) -> Any:
        """All tasks of a job are on machines of its cluster."""
        import pyomo.core as pyo

        machines = self.data.machines.get((w, j, c), ())
        tasks = self.data.jobs[w, j].tasks
        return pyo.quicksum(m.y[w, j, k] for k in machines) == tasks * m.u[w, j, c]

    def capacity(self, m: Any, k: str, resource: str) -> Any:
        """What starts on a machine fits into what is free there and what victims release."""
        return self.digit(m, k, resource, len(m.DIGITS[k, resource]) - 1)

    def digit(self, m: Any, k: str, resource: str, d: int) -> Any:
        """The same in one digit, with the carry of the one before; the last one is `capacity`."""
        import pyomo.core as pyo

        row = m.DIGITS[k, resource][d]
        total = pyo.quicksum(a * _column(m, key) for key, a in row.cells.items())
        if d > 0:
            total += m.carry[k, resource, d - 1]
        if row.carry is not None:
            total -= BASE * m.carry[k, resource, d]
        return total <= row.high

    def justify(self, m: Any, v: str) -> Any:
        """A victim makes room for a task of a higher priority; exact, as tasks are integers."""
        import pyomo.core as pyo

        victim = self.data.victims[v]
        lowest = self.data.instance.victim_priority(victim)
        machines = dict.fromkeys(k for job in victim.jobs for k in job.on)
        return m.v[v] <= pyo.quicksum(
            m.y[w, j, k]
            for k in machines
            for w, j in self.data.jobs_on.get(k, ())
            if self.data.priority[w] < lowest
        )

    def used(self, m: Any, w: str, j: str, k: str) -> Any:
        """A machine with a task is used."""
        return m.y[w, j, k] <= self.data.tasks[w, j, k] * m.d[k]

    def in_rack(self, m: Any, k: str) -> Any:
        """So is its rack."""
        return m.d[k] <= m.g[m.RACK_OF[k]]


def _add_levels(m: Any, data: _Data) -> None:
    """Add the levels, with their granularities."""
    import pyomo.core as pyo

    instance = data.instance
    sizes = {w: instance.size(workload) for w, workload in data.pending.items()}
    young = {v: max(0, DAY - victim.seconds) for v, victim in data.victims.items()}
    m.GRANULARITY = {"young": granularity(young.values()), "spread": 1}
    for p in range(1, MOST_PRIORITIES + 1):
        lost = pyo.quicksum(
            len(victim.jobs) * m.v[v]
            for v, victim in data.victims.items()
            if instance.victim_priority(victim) == p
        )
        started = pyo.quicksum(
            float(sizes[w]) * m.x[w, r] for w, r in m.REGIONS if data.priority[w] == p and sizes[w]
        )
        m.add_component(f"preempted_{p}", pyo.Objective(expr=lost))
        m.add_component(f"started_{p}", pyo.Objective(expr=started, sense=pyo.maximize))
        m.GRANULARITY[f"preempted_{p}"] = 1
        m.GRANULARITY[f"started_{p}"] = granularity(sizes.values())
    m.young = pyo.Objective(expr=pyo.quicksum(float(s) * m.v[v] for v, s in young.items() if s))
    m.spread = pyo.Objective(expr=pyo.quicksum(m.d.values()) + pyo.quicksum(m.g.values()))


def _add_digits(m: Any, data: _Data) -> None:
    """Add the digits of the machines' capacities, and what one carries to the next."""
    import pyomo.core as pyo

    stated = {
        (k, resource): _capacity(data, k, resource) for k in data.group for resource in RESOURCES
    }
    m.DIGITS = {place: rows for place, rows in stated.items() if rows}
    carried = [(*place, d) for place, rows in m.DIGITS.items() for d in range(len(rows) - 1)]
    m.CARRIES = pyo.Set(initialize=carried, dimen=3)
    m.carry = pyo.Var(
        m.CARRIES,
        domain=pyo.Integers,
        bounds=lambda m, k, resource, d: m.DIGITS[k, resource][d].carry,
    )


def complete(m: Any, instance: Instance) -> None:
    """State that machines and racks are only used if they get a task."""
    import pyomo.core as pyo

    tasks: dict[str, list[Any]] = {k: [] for k in m.MACHINES}
    racks: dict[Any, list[Any]] = {rack: [] for rack in m.RACKS}
    for w, j, k in m.TASKS:
        tasks[k].append(m.y[w, j, k])
    for k in m.MACHINES:
        racks[m.RACK_OF[k]].append(m.d[k])
    m.used_only = pyo.Constraint(m.MACHINES, rule=lambda m, k: m.d[k] <= sum(tasks[k]))
    m.rack_only = pyo.Constraint(m.RACKS, rule=lambda m, *rack: m.g[rack] <= sum(racks[rack]))


def _column(m: Any, key: Any) -> Any:
    """Return the variable of a victim's id, or of workload, job and machine."""
    return m.v[key] if isinstance(key, str) else m.y[key]


def _capacity(data: _Data, machine: str, resource: str) -> list[DigitRow[Any]]:
    """Return a machine's capacity of a resource in rows of small integers, none if not used.

    Their columns are those of `_column`.
    """
    limit = getattr(data.group[machine].machines, resource)
    held = {v: row[resource] for v, row in data.held.get(machine, {}).items() if row[resource]}
    stays = sum(held.values())
    freed = {v: -amount for v, amount in held.items() if v in data.victims}
    needs = {(w, j, machine): getattr(data.jobs[w, j], resource) for w, j in data.jobs_on[machine]}
    if not any(needs.values()):
        return []
    stated: dict[Any, Number] = {**needs, **freed}
    unit = granularity([*stated.values(), limit, stays])
    cells = {key: int(amount / unit) for key, amount in stated.items() if amount}
    high = int((limit - stays) / unit)
    if small(cells, high):
        return [DigitRow(cells, high, None)]
    most = {key: data.tasks.get(key, 1) for key in cells}
    cells, high = tightened(cells, high, most)
    return digit_rows(cells, high, most) if cells else []


def read(instance: Instance, m: Any) -> Solution:
    """Return the solution that the model's variables hold."""
    region = {w: r for w, r in m.REGIONS if round(m.x[w, r].value or 0)}
    on: dict[tuple[str, str], dict[str, int]] = {}
    for w, j, k in m.TASKS:
        tasks = round(m.y[w, j, k].value or 0)
        if tasks:
            on.setdefault((w, j), {})[k] = tasks
    jobs: dict[str, dict[str, Placed]] = {w: {} for w in region}
    for w, j, c in m.PLACES:
        if w in region and round(m.u[w, j, c].value or 0):
            jobs[w][j] = Placed(cluster=c, on=on.get((w, j), {}))
    start = {w: Started(region=r, jobs=jobs[w]) for w, r in region.items()}
    preempt = tuple(v for v in m.VICTIMS if round(m.v[v].value or 0))
    return Solution(start=start, preempt=preempt)


def assign(instance: Instance, m: Any, solution: Solution) -> None:
    """Set every variable to its value in the solution."""
    start = solution.start
    tasks = {(w, j, k): start[w].jobs[j].on.get(k, 0) if w in start else 0 for w, j, k in m.TASKS}
    machines = {k for (_, _, k), count in tasks.items() if count}
    racks = {m.RACK_OF[k] for k in machines}
    regions = {(w, started.region) for w, started in start.items()}
    places = {
        (w, j, job.cluster) for w, started in start.items() for j, job in started.jobs.items()
    }
    at_one = ((m.x, regions), (m.u, places), (m.v, solution.preempt), (m.d, machines), (m.g, racks))
    for variable, ones in at_one:
        variable.set_values({key: int(key in ones) for key in variable}, skip_validation=True)
    m.y.set_values(tasks, skip_validation=True)
    for (k, resource), rows in m.DIGITS.items():
        values = {key: _column(m, key).value for row in rows for key in row.cells}
        for d, carry in enumerate(carries(rows, values)):
            m.carry[k, resource, d].set_value(carry, skip_validation=True)
