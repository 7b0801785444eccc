"""Reclaiming, as on reclaiming.md: which servers on loan to return (Lyra, section 4)."""

import pyomo.environ as pyo
from levels import main, solve


def build(data):
    """Return the model."""
    m = pyo.ConcreteModel()
    m.SERVERS = pyo.Set(initialize=[server["id"] for server in data["servers"]])
    m.JOBS = pyo.Set(initialize=[job["id"] for job in data["jobs"]])
    weight = {job["id"]: job.get("weight", 1) for job in data["jobs"]}
    held = {}  # GPUs by job and server
    base = set()
    for job in data["jobs"]:
        for worker in job["workers"]:
            pair = job["id"], worker["server"]
            held[pair] = held.get(pair, 0) + worker["gpus"]
            if not worker.get("flexible", False):
                base.add(pair)
    elsewhere = {(j, s) for j, s in held if any(i == j and t != s for i, t in base)}
    m.BASE = pyo.Set(initialize=sorted(base), dimen=2)
    m.DAMAGE = pyo.Set(initialize=sorted(elsewhere), dimen=2)

    m.x = pyo.Var(m.SERVERS, domain=pyo.Binary)
    m.y = pyo.Var(m.JOBS, domain=pyo.Binary)
    m.z = pyo.Var(m.DAMAGE, domain=pyo.Binary)

    m.preempted = pyo.Objective(expr=sum(weight[j] * m.y[j] for j in m.JOBS))
    m.collateral = pyo.Objective(expr=sum(held[j, s] * m.z[j, s] for j, s in m.DAMAGE))

    m.demand = pyo.Constraint(expr=sum(m.x[s] for s in m.SERVERS) == data["demand"])
    m.preempt = pyo.Constraint(m.BASE, rule=lambda m, j, s: m.y[j] >= m.x[s])
    m.vacate = pyo.Constraint(m.DAMAGE, rule=lambda m, j, s: m.z[j, s] >= m.y[j] - m.x[s])
    return m


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
