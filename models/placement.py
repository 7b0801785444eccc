"""Placement, as on placement.md: the home region of every table (MAST, section 3).

A group is one job. Squares and sigmoid are estimated from below: each placement that the solver
returns adds a tangent and a step where it lies, until none is estimated below the best one.
"""

import math

import pyomo.environ as pyo
from levels import HIGHS, main, optimum

NEAR = 1e-9
BELOW = 1e-4
"""How far a step is below the load that it is made for; more than a solver's tolerance."""
JOB = {"gpu_hours": {}, "cpu_hours": 0, "app": None, "priority": 1, "time_sensitive": False}
REGION = {"gpu_supply": {}, "cpu_quota": {}}


def sigmoid(load, slope, free):
    """Return the factor of overload at a load, a share of all demand of the type."""
    return 1 / (1 + math.exp(-min(700, max(0, slope * load - free))))


def add_homes(m, jobs):
    """State where tables are and jobs run."""
    m.one_home = pyo.Constraint(m.TABLES, rule=lambda m, t: sum(m.x[t, r] for r in m.REGIONS) == 1)
    for j, job in jobs.items():
        tables = job["tables"]
        voting = int(job["kind"] != "ml" and len(tables) > 1)
        for r in m.REGIONS:
            for t in tables:
                m.rows.add(m.near[j, t, r] <= m.x[t, r])  # near_home, and together
                m.rows.add(m.near[j, t, r] <= m.y[j, r])  # near_job
                m.rows.add(m.y[j, r] <= m.x[t, r] + voting)
            if not voting:
                m.rows.add(m.y[j, r] >= sum(m.x[t, r] for t in tables) - len(tables) + 1)  # apart
            for q in set(m.REGIONS) - {r} if voting else ():
                tie = int(m.REGIONS.ord(q) < m.REGIONS.ord(r))
                ahead = sum(m.x[t, q] - m.x[t, r] for t in tables) + tie
                m.rows.add(ahead <= (len(tables) + tie) * (1 - m.y[j, r]))  # majority
        if voting:
            m.rows.add(sum(m.y[j, r] for r in m.REGIONS) == 1)  # somewhere


def add_limits(m, data, regions, jobs):
    """State storage (4), CPUs (5), GPU hours at home (6), and the bytes that may move."""
    moved = at_home = 0 * m.level
    for r, region in regions.items():
        used = sum(t["size"] * m.x[t["id"], r] for t in data["tables"])
        m.rows.add(used + 0 * m.level <= region["storage_capacity"])
        for app, most in region["cpu_quota"].items():
            cpus = sum(job["cpu_hours"] * m.y[j, r] for j, job in jobs.items() if job["app"] == app)
            m.rows.add(cpus + 0 * m.level <= most)
        for j, job in jobs.items():
            hours = sum(h for k, h in job["gpu_hours"].items() if region["gpu_supply"].get(k))
            at_home += int(job["time_sensitive"]) * hours * m.y[j, r]
        strangers = [t for t in data["tables"] if t.get("home") not in (None, r)]
        moved += sum(t["size"] * m.x[t["id"], r] for t in strangers)
    m.rows.add(at_home >= data.get("at_home_threshold", 0))
    if data.get("move_quota") is not None:
        m.rows.add(moved <= data["move_quota"])


