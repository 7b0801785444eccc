"""The ranking of pending workloads: priority and credit with quotas (MAST, section 4.2)."""

from fractions import Fraction
from typing import NamedTuple

from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.schema import Number, simplify


class Ranked(NamedTuple):
    """A pending workload in the ranking.

    Attributes
    ----------
    workload
        Its id.
    priority
        Its tenant's if it is within quota, else the lowest; 1 is the highest.
    credit
        The sum of expressions 10 and 11, exact.
    within_quota
        Whether it fits the tenant's quotas.
    position
        Its position in the file.
    """

    workload: str
    priority: int
    credit: Number
    within_quota: bool
    position: int


def rank(instance: Instance) -> tuple[Ranked, ...]:
    """Return the pending workloads in the order in which MAST schedules them.

    The workloads are scanned by falling credit. One is within quota if the tenant's quotas hold its
    GPUs and CPUs besides those of the tenant's running workloads within quota and of those that
    the scan has found within quota, whether they will start or not **(D)**. The GPUs and CPUs of
    all jobs count **(D)**, also the CPUs of GPU jobs. The order is by priority, then credit, then
    the file's.
    """
    constants = instance.credit
    fair_shares = _fair_shares(instance)
    credits = [
        constants.age_weight * min(workload.age, constants.age_cap)
        + fair_shares[instance.tenant_index[workload.tenant]]
        for workload in instance.pending
    ]
    gpus_used, cpus_used = _in_use(instance)
    ranking: list[Ranked] = []
    for i in sorted(range(len(credits)), key=credits.__getitem__, reverse=True):  # stable
        workload = instance.pending[i]
        t = instance.tenant_index[workload.tenant]
        tenant = instance.tenants[t]
        gpus = gpus_used[t] + sum([job.tasks * job.gpus for job in workload.jobs])
        cpus = cpus_used[t] + sum([job.tasks * job.cpus for job in workload.jobs])
        within = gpus <= tenant.gpu_quota and cpus <= tenant.cpu_quota
        if within:
            gpus_used[t] = gpus
            cpus_used[t] = cpus
        priority = tenant.priority if within else instance.lowest_priority
        ranking.append(Ranked(workload.id, priority, simplify(credits[i]), within, i))
    return tuple(sorted(ranking, key=lambda ranked: ranked.priority))  # stable


def _fair_shares(instance: Instance) -> list[Number]:
    """Return expression 11 by tenant: below average use gives credit.

    The average is the mean over tenants **(D)**; the term is `fair_weight` for all of them if
    nobody has used anything **(D)**, where the expression divides by 0.
    """
    uses = [Fraction(tenant.window_use) for tenant in instance.tenants]
    weight = instance.credit.fair_weight
    if not any(uses):
        return [weight] * len(uses)
    mean = sum(uses, Fraction(0)) / len(uses)
    return [simplify(weight * (1 - use / mean)) for use in uses]


def _in_use(instance: Instance) -> tuple[list[Number], list[Number]]:
    """Return GPUs and CPUs of running workloads within quota, each by tenant."""
    gpus: list[Number] = [0] * len(instance.tenants)
    cpus: list[Number] = [0] * len(instance.tenants)
    for workload in instance.running:
        if workload.within_quota:
            t = instance.tenant_index[workload.tenant]
            for job in workload.jobs:
                tasks = sum(job.on.values())
                gpus[t] += tasks * job.gpus
                cpus[t] += tasks * job.cpus
    return gpus, cpus


def startable(instance: Instance) -> tuple[Ranked, ...]:
    """Return the ranking's workloads that the scope allows to start."""
    ranking = rank(instance)
    return ranking[:1] if instance.scope == "one" else ranking
