"""Suites of runs: what to solve with what, and a runner that keeps what it has finished."""

from dlsched.bench.runner import run_suite
from dlsched.bench.suite import Suite, read_suite

__all__ = ["Suite", "read_suite", "run_suite"]
