"""Optimistic profiling (Synergy, section 3.1): few measurements, the rest of the matrix by a model.

Pure functions over a user's measurement callback. `profile_cpus` measures a job at a few numbers of
CPUs with its whole data set in memory, `fill_memory` computes the times with less memory,
`best_case` reads the job's demand from the matrix, and `sensitivity_profile` makes it a profile of
a sensitivity instance. `error_bound` limits the error of what was not measured.
"""

from dlsched.profiling.cpus import CpuProfile, Gap, error_bound, profile_cpus
from dlsched.profiling.matrix import (
    Demand,
    SensitivityMatrix,
    best_case,
    fill_memory,
    sensitivity_profile,
)

__all__ = [
    "CpuProfile",
    "Demand",
    "Gap",
    "SensitivityMatrix",
    "best_case",
    "error_bound",
    "fill_memory",
    "profile_cpus",
    "sensitivity_profile",
]
