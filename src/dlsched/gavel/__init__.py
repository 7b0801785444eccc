"""Gavel's allocation programs (OSDI'20): shares of heterogeneous GPUs by policy.

`shares` solves one linear program over kinds of jobs, with or without two jobs on the same GPUs,
and returns exact, checked shares with a certified bound. `check` is the checker on its own.
"""

from dlsched.gavel.allocation import Round, Shares
from dlsched.gavel.api import shares
from dlsched.gavel.checker import Checked, Share, check
from dlsched.gavel.files import read_rates
from dlsched.gavel.jobs import Job
from dlsched.gavel.measures import POLICIES
from dlsched.gavel.pairs import PairShare
from dlsched.gavel.rates import Rates

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
