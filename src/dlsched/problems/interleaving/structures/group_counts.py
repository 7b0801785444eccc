"""How many groups there are, and which exact method suits an instance."""

import math
from collections import Counter

from dlsched.problems.interleaving.definition.schema import Instance

MOST_MULTISETS = 1_000_000
"""`aggregated` enumerates all multisets of profiles, and refuses to enumerate more."""
_FEW_MULTISETS = 300_000
_FEW_DISTINCT = 10_000
"""Up to here enumeration is faster than searching by price: 48 profiles of one class with several
jobs each, and 20 jobs without equal ones."""


def count_groups(instance: Instance) -> int:
    """Return the number of allowed groups of jobs."""
    jobs = map(len, instance.classes.values())
    return sum(math.comb(n, size) for n in jobs for size in instance.group_sizes)


def count_multisets(instance: Instance) -> int:
    """Return the number of multisets of profiles; at most, where a profile has few jobs."""
    profiles = Counter(profile.gpus for profile in instance.profiles).values()
    return sum(math.comb(n + size - 1, size) for n in profiles for size in instance.group_sizes)


def is_matching(instance: Instance) -> bool:
    """Return whether the groups are pairs that hold every job."""
    return instance.grouping == "uniform" and len(instance.resources) == 2


def choose(instance: Instance) -> str:
    """Return the exact method that suits an instance."""
    if is_matching(instance):
        return "blossom"
    alike = len(instance.profiles) < len(instance.jobs)
    if count_multisets(instance) <= (_FEW_MULTISETS if alike else _FEW_DISTINCT):
        return "aggregated"
    return "column_generation"
