"""Elastic, as on elastic.md: how many workers each job gets (Lyra, section 5.2)."""

from itertools import product

import pyomo.environ as pyo
from levels import main, solve

ONE = [{"id": "training", "capacity": 0, "speed": 1}]
EFFICIENCY = 0.7


def seconds(job, workers, speeds, efficiency):
    """Return the running time with numbers of workers in the pools."""
    count = sum(workers)
    if "running_times" in job:
        time = job["running_times"][count - job["min_workers"]]
    else:
        time = job["min_running_time"] * job["max_workers"] / count
    mixed = efficiency if min(workers) > 0 and len(workers) > 1 else 1
    return time * count / (mixed * sum(s * w for s, w in zip(speeds, workers, strict=True)))


def base_of(job, pools):
    """Return the base workers by pool: where they run, else in the fastest pool allowed."""
    allowed = pools if job.get("fungible") or job.get("heterogeneous") else pools[:1]
    home = max(allowed, key=lambda pool: pool["speed"])["id"]
    home = job.get("base_pool") or home
    return tuple(job["min_workers"] * (pool["id"] == home) for pool in pools)


def choices(job, pools, base):
    """Return the numbers of workers by pool that the job may have."""
    most = job["max_workers"]
    loan = job.get("fungible") or job.get("heterogeneous")
    for workers in product(range(most + 1), repeat=len(pools)):
        if not job["min_workers"] <= sum(workers) <= most:
            continue
        if job.get("running") and any(w < b for w, b in zip(workers, base, strict=True)):
            continue
        alone = len(pools) == 1 or not workers[1]
        if alone or (loan and (job.get("heterogeneous") or not workers[0])):
            yield workers


def build(data):
    """Return the model."""
    pools = data.get("pools") or [{**ONE[0], "capacity": data["capacity"]}]
    pools = sorted(pools, key=lambda pool: pool["id"] == "loan")  # training first
    speeds = [pool["speed"] for pool in pools]
    efficiency = data.get("mixed_efficiency", EFFICIENCY)
    jobs = {job["id"]: job for job in data["jobs"]}
    base = {j: base_of(job, pools) for j, job in jobs.items()}
    running = {j: bool(job.get("running")) for j, job in jobs.items()}
    items = {j: list(choices(job, pools, base[j])) for j, job in jobs.items()}

    m = pyo.ConcreteModel()
    m.JOBS = pyo.Set(initialize=list(jobs))
    m.POOLS = pyo.RangeSet(0, len(pools) - 1)
    m.ITEMS = pyo.Set(initialize=[(j, *w) for j in jobs for w in items[j]], dimen=1 + len(pools))

    def gpus(j, w, k):
        return jobs[j]["gpus_per_worker"] * (w[k] - base[j][k] * running[j])

    def saved(j, w):
        job = jobs[j]
        return seconds(job, base[j], speeds, efficiency) - seconds(job, w, speeds, efficiency)

    m.x = pyo.Var(m.ITEMS, domain=pyo.Binary)
    pending = [(j, *w) for j, *w in m.ITEMS if not running[j]]
    m.launched = pyo.Objective(expr=sum(m.x[i] for i in pending), sense=pyo.maximize)
    m.reduction = pyo.Objective(
        expr=sum(saved(j, w) * m.x[j, *w] for j, *w in m.ITEMS), sense=pyo.maximize
    )
    m.capacity = pyo.Constraint(
        m.POOLS,
        rule=lambda m, k: (
            sum(gpus(j, w, k) * m.x[j, *w] for j, *w in m.ITEMS) <= pools[k]["capacity"]
            if items
            else pyo.Constraint.Feasible
        ),
    )

    def one_choice(m, j):
        total = sum(m.x[j, *w] for w in items[j])
        return total == 1 if running[j] else total <= 1

    m.choice = pyo.Constraint(m.JOBS, rule=one_choice)
    return m


if __name__ == "__main__":
    main(lambda data, *solver: solve(build(data), *solver))
