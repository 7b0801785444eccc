"""A solution checked against the problem's definition."""

import os
from dataclasses import replace

from dlsched import library
from dlsched.api.loading import InstanceLike, SolutionLike, load, load_solution
from dlsched.errors import InstanceError
from dlsched.results.objective import Bounds, gap
from dlsched.results.result import Report
from dlsched.variants import VariantLike, owner_of


def verify(
    instance: InstanceLike,
    solution: SolutionLike,
    *,
    bound: Bounds | None = None,
    variant: VariantLike = None,
) -> Report:
    """Check a solution against the problem's definition; no solver is involved.

    Parameters
    ----------
    instance, solution
        Anything that `load` and `load_solution` take.
    bound
        What to state the gap to; by default the library's bound, if the instance is in it.
    variant
        A change of the problem: its constraints and levels are evaluated in exact arithmetic.

    Raises
    ------
    InstanceError
        If either cannot be used, or the solution is of another problem or instance.
    """
    inst = load(instance)
    owner = owner_of(inst, variant)
    sol = load_solution(solution, inst.problem)
    if sol.instance_sha256 not in (None, inst.sha256):
        named = isinstance(solution, (str, os.PathLike))
        raise InstanceError(
            str(solution) if named else "the solution",
            "instance_sha256",
            f"is not the digest of {inst.name}",
            "verify it against the instance it was made for, or drop the field",
        )
    report = owner.check(inst, sol)
    if bound is None and variant is None:
        bound = library.best_bounds(inst.sha256)
    if bound is not None and report.feasible and report.objective is not None:
        report = replace(report, gap=gap(report.objective, bound))
    return report
