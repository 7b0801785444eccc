"""Shares, as on shares.md: the time of each job on each type of GPU (Gavel); a kind is one job."""

import pyomo.environ as pyo
from levels import HIGHS, main, optimum

NEAR = 1e-10
"""Tangents to finish times are added until the value is within this share of the bound."""


class Terms:
    """What an instance says of speeds: rates alone and beside others, and fair throughputs."""

    def __init__(self, data):
        gpus = {model["id"]: model.get("gpus", 1) for model in data["models"]}
        self.supply = data["gpus"]
        self.jobs = {job["id"]: job for job in data["jobs"]}
        self.gpus = {j: gpus[job["model"]] for j, job in self.jobs.items()}
        rates = {model["id"]: model["rates"] for model in data["models"]}
        self.alone = {
            (j, k): rate
            for j, job in self.jobs.items()
            for k, rate in rates[job["model"]].items()
            if rate and self.supply[k] >= self.gpus[j]
        }
        self.pairs = {}
        for pair in data.get("pairs", ()):
            if self.supply[pair["type"]] >= gpus[pair["models"][0]]:
                (a, b), (x, y), k = pair["models"], pair["rates"], pair["type"]
                self.pairs |= {(a, b, k): x, (b, a, k): y}
        everything = sum(self.supply.values())
        self.fair = {
            j: sum(r * self.supply[k] for (i, k), r in self.alone.items() if i == j) / everything
            for j in self.jobs
        }
        count = len(self.jobs)
        self.part = {
            j: f * min(1, everything / (count * self.gpus[j])) for j, f in self.fair.items()
        }

    def line(self, objective, j, at):
        """Return constant and slope of a line in its speed that a job's value is never above."""
        job = self.jobs[j]
        weight = job.get("weight", 1)
        if objective in ("max_min", "total"):
            return 0, weight if objective == "total" else self.gpus[j] / (weight * self.fair[j])
        steps, elapsed = job["steps"], job.get("elapsed", 0)
        if objective == "makespan":
            return 0, 1 / steps
        whole = elapsed + steps / self.part[j]
        speed = at * steps / (whole - at * elapsed)
        slope = whole * steps / (elapsed * speed + steps) ** 2
        return at - slope * speed, slope

    def finish(self, j, speed):
        """Return the time with an equal part of the cluster by that at a speed."""
        steps, elapsed = self.jobs[j]["steps"], self.jobs[j].get("elapsed", 0)
        return (elapsed + steps / self.part[j]) * speed / (elapsed * speed + steps)


def build(data, terms):
    """Return the model without the rows of the values."""
    models = {j: job["model"] for j, job in terms.jobs.items()}
    present = set(models.values())
    m = pyo.ConcreteModel()
    m.KINDS = pyo.Set(initialize=list(terms.jobs))
    m.TYPES = pyo.Set(initialize=list(terms.supply))
    m.ALONE = pyo.Set(initialize=list(terms.alone), dimen=2)
    beside = [(c, b, k) for c in models for a, b, k in terms.pairs if a == models[c]]
    beside = [(c, b, k) for c, b, k in beside if b in present]
    m.BESIDE = pyo.Set(initialize=beside, dimen=3)
    sides = {(a, b, k) for a, b, k in terms.pairs if a < b and {a, b} <= present}
    m.SIDES = pyo.Set(initialize=sorted(sides), dimen=3)
    m.y = pyo.Var(m.ALONE, bounds=(0, 1))
    m.z = pyo.Var(m.BESIDE, bounds=(0, 1))
    m.level = pyo.Var(bounds=(0, None))
    m.value = pyo.Objective(expr=m.level, sense=pyo.maximize)

    def side(a, b, k):
        return sum(m.z[c, b, k] for c in models if models[c] == a)

    def used(m, k):
        halves = [2 * terms.gpus[c] * m.y[c, t] for c, t in m.ALONE if t == k]
        halves += [terms.gpus[c] * m.z[c, b, t] for c, b, t in m.BESIDE if t == k]
        return sum(halves) <= 2 * terms.supply[k] if halves else pyo.Constraint.Skip

    def busy(m, c):
        return sum(m.y[i] for i in alone[c]) + sum(m.z[i] for i in shared[c]) <= 1

    def speed(m, c):
        return sum(terms.alone[i] * m.y[i] for i in alone[c]) + sum(
            terms.pairs[models[c], *i[1:]] * m.z[i] for i in shared[c]
        )

    alone = {c: [i for i in m.ALONE if i[0] == c] for c in models}
    shared = {c: [i for i in m.BESIDE if i[0] == c] for c in models}
    m.time = pyo.Constraint(m.KINDS, rule=busy)
    m.gpus = pyo.Constraint(m.TYPES, rule=used)
    m.equal = pyo.Constraint(m.SIDES, rule=lambda m, a, b, k: side(a, b, k) == side(b, a, k))
    alike = [(c, b, k) for c, b, k in m.BESIDE if models[c] == b]
    m.half = pyo.Constraint(alike, rule=lambda m, c, b, k: 2 * m.z[c, b, k] <= side(b, b, k))
    m.speed = pyo.Expression(m.KINDS, rule=speed)
    m.least = pyo.ConstraintList()
    return m


def run(data, solver=HIGHS):
    """Return the value; of finish times tangents are added at the best one so far."""
    terms, objective = Terms(data), data.get("objective", "max_min")
    if not terms.jobs:
        return {"value": 0}
    m, best = build(data, terms), 0
    while True:
        lines = {j: terms.line(objective, j, best) for j in terms.jobs}
        values = [constant + slope * m.speed[j] for j, (constant, slope) in lines.items()]
        for value in [sum(values)] if objective == "total" else values:
            m.least.add(m.level <= value)
        optimum(m, solver)
        bound = pyo.value(m.level)
        if objective != "finish_time":
            return {"value": bound}
        found = min(terms.finish(j, pyo.value(m.speed[j])) for j in terms.jobs)
        if bound - found <= NEAR * bound or found <= best:
            return {"value": found}
        best = found


if __name__ == "__main__":
    main(run)
