"""Dispatch, as on dispatch.md: what starts, where, and who is preempted (MAST, section 4).

A row of capacity has the numbers of the file, and is not divided into digits as on the card.
"""

import pyomo.environ as pyo
from levels import exact, main, solve
from ranking import rank

RESOURCES = ("gpus", "cpus", "memory")
LEVELS = 7
DAY = 86400


def amounts(thing):
    """Return the GPUs, CPUs and memory of a machine or a task."""
    return [exact(thing.get(name, 0)) for name in RESOURCES]


def fitting(job, machine):
    """Return how many tasks fit on a machine when it is empty."""
    if job.get("gpu_type") and job["gpu_type"] != machine.get("gpu_type"):
        return 0
    pairs = zip(amounts(machine), amounts(job), strict=True)
    return int(min([job["tasks"], *(room // need for room, need in pairs if need)]))


def build(data):
    """Return the model."""
    ranking = rank(data)[: 1 if data.get("scope") == "one" else None]
    priority = {w["id"]: p for w, p in ranking}
    jobs = {(w["id"], job["id"]): job for w, _ in ranking for job in w["jobs"]}
    clusters = {c["id"]: r["id"] for r in data["regions"] for c in r["clusters"]}
    machines = {
        f"{kind['id']}#{k}": kind | {"cluster": c["id"]}
        for r in data["regions"]
        for c in r["clusters"]
        for kind in c["machines"]
        for k in range(kind.get("count", 1))
    }
    running = {v["id"]: v for v in data.get("running", ())}
    own = {tenant["id"]: tenant["priority"] for tenant in data["tenants"]}
    rated = {
        v: own[w["tenant"]] if w["within_quota"] else data["lowest_priority"]
        for v, w in running.items()
    }
    held = {}  # by victim and machine
    for v, w in running.items():
        for job in w["jobs"]:
            for k, tasks in job["on"].items():
                before = held.get((v, k), [0, 0, 0])
                held[v, k] = [b + tasks * a for b, a in zip(before, amounts(job), strict=True)]
    room = {
        (w, j, k): fitting(jobs[w, j], machine) for w, j in jobs for k, machine in machines.items()
    }
    rack = {k: (machine["cluster"], machine.get("rack", 0)) for k, machine in machines.items()}

    m = pyo.ConcreteModel()
    m.WORKLOADS = pyo.Set(initialize=list(priority))
    tables = {r["id"]: set(r.get("tables", ())) for r in data["regions"]}
    regions = [(w, r) for w, _ in ranking for r in tables if set(w.get("tables", ())) <= tables[r]]
    m.REGIONS = pyo.Set(initialize=[(w["id"], r) for w, r in regions], dimen=2)
    m.JOBS = pyo.Set(initialize=[(*j, r) for j in jobs for w, r in m.REGIONS if w == j[0]], dimen=3)
    places = [(w, j, c) for w, j, r in m.JOBS for c in clusters if clusters[c] == r]
    m.PLACES = pyo.Set(initialize=places, dimen=3)
    tasks = [i for i in room if room[i] and (*i[:2], machines[i[2]]["cluster"]) in m.PLACES]
    m.TASKS = pyo.Set(initialize=tasks, dimen=3)
    m.MACHINES = pyo.Set(initialize=list(dict.fromkeys(k for _, _, k in tasks)))
    m.RACKS = pyo.Set(initialize=sorted({rack[k] for k in m.MACHINES}), dimen=2)
    top = min(priority.values(), default=LEVELS)
    victims = [v for v in running if rated[v] > top and any((v, k) in held for k in m.MACHINES)]
    m.VICTIMS = pyo.Set(initialize=victims)
    m.x = pyo.Var(m.REGIONS, domain=pyo.Binary)
    m.u = pyo.Var(m.PLACES, domain=pyo.Binary)
    m.y = pyo.Var(m.TASKS, domain=pyo.Integers, bounds=lambda m, *i: (0, room[i]))
    m.v = pyo.Var(m.VICTIMS, domain=pyo.Binary)
    m.d = pyo.Var(m.MACHINES, domain=pyo.Binary)
    m.g = pyo.Var(m.RACKS, domain=pyo.Binary)

    add_levels(m, data, ranking, running, rated)

    m.rows = pyo.ConstraintList()
    for w in {w for w, _ in m.REGIONS}:
        m.rows.add(sum(m.x[i] for i in m.REGIONS if i[0] == w) <= 1)  # region
    for w, j, r in m.JOBS:
        m.rows.add(
            sum(m.u[i] for i in places if i[:2] == (w, j) and clusters[i[2]] == r) == m.x[w, r]
        )
    for w, j, c in m.PLACES:
        here = sum(m.y[i] for i in tasks if i[:2] == (w, j) and machines[i[2]]["cluster"] == c)
        m.rows.add(here == jobs[w, j]["tasks"] * m.u[w, j, c])  # place
    for k, i in ((k, i) for k in m.MACHINES for i in range(len(RESOURCES))):
        unit = amounts(machines[k])[i] or 1  # a solver's tolerances are absolute
        free = (amounts(machines[k])[i] - sum(held[v, n][i] for v, n in held if n == k)) / unit
        freed = sum(float(held[v, k][i] / unit) * m.v[v] for v in victims if (v, k) in held)
        starts = sum(
            float(amounts(jobs[w, j])[i] / unit) * m.y[w, j, n] for w, j, n in tasks if n == k
        )
        m.rows.add(starts <= float(free) + freed)  # capacity
    for v in victims:
        better = [i for i in tasks if (v, i[2]) in held and priority[i[0]] < rated[v]]
        m.rows.add(m.v[v] <= sum(m.y[i] for i in better))  # justify
    for i in tasks:
        m.rows.add(m.y[i] <= room[i] * m.d[i[2]])  # used
    for k in m.MACHINES:
        m.rows.add(m.d[k] <= m.g[rack[k]])  # in_rack
    return m


def add_levels(m, data, ranking, running, rated):
    """Add the levels: by priority who is preempted and what starts, then the young, the spread."""
    priority = {w["id"]: p for w, p in ranking}

    def size(job):
        cpus = data.get("cpu_weight", 0.01) * job.get("cpus", 0)
        return job["tasks"] * (job.get("gpus", 0) or cpus)

    sizes = {w["id"]: sum(map(size, w["jobs"])) for w, _ in ranking}
    for p in range(1, LEVELS + 1):
        lost = sum(len(running[v]["jobs"]) * m.v[v] for v in m.VICTIMS if rated[v] == p)
        gained = sum(sizes[w] * m.x[w, r] for w, r in m.REGIONS if priority[w] == p)
        m.add_component(f"preempted_{p}", pyo.Objective(expr=lost))
        m.add_component(f"started_{p}", pyo.Objective(expr=gained, sense=pyo.maximize))
    youth = {v: max(0, DAY - running[v]["seconds"]) for v in m.VICTIMS}
    m.young = pyo.Objective(expr=sum(youth[v] * m.v[v] for v in m.VICTIMS))
    m.spread = pyo.Objective(expr=sum(m.d.values()) + sum(m.g.values()))


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
