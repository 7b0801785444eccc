"""Suites of runs, what makes them, the store of their rows, statistics and reports."""

from dlsched.execution import Local
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

_GONE = {
    "Dask": "run_suite(on=a client, a cluster, or the address of a scheduler)",
    "Plan": "run_suite(shard='k/n'), which begins a sweep",
    "Shards": "run_suite(shard='k/n')",
    "sweep_state": "status",
    "write_plan": "run_suite(shard='k/n'), which begins a sweep",
}
"""What to use instead of names that are gone; an entry is kept until 0.2."""


def __getattr__(name: str) -> object:
    if name in _GONE:
        raise ImportError(f"dlsched.sweeps.{name} is gone; use {_GONE[name]}", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
