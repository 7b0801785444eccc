"""Utility, as on utility.md: which GPUs each gang job gets in each slot (Hadar, section III)."""

from itertools import combinations

import pyomo.environ as pyo
from levels import main, solve

NEAR = 1e-9
"""The share of a job that may be missing: progress is in floats."""


def utility_of(data, job, duration):
    """Return what a job is worth that finishes after a number of slots."""
    kind = data.get("utility", {}).get("kind")
    if kind == "linear":
        return data["slots"] + 1 - duration
    if kind == "table":
        return job["utilities"][duration - 1]
    return job["iterations"] / (duration * data["slot_seconds"])


def speeds_of(data, job):
    """Return by name of a speed the share of the job done in a slot, and the types it needs.

    With forking a speed is a copy on a machine's type, and progress adds up over copies.
    """
    gang = job.get("workers", 1) if data.get("progress") == "per_worker" else 1
    rates = {r: x for r, x in job["rates"].items() if x > 0}
    if data.get("forking"):
        return {
            f"{machine['id']}:{r}": (rates[r] * data["slot_seconds"] / job["iterations"], {r})
            for machine in data["machines"]
            for r in machine["gpus"]
            if r in rates
        }
    share = gang * data["slot_seconds"] / job["iterations"]
    fastest_first = sorted(set(rates.values()), reverse=True)
    return {str(x): (x * share, {r for r in rates if rates[r] >= x}) for x in fastest_first}


def build(data):
    """Return the model; progress is in shares of a job, without the card's units and blocks."""
    T, forking = data["slots"], data.get("forking", False)
    jobs = {job["id"]: job for job in data["jobs"]}
    speeds = {j: speeds_of(data, job) for j, job in jobs.items()}
    types = sorted({r for machine in data["machines"] for r in machine["gpus"]})
    supply = {r: sum(m["gpus"].get(r, 0) for m in data["machines"]) for r in types}

    m = pyo.ConcreteModel()
    m.JOBS = pyo.Set(initialize=list(jobs))
    slots = [(j, t) for j, job in jobs.items() for t in range(job["arrival"], T + 1)]
    m.SLOTS_OF = pyo.Set(initialize=slots, dimen=2)
    m.RUNS = pyo.Set(initialize=[(j, t, v) for j, t in m.SLOTS_OF for v in speeds[j]], dimen=3)
    m.z = pyo.Var(m.RUNS, domain=pyo.Binary)
    m.done = pyo.Var(m.SLOTS_OF, domain=pyo.Binary)

    def before(j, f):
        return m.done[j, f - 1] if (j, f - 1) in m.SLOTS_OF else 0

    def runs(j, t):
        return sum(m.z[j, t, v] for v in speeds[j])

    def worth(j, f):
        return utility_of(data, jobs[j], f - jobs[j]["arrival"] + 1)

    m.utility = pyo.Objective(
        expr=sum(worth(j, f) * (m.done[j, f] - before(j, f)) for j, f in m.SLOTS_OF),
        sense=pyo.maximize,
    )
    m.order = pyo.Constraint(m.SLOTS_OF, rule=lambda m, j, f: before(j, f) <= m.done[j, f])
    if data.get("must_finish"):
        m.completion = pyo.Constraint(
            m.JOBS,
            rule=lambda m, j: (
                m.done[j, T] == 1 if (j, T) in m.SLOTS_OF else pyo.Constraint.Infeasible
            ),
        )
    m.running = pyo.Constraint(
        m.SLOTS_OF,
        rule=lambda m, j, t: (
            runs(j, t) <= (len(speeds[j]) if forking else 1) * (m.done[j, T] - before(j, t))
        ),
    )
    m.last = pyo.Constraint(m.SLOTS_OF, rule=lambda m, *i: m.done[i] - before(*i) <= runs(*i))
    m.cumulative = pyo.Constraint(
        m.SLOTS_OF,
        rule=lambda m, j, f: (
            sum(speeds[i][v][0] * m.z[i, t, v] for i, t, v in m.RUNS if i == j and t <= f)
            >= (1 - NEAR) * m.done[j, f]
        ),
    )
    m.capacity = pyo.ConstraintList()
    for t in range(1, T + 1):
        here = [(j, v) for j, s, v in m.RUNS if s == t]
        for row, most in rows(data, jobs, speeds, types, supply, here, forking):
            if row:
                m.capacity.add(sum(g * m.z[j, t, v] for g, j, v in row) <= most)
    return m


def rows(data, jobs, speeds, types, supply, here, forking):
    """Yield what a slot's GPUs limit: Hall's condition, or with forking each machine and type."""
    if forking:
        for machine in data["machines"]:
            for r, most in machine["gpus"].items():
                name = f"{machine['id']}:{r}"
                yield [(1, j, v) for j, v in here if v == name], most
            for job in {j for j, _ in here}:
                mine = {f"{machine['id']}:{r}" for r in machine["gpus"]}
                yield [(1, j, v) for j, v in here if j == job and v in mine], 1
        return
    for size in range(1, len(types) + 1):
        for some in map(set, combinations(types, size)):
            row = [(jobs[j]["workers"], j, v) for j, v in here if speeds[j][v][1] <= some]
            yield row, sum(supply[r] for r in some)


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
