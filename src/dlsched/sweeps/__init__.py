"""Suites of runs, the runner, the store of their results, statistics and reports."""

from dlsched.sweeps.merge import Merged, merge
from dlsched.sweeps.places import Dask, Local, Shards
from dlsched.sweeps.plan import Plan, write_plan
from dlsched.sweeps.runner import run_suite
from dlsched.sweeps.status import sweep_state
from dlsched.sweeps.store import Store
from dlsched.sweeps.suite import Suite, read_suite

__all__ = [
    "Dask",
    "Local",
    "Merged",
    "Plan",
    "Shards",
    "Store",
    "Suite",
    "merge",
    "read_suite",
    "run_suite",
    "sweep_state",
    "write_plan",
]
