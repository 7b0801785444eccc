"""Suites of runs: what to solve with what, a runner that loses nothing, and what came of it."""

from dlsched.bench.runner import run_suite
from dlsched.bench.store import Store
from dlsched.bench.suite import Suite, read_suite

__all__ = ["Store", "Suite", "read_suite", "run_suite"]
