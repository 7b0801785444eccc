"""Variants in which jobs may run only on some machines, by counts on classes of equal machines."""

from dlsched.problems.dispatch.definition.check import LEVELS
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.exact import bounds_of, from_best, solve_classes
from dlsched.problems.dispatch.heuristics import mast_solution
from dlsched.problems.dispatch.structures.fleet import Barred
from dlsched.problems.dispatch.variant.allow import Allow, violations
from dlsched.results.result import Claim
from dlsched.run import Run

PRELOAD = ("highspy", "scipy.sparse")


def solve_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Integer program that counts tasks on classes of machines of which the rule says the same.

    Exact as `classes` is: a rule takes machines from jobs, which no step of it depends on.
    """
    barred = barred_of(instance, allow)
    return from_best(
        instance,
        run,
        lambda best: solve_classes(instance, run, best, len(LEVELS), barred),
        first=lambda: mast_solution(instance, barred=barred),
        allowed=lambda solution: not any(violations(instance, solution, allow)),
    )


def bound_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Linear relaxation of the aggregated program of these machines, level by level."""
    return bounds_of(instance, run, barred_of(instance, allow))


def barred_of(instance: Instance, allow: Allow) -> Barred:
    """Return which machines each job may use; groups of which the rule says the same are one."""
    jobs = [
        (w, j) for w, workload in enumerate(instance.pending) for j in range(len(workload.jobs))
    ]
    labels: dict[tuple[bool, ...], int] = {}
    of_group: list[int] = []
    for group in instance.groups:
        said = tuple(
            allow(instance, instance.pending[w], instance.pending[w].jobs[j], group)
            for w, j in jobs
        )
        of_group.append(labels.setdefault(said, len(labels)))
    allowed = {
        job: frozenset(label for said, label in labels.items() if said[k])
        for k, job in enumerate(jobs)
    }
    return Barred(of_group, allowed)
