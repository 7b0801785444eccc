"""How fast a job runs with what it holds: work done per second, relative to what it asked for."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from operator import mul
from typing import Final

from dlsched.problems.interleaving.definition.check import iteration_time
from dlsched.schema import Number
from dlsched.simulation.engine.decision import Allocation, PolicyError, Share
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix

Stages = tuple[Number, ...]

ONE: Final = Fraction(1)


def speed(
    job: Job,
    allocation: Allocation,
    cluster: Cluster,
    partners: Sequence[Job],
    matrix: Matrix | None = None,
    part: int = 0,
) -> Fraction:
    """Return the work that a job does per second.

    What the policy states is taken as it is. Otherwise it is the product of five factors, each 1
    where it does not apply: the GPUs held over those asked for, less what they lose (`Job.
    scaling_loss`); the rate on the slowest type held, or with GPUs of both pools the mean rate of
    the GPUs, over the rate on the job's own type, and the efficiency with both pools; the
    throughput with the CPUs and memory per GPU over that with the proportional share, on the server
    where it is least; and the job's iteration time alone over that of its group. With a goodput it
    is that of its slowest type for all GPUs, over that for which its work is stated.

    Parameters
    ----------
    partners
        The other jobs that hold the same GPUs.
    matrix
        Throughput by CPUs and memory; None if the job has none.
    part
        Which part of its training a job with a goodput is in.

    Raises
    ------
    PolicyError
        If the jobs cannot take turns on their GPUs.
    """
    if allocation.speed is not None:
        return Fraction(allocation.speed)
    gpus = allocation.gpus
    factor = ONE if gpus == job.gpus else Fraction(gpus, job.gpus)
    if job.goodput is not None:
        kinds = {cluster.by_id[share.server].gpu_type for share in allocation.shares}
        servers = len(allocation.shares)
        factor = min(job.goodput_speed(part, kind, servers, gpus) for kind in kinds)
    if job.scaling_loss:
        factor = Fraction(job.throughput(gpus)) / Fraction(job.throughput(job.gpus))
    if job.mixed_efficiency != 1 or job.rates:
        pools = {cluster.by_id[share.server].pool for share in allocation.shares}
        factor *= Fraction(job.mixed_efficiency) if len(pools) > 1 else 1
        factor *= _relative_rate(job, allocation, cluster, len(pools) > 1)
    if matrix is not None:
        factor *= min(_relative(matrix, share) for share in allocation.shares)
    if partners:
        group = sorted([job.stages, *(other.stages for other in partners)])
        _require_turns([job, *partners])
        factor *= Fraction(sum(job.stages)) / least_iteration_time(tuple(group))
    return factor


def _relative_rate(
    job: Job, allocation: Allocation, cluster: Cluster, mixed: bool
) -> Fraction | int:
    """Return the rate of a job's GPUs over that of its own type; 1 for a job without rates.

    Elsewhere the GPUs go at the pace of the slowest. A job that can have GPUs of both pools adapts
    the work of each worker to its GPUs (Lyra, section 2.1), so that their rates add up.
    """
    if not job.rates or job.gpu_type is None:
        return 1
    kinds = [cluster.by_id[share.server].gpu_type or "" for share in allocation.shares]
    counts = [share.gpus for share in allocation.shares]
    rates = [Fraction(job.rates.get(kind, 0)) for kind in kinds]
    result = min(rates)
    if mixed and result:
        result = Fraction(sum(map(mul, rates, counts)), allocation.gpus)
    return result / job.rates[job.gpu_type]


def _relative(matrix: Matrix, share: Share) -> Fraction:
    """Return the throughput with a share, relative to the proportional one."""
    assert share.cpus is not None and share.memory is not None, "`checked` states them"
    return matrix.speed(Fraction(share.cpus) / share.gpus, Fraction(share.memory) / share.gpus)


def _require_turns(group: Sequence[Job]) -> None:
    resources = len(group[0].stages)
    alike = all(len(job.stages) == resources and any(job.stages) for job in group)
    if len(group) > resources or not alike:
        names = ", ".join(job.id for job in group)
        raise PolicyError(
            f"jobs {names} cannot share GPUs: each needs stages of the same resources, not "
            f"all 0, and at most as many jobs as resources share; job {group[0].id} has {resources}"
        )


@lru_cache(maxsize=100_000)
def least_iteration_time(group: tuple[Stages, ...]) -> Fraction:
    """Return the least iteration time of a group over the orders of its jobs (Muri, eq. 3).

    It is the interleaving problem's own, in the unit of the stages.
    """
    resources = len(group[0])
    orders = permutations(range(1, resources), len(group) - 1)
    return min(Fraction(iteration_time(group, (0, *order))) for order in orders)
