"""Configurations, as on configurations.md: which GPUs each job has in a round (Sia, SOSP'23)."""

import pyomo.environ as pyo
from levels import main, solve

DECIMALS = 9


def costs(job, model, power):
    """Return what a job costs with each configuration that it can have."""
    goodput = {c: g for c, g in model["goodput"].items() if g}
    seconds = model.get("restart_seconds", 30)
    age, present = job.get("age", 0), job.get("present")
    factor = 1
    if present is not None and age + seconds:
        factor = max(age - job.get("restarts", 0) * seconds, 0) / (age + seconds)
    sign = 1 if power < 0 else -1
    found = {}
    for c, g in goodput.items():
        kept = 1 if c == present else factor
        if kept or power > 0:
            found[c] = round(sign * (kept * g / min(goodput.values())) ** power, DECIMALS)
    return found


def build(data):
    """Return the model."""
    power, penalty = data.get("power", -0.5), data.get("penalty", 1.1)
    models = {model["id"]: model for model in data["models"]}
    jobs = {job["id"]: job for job in data["jobs"]}
    row = {j: costs(job, models[job["model"]], power) for j, job in jobs.items()}
    shape = {c["id"]: (c["type"], c.get("nodes", 1), c["gpus"]) for c in data["configurations"]}
    types = {t["id"]: (t["nodes"], t["gpus_per_node"]) for t in data["types"]}

    m = pyo.ConcreteModel()
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.CHOICES = pyo.Set(initialize=[(j, c) for j in jobs for c in row[j]], dimen=2)
    sizes = {t: [2**k for k in range(gpus.bit_length())] for t, (_, gpus) in types.items()}
    rooms = [(t, b) for t in types for b in sizes[t] if b == 1 or types[t][1] % b]
    m.ROOMS = pyo.Set(initialize=rooms, dimen=2)
    m.x = pyo.Var(m.CHOICES, domain=pyo.Binary)
    running = {j: job["present"] for j, job in jobs.items() if job.get("present") is not None}
    saved = sum((row[j][c] - penalty) * m.x[j, c] for j, c in m.CHOICES)
    m.cost = pyo.Objective(expr=penalty * len(jobs) + saved)
    m.moved = pyo.Objective(expr=sum(1 - m.x[j, c] for j, c in running.items()))

    def fits(m, t, b):
        nodes, gpus = types[t]
        here = [(j, c) for j, c in m.CHOICES if shape[c][0] == t and min(shape[c][2], gpus) >= b]
        taken = [shape[c][1] * (min(shape[c][2], gpus) // b) * m.x[j, c] for j, c in here]
        return sum(taken) <= nodes * (gpus // b) if taken else pyo.Constraint.Skip

    m.choice = pyo.Constraint(
        m.JOBS,
        rule=lambda m, j: sum(m.x[j, c] for c in row[j]) <= 1 if row[j] else pyo.Constraint.Skip,
    )
    m.room = pyo.Constraint(m.ROOMS, rule=fits)
    return m


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
