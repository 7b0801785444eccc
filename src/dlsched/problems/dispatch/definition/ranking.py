"""The ranking of pending workloads: priority and credit with quotas (MAST, section 4.2)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.schema import Number


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

    All numbers are exact: the credits are compared as integers over one denominator.
    """
    credits, denominator = _credits(instance)
    used = _in_use(instance)
    index, pending, lowest = instance.tenant_index, instance.pending, instance.lowest_priority
    limits = [(tenant.gpu_quota, tenant.cpu_quota, tenant.priority) for tenant in instance.tenants]
    found: list[list[Ranked]] = [[] for _ in range(lowest + 1)]
    for i in sorted(range(len(pending)), key=credits.__getitem__, reverse=True):  # stable
        workload = pending[i]
        t = index[workload.tenant]
        gpus, cpus = used[t]
        for job in workload.jobs:
            gpus += job.tasks * job.gpus
            cpus += job.tasks * job.cpus
        gpu_quota, cpu_quota, priority = limits[t]
        within = gpus <= gpu_quota and cpus <= cpu_quota
        if within:
            used[t] = (gpus, cpus)
        else:
            priority = lowest
        credit = _over(credits[i], denominator)
        found[priority].append(Ranked(workload.id, priority, credit, within, i))
    return tuple(ranked for same in found for ranked in same)


def _over(credit: int, denominator: int) -> Number:
    if denominator == 1:
        return credit
    found = Fraction(credit, denominator)
    return found.numerator if found.denominator == 1 else found


def _credits(instance: Instance) -> tuple[list[int], int]:
    """Return the credits as integers over one denominator."""
    constants = instance.credit
    ages = [min(workload.age, constants.age_cap) for workload in instance.pending]
    shares = _fair_shares(instance)
    weight = Fraction(constants.age_weight)
    below = math.lcm(*{age.denominator for age in ages}) * weight.denominator
    denominator = math.lcm(below, *(share.denominator for share in shares))
    fair = [int(share * denominator) for share in shares]
    scale = denominator // weight.denominator * weight.numerator
    index = instance.tenant_index
    return [
        scale * age.numerator // age.denominator + fair[index[workload.tenant]]
        for age, workload in zip(ages, instance.pending, strict=True)
    ], denominator


def _fair_shares(instance: Instance) -> list[Fraction]:
    """Return expression 11 by tenant: below average use gives credit.

    The average is the mean over tenants **(D)**; the term is `fair_weight` for all of them if
    nobody has used anything **(D)**, where the expression divides by 0.
    """
    total = sum((Fraction(tenant.window_use) for tenant in instance.tenants), Fraction(0))
    weight = Fraction(instance.credit.fair_weight)
    if not total:
        return [weight] * len(instance.tenants)
    mean = total / len(instance.tenants)
    return [weight * (1 - tenant.window_use / mean) for tenant in instance.tenants]


def _in_use(instance: Instance) -> list[tuple[Number, Number]]:
    """Return by tenant GPUs and CPUs of its running workloads within quota."""
    used: list[tuple[Number, Number]] = [(0, 0)] * len(instance.tenants)
    for workload in instance.running:
        if workload.within_quota:
            t = instance.tenant_index[workload.tenant]
            gpus, cpus = used[t]
            for job in workload.jobs:
                tasks = sum(job.on.values())
                gpus, cpus = gpus + tasks * job.gpus, cpus + tasks * job.cpus
            used[t] = (gpus, cpus)
    return used


def startable(instance: Instance) -> tuple[Ranked, ...]:
    """Return the ranking's workloads that the scope allows to start."""
    ranking = rank(instance)
    return ranking[:1] if instance.scope == "one" else ranking
