"""Workers, as on workers.md: which server each worker gets (Lyra, section 5.3)."""

import pyomo.environ as pyo
from levels import main, solve

POOLS = ("training", "loan")
ANY, BASE, FLEXIBLE = "any", "base", "flexible"


def pools_of(job):
    """Return the pools that a job may use."""
    return POOLS if job.get("fungible") or job.get("heterogeneous") else POOLS[:1]


def preferred(job):
    """Return the pool that a job is better in."""
    return "loan" if job.get("elastic") and len(pools_of(job)) > 1 else "training"


def groups_of(server, separate):
    """Return the groups of workers that a server may get."""
    if server["pool"] != "loan" or not separate:
        return (ANY,)
    return (server["group"],) if server.get("group") else (BASE, FLEXIBLE)


def build(data):
    """Return the model."""
    separate = data.get("separate_groups", True)
    jobs = {job["id"]: job for job in data["jobs"]}
    servers = {server["id"]: server for server in data["servers"]}
    flexible = {j: job.get("flexible", 0) for j, job in jobs.items()}
    size = {j: job["gpus_per_worker"] for j, job in jobs.items()}

    def group(kind, pool):
        return kind if pool == "loan" and separate else ANY

    m = pyo.ConcreteModel()
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.OPTIONS = pyo.Set(initialize=[(j, p) for j, job in jobs.items() for p in pools_of(job)])
    both = [j for j, job in jobs.items() if job.get("heterogeneous")]
    m.CHOICES = pyo.Set(
        initialize=[(j, p) for j, p in m.OPTIONS if j not in both and len(pools_of(jobs[j])) > 1]
    )
    supply = {(p, group(kind, p), size[j]) for j, p in m.OPTIONS for kind in (BASE, FLEXIBLE)}
    m.SUPPLY = pyo.Set(initialize=sorted(supply), dimen=3)
    m.ROOMS = pyo.Set(
        initialize=[
            (s, g, k)
            for s, server in servers.items()
            for p, g, k in m.SUPPLY
            if p == server["pool"] and k <= server["free"] and g in groups_of(server, separate)
        ],
        dimen=3,
    )
    m.GROUPS = pyo.Set(initialize=sorted({(s, g) for s, g, _ in m.ROOMS}), dimen=2)
    m.OPEN = pyo.Set(initialize=sorted({s for s, _ in m.GROUPS}))

    m.y = pyo.Var(m.JOBS, domain=pyo.Binary)
    m.u = pyo.Var(m.CHOICES, domain=pyo.Binary)
    m.b = pyo.Var(m.OPTIONS, domain=pyo.Integers, bounds=lambda m, j, p: (0, jobs[j]["base"]))
    m.f = pyo.Var(m.OPTIONS, domain=pyo.Integers, bounds=lambda m, j, p: (0, flexible[j]))
    m.n = pyo.Var(
        m.ROOMS, domain=pyo.Integers, bounds=lambda m, s, g, k: (0, servers[s]["free"] // k)
    )
    m.h = pyo.Var(m.GROUPS, domain=pyo.Binary)

    off = [(j, p) for j, p in m.OPTIONS if len(pools_of(jobs[j])) > 1 and p != preferred(jobs[j])]
    empty = [s for s, server in servers.items() if server["free"] == server["gpus"]]
    m.placed = pyo.Objective(expr=sum(m.y[j] for j in m.JOBS), sense=pyo.maximize)
    m.flexible = pyo.Objective(expr=sum(m.f[o] for o in m.OPTIONS), sense=pyo.maximize)
    m.off_preference = pyo.Objective(expr=sum(size[j] * (m.b[j, p] + m.f[j, p]) for j, p in off))
    m.opened = pyo.Objective(expr=sum(m.h[s, g] for s, g in m.GROUPS if s in empty))

    def in_pools(variable, j):
        return sum(variable[j, p] for p in pools_of(jobs[j]))

    def wanted(p, g, k):
        """Return the workers of a group and size that jobs have in a pool."""
        here = [j for j, pool in m.OPTIONS if pool == p and size[j] == k]
        base = sum(m.b[j, p] for j in here) if g != FLEXIBLE else 0
        return base + (sum(m.f[j, p] for j in here) if g != BASE else 0)

    def supplied(m, p, g, k):
        rooms = [m.n[s, h, i] for s, h, i in m.ROOMS if (servers[s]["pool"], h, i) == (p, g, k)]
        return sum(rooms) == wanted(p, g, k)

    m.gang = pyo.Constraint(m.JOBS, rule=lambda m, j: in_pools(m.b, j) == jobs[j]["base"] * m.y[j])
    m.scale = pyo.Constraint(m.JOBS, rule=lambda m, j: in_pools(m.f, j) <= flexible[j] * m.y[j])
    m.base_pool = pyo.Constraint(
        m.CHOICES, rule=lambda m, j, p: m.b[j, p] == jobs[j]["base"] * m.u[j, p]
    )
    m.flexible_pool = pyo.Constraint(
        m.CHOICES, rule=lambda m, j, p: m.f[j, p] <= flexible[j] * m.u[j, p]
    )
    m.supply = pyo.Constraint(m.SUPPLY, rule=supplied)
    m.gpus = pyo.Constraint(
        m.GROUPS,
        rule=lambda m, s, g: (
            sum(k * m.n[t, h, k] for t, h, k in m.ROOMS if (t, h) == (s, g))
            <= servers[s]["free"] * m.h[s, g]
        ),
    )
    m.one_group = pyo.Constraint(
        m.OPEN, rule=lambda m, s: sum(m.h[t, g] for t, g in m.GROUPS if t == s) <= 1
    )
    return m


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
