"""Variants in which only some pairs of jobs may share GPUs, by column generation."""

from itertools import combinations

import numpy as np

from dlsched.problems.interleaving import exact
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.exact.group_columns import COLUMN_LIBRARIES
from dlsched.problems.interleaving.variant.allow import Allow, may_share
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.arrays import Flags

PRELOAD = COLUMN_LIBRARIES


def solve_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Column generation over the groups of which any two jobs may share.

    Exact as `column_generation` is: pricing searches all these groups.
    """
    return exact.search_groups(instance, run, apart=pairs_apart(instance, allow))


def bound_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Least Lagrangian bound over these groups, proved by an exact pricing pass."""
    return exact.bound_groups(instance, run, apart=pairs_apart(instance, allow))


def pairs_apart(instance: Instance, allow: Allow) -> Flags:
    """Return, jobs x jobs, whether two must not share; only jobs of equal GPUs can."""
    count = len(instance.jobs)
    apart = np.zeros((count, count), dtype=np.bool_)
    for jobs in instance.classes.values():
        for i, j in combinations(jobs, 2):
            if not may_share(instance, allow, instance.jobs[i], instance.jobs[j]):
                apart[i, j] = apart[j, i] = True
    return apart
