"""The ranking of pending workloads: priority and credit with quotas (MAST, section 4.2)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from dlsched.problems.dispatch.schema import Instance
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
    the scan has found within quota, whether they will start or not. The order is by priority, then
    credit, then the file's.

    All numbers are exact: the credits are compared as integers over one denominator.
    """
    credits, denominator = _credits(instance)
    order = sorted(range(len(instance.pending)), key=lambda i: -credits[i])
    used = _in_use(instance)
    found = []
    for i in order:
        workload = instance.pending[i]
        t = instance.tenant_index[workload.tenant]
        tenant, (gpus, cpus) = instance.tenants[t], used[t]
        more_gpus = gpus + sum(job.tasks * job.gpus for job in workload.jobs)
        more_cpus = cpus + sum(job.tasks * job.cpus for job in workload.jobs)
        within = more_gpus <= tenant.gpu_quota and more_cpus <= tenant.cpu_quota
        if within:
            used[t] = (more_gpus, more_cpus)
        priority = tenant.priority if within else instance.lowest_priority
        found.append((priority, i, within))
    found.sort(key=lambda entry: entry[0])  # stable: by credit, then in file order
    return tuple(
        Ranked(instance.pending[i].id, p, _over(credits[i], denominator), within, i)
        for p, i, within in found
    )


def _over(credit: int, denominator: int) -> Number:
    return credit if denominator == 1 else simplify(Fraction(credit, denominator))


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
    """Return expression 11 by tenant: below average use gives credit."""
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
