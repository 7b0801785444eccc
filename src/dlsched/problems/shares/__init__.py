"""Gavel's allocation programs (OSDI'20): shares of heterogeneous GPUs by policy.

`shares` solves one linear program over kinds of jobs, with or without two jobs on the same GPUs,
and returns exact, checked shares with a certified bound. `check` is the checker on its own.
"""

from dlsched.problems.shares.allocation import PairShare, Round, Shares
from dlsched.problems.shares.api import shares
from dlsched.problems.shares.checker import Checked, Share, check
from dlsched.problems.shares.files import read_rates
from dlsched.problems.shares.jobs import Job
from dlsched.problems.shares.measures import POLICIES
from dlsched.problems.shares.rates import Rates

__all__ = [
    "POLICIES",
    "Checked",
    "Job",
    "PairShare",
    "Rates",
    "Round",
    "Share",
    "Shares",
    "check",
    "read_rates",
    "shares",
]