def build(data):
    """Return the model, and the pools of squares: these, the load, its unit, what overload adds."""
    regions = {region["id"]: REGION | region for region in data["regions"]}
    jobs = {job["id"]: JOB | job for job in data["jobs"]}
    size = {table["id"]: table["size"] for table in data["tables"]}
    weights = {"traffic": 1, "gpu": 1, "storage": 1} | data.get("weights", {})
    slope = data.get("overload_slope", 5) if data.get("version", "v2") == "v2" else 0
    m = pyo.ConcreteModel()
    m.REGIONS = pyo.Set(initialize=list(regions))
    m.TABLES = pyo.Set(initialize=list(size))
    m.GROUPS = pyo.Set(initialize=list(jobs))
    m.READS = pyo.Set(initialize=[(j, t) for j in jobs for t in jobs[j]["tables"]], dimen=2)
    m.x = pyo.Var(m.TABLES, m.REGIONS, domain=pyo.Binary)
    m.y = pyo.Var(m.GROUPS, m.REGIONS, domain=pyo.Binary)
    m.near = pyo.Var(m.READS, m.REGIONS, bounds=(0, 1))
    m.level = pyo.Var(bounds=(0, 1))  # makes a row of a sum that may be empty
    m.square = pyo.VarList(bounds=(0, 1))
    m.extra = pyo.VarList(bounds=(0, None))
    m.over = pyo.VarList(domain=pyo.Binary)
    m.rows = pyo.ConstraintList()
    add_homes(m, jobs)
    add_limits(m, data, regions, jobs)

    read = sum(size[t] for _, t in m.READS)
    local = sum(size[t] * m.near[j, t, r] for j, t in m.READS for r in m.REGIONS)
    cost = weights["traffic"] * (1 - local / read if read else 0)
    pools = []
    for k in {k for job in jobs.values() for k, h in job["gpu_hours"].items() if h}:
        hours = {j: job["gpu_hours"].get(k, 0) for j, job in jobs.items()}
        supply = {r: region["gpu_supply"].get(k, 0) for r, region in regions.items()}
        demand, offered = sum(hours.values()), sum(supply.values())
        for r in regions if offered else ():
            squares = []
            for p in {jobs[j]["priority"] for j in jobs if hours[j]}:
                of = {j: h for j, h in hours.items() if jobs[j]["priority"] == p}
                share = sum(h * m.y[j, r] for j, h in of.items()) / sum(of.values())
                weight = weights["gpu"] * data.get("priority_weights", {}).get(str(p), 1)
                squares.append((weight, m.square.add(), share - supply[r] / offered))
            load = sum(h * m.y[j, r] for j, h in hours.items()) / demand
            mean = offered / sum(h > 0 for h in supply.values())
            units = slope * demand / mean, slope * supply[r] / mean
            pools.append((squares, load, units, m.extra.add()))
    for r, region in regions.items() if slope else ():
        held = sum(size[t] * m.x[t, r] for t in size) / (sum(size.values()) or 1)
        capacity = sum(other["storage_capacity"] for other in regions.values()) or 1
        share = held - region["storage_capacity"] / capacity
        pools.append(([(2 * weights["storage"], m.square.add(), share)], 0, (0, 0), 0))
    cost += sum(w * u / 2 for squares, *_ in pools for w, u, _ in squares)
    m.cost = pyo.Objective(expr=cost + sum(m.extra.values()))
    return m, pools


def run(data, solver=HIGHS):
    """Return the least cost."""
    m, pools = build(data)
    best = math.inf
    while True:
        try:
            optimum(m, solver)
        except RuntimeError:
            if best < math.inf:  # no other placement is left
                return {"cost": best}
            raise
        true = pyo.value(m.cost)
        if true >= best - NEAR:
            return {"cost": best}
        for squares, load, units, extra in pools:
            at = pyo.value(load)
            factor = sigmoid(at, *units)
            true -= pyo.value(extra)
            for weight, square, share in squares:
                d = pyo.value(share)
                true += weight * (factor * d * d - pyo.value(square) / 2)
                m.rows.add(square >= 2 * d * share - d * d)  # share_tangent, bytes_tangent
            if factor > 0.5:
                over, step = m.over.add(), at - BELOW
                above = sum(w * (u - 1 + over) for w, u, _ in squares)
                m.rows.add(load - step <= (1 - step) * over)  # overload
                m.rows.add(extra >= (sigmoid(step, *units) - 0.5) * above)  # step
        best = min(best, true)
        here = [x for x in m.x.values() if x.value > 0.5]
        m.rows.add(sum(here) + 0 * m.level <= len(here) - 1)  # other


if __name__ == "__main__":
    main(run)
