"""The ranking of dispatch.md: the priority of each pending workload (MAST, section 4.2)."""

from levels import exact


def rank(data):
    """Return the pending workloads with their priorities, in the order of the ranking."""
    credit = {"age_weight": 1, "age_cap": 3600, "fair_weight": 1} | data.get("credit", {})
    tenants = {tenant["id"]: tenant for tenant in data["tenants"]}
    uses = {t: exact(tenant.get("window_use", 0)) for t, tenant in tenants.items()}
    mean = sum(uses.values()) / len(uses) if uses else 0
    used = {(t, name): 0 for t in tenants for name in ("gpus", "cpus")}

    def credit_of(w):
        age = min(exact(w["age"]), exact(credit["age_cap"]))
        fair = 1 - uses[w["tenant"]] / mean if mean else 1
        return exact(credit["age_weight"]) * age + exact(credit["fair_weight"]) * fair

    def count(w, tasks):
        """Return what the tenant uses with this workload."""
        return {
            (w["tenant"], name): used[w["tenant"], name]
            + sum(tasks(job) * exact(job.get(name, 0)) for job in w["jobs"])
            for name in ("gpus", "cpus")
        }

    for w in data.get("running", ()):
        if w["within_quota"]:
            used |= count(w, lambda job: sum(job["on"].values()))
    ranking = []
    for w in sorted(data["pending"], key=credit_of, reverse=True):
        tenant, after = tenants[w["tenant"]], count(w, lambda job: job["tasks"])
        quotas = exact(tenant["gpu_quota"]), exact(tenant["cpu_quota"])
        within = all(a <= q for a, q in zip(after.values(), quotas, strict=True))
        used |= after if within else {}
        ranking.append((w, tenant["priority"] if within else data["lowest_priority"]))
    return sorted(ranking, key=lambda entry: entry[1])
