"""The definition of interleaving: the violations and the efficiency of a grouping."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number, simplify

Stages = Sequence[Number]

LEVELS = (Level("efficiency", "max", "gamma"),)

FINEST = 2**64
"""A sum whose denominator is larger is rounded down to a multiple of 1 / 2**64.

Gammas of distinct jobs have no common denominator: the sum of a thousand has ten thousand digits.
Rounding down keeps the value below every bound; the error is far below a double's last place.
"""


def check(instance: Instance, solution: Solution) -> Report:
    """Check a solution against the definition.

    Violations: ``unknown_job``, ``repeated_job``, ``missing_job``, ``empty_group``, ``too_large``,
    ``not_uniform``, ``mixed_gpus``, ``offsets_missing``, ``offsets_surplus``, ``offset_range``,
    ``repeated_offset``, ``over_budget``.

    ``details`` has ``groups``, their ``gpus``, the ``mean_efficiency`` of a group and the
    ``largest_group``. Groups whose efficiency cannot be computed count 0.
    """
    index = instance.job_index
    known = [group for group in solution.groups if all(job in index for job in group.jobs)]
    computable = [group for group in known if 0 < len(group.jobs) == len(group.offsets)]
    gammas = [_gamma(instance, group) for group in computable]
    details: dict[str, Number | float] = {
        "groups": len(solution.groups),
        "gpus": gpus(instance, solution),
        "largest_group": max((len(group.jobs) for group in solution.groups), default=0),
        "mean_efficiency": float(_total(gammas) / len(gammas)) if gammas else 0,
    }
    efficiency = _objective(instance, computable, gammas)
    return Report(tuple(_violations(instance, solution)), efficiency, details)


def iteration_time(stages: Sequence[Stages], offsets: Sequence[int]) -> Number:
    """Return the time of one iteration of the group (Muri, eq. 3).

    Parameters
    ----------
    stages
        For each job of the group its k stage times.
    offsets
        For each job the stage at which it starts; the offsets are distinct.
    """
    k = len(stages[0])
    return sum(
        max(job[(offset + j) % k] for job, offset in zip(stages, offsets, strict=True))
        for j in range(k)
    )


def efficiency(stages: Sequence[Stages], offsets: Sequence[int]) -> Fraction:
    """Return gamma (eq. 4): the share of the group's resource time that its stages fill."""
    k = len(stages[0])
    return Fraction(sum(map(sum, stages))) / (k * Fraction(iteration_time(stages, offsets)))


def evaluate(instance: Instance, groups: Iterable[Group]) -> ByLevel[Number]:
    """Return the sum of gamma over groups, each times its weight.

    The sum is exact; beyond a denominator of `FINEST` it is rounded down.
    """
    known = list(groups)
    return _objective(instance, known, [_gamma(instance, group) for group in known])


def _objective(
    instance: Instance, groups: Sequence[Group], gammas: Sequence[Fraction]
) -> ByLevel[Number]:
    gpus_of = [instance.jobs[instance.job_index[group.jobs[0]]].gpus for group in groups]
    weights = map(instance.weight, gpus_of)
    total = _total([gamma * weight for gamma, weight in zip(gammas, weights, strict=True)])
    if total.denominator > FINEST:
        total = Fraction(total * FINEST // 1, FINEST)
    return ByLevel(LEVELS, (simplify(total),))


def gpus(instance: Instance, solution: Solution) -> int:
    """Return the GPUs of the groups; a group takes the largest number of GPUs of its jobs."""
    index = instance.job_index
    return sum(
        max((instance.jobs[index[j]].gpus for j in group.jobs if j in index), default=0)
        for group in solution.groups
    )


def _gamma(instance: Instance, group: Group) -> Fraction:
    return efficiency(instance.stages_of(group.jobs), group.offsets)


def _total(terms: list[Fraction]) -> Fraction:
    """Return the sum, added pairwise: one by one, n additions would have a long denominator."""
    while len(terms) > 1:
        terms = [sum(terms[i : i + 2], Fraction(0)) for i in range(0, len(terms), 2)]
    return terms[0] if terms else Fraction(0)


def _violations(instance: Instance, solution: Solution) -> Iterable[Violation]:
    seen: dict[str, int] = {}
    for i, group in enumerate(solution.groups):
        yield from _group_violations(instance, group, f"groups[{i}]")
        for n, job in enumerate(group.jobs):
            where = f"groups[{i}].jobs[{n}]"
            if job not in instance.job_index:
                yield Violation("unknown_job", where, f'there is no job "{job}"')
            elif job in seen:
                message = f'job "{job}" is in group {seen[job]} already'
                yield Violation("repeated_job", where, message)
            seen.setdefault(job, i)
    for job in instance.job_index:
        if job not in seen:
            yield Violation("missing_job", "groups", f'job "{job}" is in no group')
    used = gpus(instance, solution)
    budget = instance.gpu_budget
    if budget is not None and used > budget:
        message = f"the groups take {used} GPUs, the budget is {budget}"
        yield Violation("over_budget", "groups", message, used - budget)


def _group_violations(instance: Instance, group: Group, where: str) -> Iterable[Violation]:
    size = len(group.jobs)
    least, most = instance.smallest_group, instance.group_limit
    if size == 0:
        yield Violation("empty_group", f"{where}.jobs", "the group has no job")
    elif size < least:
        message = f"{size} jobs, uniform groups have {least}"
        yield Violation("not_uniform", f"{where}.jobs", message, least - size)
    if size > most:
        message = f"{size} jobs, the most is {most}"
        yield Violation("too_large", f"{where}.jobs", message, size - most)
    index = instance.job_index
    counts = sorted({instance.jobs[index[job]].gpus for job in group.jobs if job in index})
    if len(counts) > 1:
        message = f"its jobs have {', '.join(map(str, counts))} GPUs"
        yield Violation("mixed_gpus", f"{where}.jobs", message, counts[-1] - counts[0])
    yield from _offset_violations(len(instance.resources), group, where)


def _offset_violations(k: int, group: Group, where: str) -> Iterable[Violation]:
    missing = len(group.jobs) - len(group.offsets)
    if missing:
        rule = "offsets_missing" if missing > 0 else "offsets_surplus"
        message = f"{len(group.jobs)} jobs, {len(group.offsets)} offsets"
        yield Violation(rule, f"{where}.offsets", message, abs(missing))
    for n, offset in enumerate(group.offsets):
        if offset >= k:
            message = f"offset {offset}, the last stage is {k - 1}"
            yield Violation("offset_range", f"{where}.offsets[{n}]", message, offset - k + 1)
        elif offset in group.offsets[:n]:
            message = f"offset {offset} is used twice: two jobs would use one resource at once"
            yield Violation("repeated_offset", f"{where}.offsets[{n}]", message)


def explain(instance: Instance) -> str:
    """Return why there is no solution; an empty string if there is one."""
    k = len(instance.resources)
    if instance.grouping == "uniform":
        for gpus_each, jobs in instance.classes.items():
            if len(jobs) % k:
                return (
                    f"{len(jobs)} jobs of {gpus_each} GPUs do not divide into uniform groups of {k}"
                )
    least = instance.least_gpus
    budget = instance.gpu_budget
    if budget is not None and least > budget:
        return (
            f"gpu_budget {budget}, the fullest groups of up to {instance.group_limit} take {least}"
        )
    return ""
