"""Suites of runs, what makes them, the store of their rows, statistics and reports."""

from dlsched.execution import Local
from dlsched.names import lazy
from dlsched.sweeps.merge import Merged, SweepState, merge, status
from dlsched.sweeps.run import run_suite
from dlsched.sweeps.store import Store, read_rows
from dlsched.sweeps.suite import Suite, read_suite

__all__ = [
    "Local",
    "Merged",
    "Store",
    "Suite",
    "SweepState",
    "merge",
    "read_rows",
    "read_suite",
    "run_suite",
    "status",
]
__getattr__ = lazy(__name__, {})[0]  # which says what to use instead of names that are gone
