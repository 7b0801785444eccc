"""Suites of runs, the runner, the store of their results, statistics and reports."""

from dlsched.bench.merge import Merged, merge
from dlsched.bench.places import Dask, Local, Shards
from dlsched.bench.plan import Plan, write_plan
from dlsched.bench.runner import run_suite
from dlsched.bench.status import sweep_state
from dlsched.bench.store import Store
from dlsched.bench.suite import Suite, read_suite

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
