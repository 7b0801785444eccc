"""Sensitivity, as on sensitivity.md: CPUs, memory and servers for each job (Synergy, section 4)."""

import pyomo.environ as pyo
from levels import exact, main, solve


def choices(profile, servers):
    """Return CPUs and memory per GPU, and throughput, of what a job may have: see CHOICES."""
    axes = profile["cpus"], profile["memory"]
    table = {
        (c, m): profile["throughput"][i][k]
        for i, c in enumerate(axes[0])
        for k, m in enumerate(axes[1])
    }
    amounts = exact(servers["cpus"]), exact(servers["memory"])
    share = tuple(amount / servers["gpus"] for amount in amounts)
    least = next(w for (c, m), w in table.items() if (exact(c), exact(m)) == share)
    return [
        (c, m, w)
        for (c, m), w in table.items()
        if w > 0 and w >= least and c <= servers["cpus"] and m <= servers["memory"]
    ]


def build(data):
    """Return the model."""
    servers, wait = data["servers"], data.get("may_wait", False)
    size = servers["gpus"]
    profiles = {job["id"]: data["profiles"][job["profile"]] for job in data["jobs"]}
    gpus = {j: profile["gpus"] for j, profile in profiles.items()}
    rows = {j: choices(profile, servers) for j, profile in profiles.items()}
    m = pyo.ConcreteModel()
    m.JOBS = pyo.Set(initialize=list(profiles))
    m.SERVERS = pyo.RangeSet(0, servers["count"] - 1)
    m.CHOICES = pyo.Set(initialize=[(j, c) for j in rows for c in range(len(rows[j]))], dimen=2)
    m.SEVERAL = pyo.Set(initialize=[j for j in rows if gpus[j] > 1])

    m.x = pyo.Var(m.CHOICES, domain=pyo.Binary)
    m.y = pyo.Var(
        m.CHOICES,
        m.SERVERS,
        domain=pyo.Integers,
        bounds=lambda m, j, c, s: (0, min(gpus[j], size)),
    )
    m.z = pyo.Var(m.SEVERAL, m.SERVERS, domain=pyo.Binary)
    m.q = pyo.Var(m.SEVERAL, domain=pyo.Binary)
    if not data.get("allow_split", True):
        for j in m.SEVERAL:
            m.q[j].fix(0)

    m.throughput = pyo.Objective(
        expr=sum(rows[j][c][2] * m.x[j, c] for j, c in m.CHOICES), sense=pyo.maximize
    )
    m.split = pyo.Objective(expr=sum(m.q[j] for j in m.SEVERAL))

    def of(j):
        return range(len(rows[j]))

    def choice(m, j):
        total = sum(m.x[j, c] for c in of(j))
        return total <= 1 if wait else total == 1

    def capacity(per_gpu, most):
        def rule(m, s):
            used = sum(per_gpu(rows[j][c]) / most * m.y[j, c, s] for j, c in m.CHOICES)
            return used <= 1 if rows else pyo.Constraint.Feasible

        return pyo.Constraint(m.SERVERS, rule=rule)

    m.choice = pyo.Constraint(m.JOBS, rule=choice)
    m.gpus = pyo.Constraint(
        m.CHOICES,
        rule=lambda m, j, c: sum(m.y[j, c, s] for s in m.SERVERS) == gpus[j] * m.x[j, c],
    )
    m.gpu_capacity = capacity(lambda row: 1, size)
    m.cpu_capacity = capacity(lambda row: row[0], servers["cpus"])
    m.memory_capacity = capacity(lambda row: row[1], servers["memory"])
    m.used = pyo.Constraint(
        m.SEVERAL,
        m.SERVERS,
        rule=lambda m, j, s: sum(m.y[j, c, s] for c in of(j)) <= min(gpus[j], size) * m.z[j, s],
    )
    m.spread = pyo.Constraint(
        m.SEVERAL,
        rule=lambda m, j: (
            sum(m.z[j, s] for s in m.SERVERS) <= 1 + (min(gpus[j], servers["count"]) - 1) * m.q[j]
        ),
    )
    return m


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
