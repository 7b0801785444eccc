"""Interleaving, as on interleaving.md: which jobs share GPUs (Muri, section 4)."""

from itertools import combinations, permutations

import pyomo.environ as pyo
from levels import main, solve


def efficiency(stages):
    """Return the efficiency of jobs that share GPUs, at their best offsets (eq. 3 and 4)."""
    k = len(stages[0])
    least = min(
        sum(
            max(job[(o + slot) % k] for job, o in zip(stages, offsets, strict=True))
            for slot in range(k)
        )
        for offsets in permutations(range(k), len(stages))
    )
    return sum(map(sum, stages)) / (k * least)


def allowed(data):
    """Yield the groups of jobs that may share GPUs."""
    k = len(data["resources"])
    most = min(k, data.get("max_group_size") or k)
    sizes = [k] if data["grouping"] == "uniform" else range(1, most + 1)
    by_gpus = {}
    for job in data["jobs"]:
        by_gpus.setdefault(job.get("gpus", 1), []).append(job)
    for jobs in by_gpus.values():
        for size in sizes:
            yield from combinations(jobs, size)


def build(data):
    """Return the model."""
    members = list(allowed(data))
    m = pyo.ConcreteModel()
    m.JOBS = pyo.Set(initialize=[job["id"] for job in data["jobs"]])
    m.GROUPS = pyo.RangeSet(0, len(members) - 1)
    gpus = [group[0].get("gpus", 1) for group in members]
    gamma = [efficiency([job["stages"] for job in group]) for group in members]
    weight = [g if data.get("weigh_by") == "gpus" else 1 for g in gpus]
    groups_of = {i: [] for i in m.JOBS}
    for s, group in enumerate(members):
        for job in group:
            groups_of[job["id"]].append(s)

    m.x = pyo.Var(m.GROUPS, domain=pyo.Binary)
    m.efficiency = pyo.Objective(
        expr=sum(weight[s] * gamma[s] * m.x[s] for s in m.GROUPS), sense=pyo.maximize
    )
    m.partition = pyo.Constraint(
        m.JOBS,
        rule=lambda m, i: (
            sum(m.x[s] for s in groups_of[i]) == 1 if groups_of[i] else pyo.Constraint.Infeasible
        ),
    )
    budget = data.get("gpu_budget")
    if data["grouping"] == "cover" and budget is not None and members:
        m.budget = pyo.Constraint(expr=sum(gpus[s] * m.x[s] for s in m.GROUPS) <= budget)
    return m


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
