"""Suites of runs, the runner, the store of their results, statistics and reports."""

from dlsched.bench.runner import run_suite
from dlsched.bench.store import Store
from dlsched.bench.suite import Suite, read_suite

__all__ = ["Store", "Suite", "read_suite", "run_suite"]
