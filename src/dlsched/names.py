"""Names that are imported when they are first used, names that are gone, and the version."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

VERSION = "0.1.0"
_CLAIMS = "benchmarks/claims_only of the repository"
_CLAIMED = "elastic.Completion elastic.jct reclaiming.nearest_optimum utility.exact.total_duration"
_THERE = "Explanation History Period Snapshot pool queue read_history snapshot swf_text write_swf"
MOVED = {
    **{f"dlsched.problems.{name}": _CLAIMS for name in _CLAIMED.split()},
    **{f"dlsched.records.{name}": f"dlsched.simulation.{name}" for name in _THERE.split()},
    **{f"dlsched.{name}": f"dlsched.results.{name}" for name in ("objective", "result")},
    **{f"dlsched.sweeps.{n}": "run_suite(shard='k/n')" for n in ("Plan", "Shards", "write_plan")},
    "dlsched.bench": "dlsched.sweeps",
    "dlsched.doctor": "the command `dlsched doctor --json`",
    "dlsched.gavel": "dlsched.problems.shares",
    "dlsched.history": "dlsched.simulation.history",
    "dlsched.problems.library": "dlsched.library",
    "dlsched.problems.interleaving.pictures": "dlsched.plot",
    "dlsched.problems.placement.pictures": "dlsched.plot",
    "dlsched.problems.placement.heuristics.daily": "dlsched.solve by hill_climbing with days=1",
    "dlsched.problems.reclaiming.frontier": "dlsched.frontier",
    "dlsched.problems.shares.POLICIES": "the field objective of dlsched.problems.shares.Instance",
    "dlsched.problems.shares.shares": "dlsched.solve, on an instance of shares",
    "dlsched.problems.utility.exact.bounds": "dlsched.problems.utility.programs.lagrangian",
    "dlsched.problems.utility.pictures": "dlsched.problems.utility.draw",
    "dlsched.problems.utility.instances.from_gavel_throughputs": "shares.read_rates for `rates`",
    "dlsched.profiling": "dlsched.problems.sensitivity",
    "dlsched.records.sacct_text": "dlsched.simulation.swf_text",
    "dlsched.records.write_sacct": "dlsched.simulation.write_swf",
    "dlsched.records.replay": "dlsched.simulation.simulate with the policy fifo",
    "dlsched.simulation.clairvoyant": "dlsched.simulation.bounds.bound, for all schedules",
    "dlsched.simulation.measures.latency": _CLAIMS,
    "dlsched.simulation.published": "benchmarks/published of the repository",
    "dlsched.sweeps.Dask": "run_suite(on=a client, a cluster, or the address of a scheduler)",
    "dlsched.sweeps.statistics": "dlsched.results.statistics",
    "dlsched.sweeps.sweep_state": "dlsched.sweeps.status",
    "dlsched.testing.find_worst": "worst_case",
    "dlsched.traces": "dlsched.records",
    "dlsched.variants.no_variant": "dlsched.variants.variant_of",
}
"""What to use instead of modules and functions that are gone; an entry is kept until 0.2."""


class Moved:
    """A finder, asked first, that says what to use instead of a name that is gone."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise an `ImportError` for a name of `MOVED`; find nothing otherwise."""
        if name in MOVED:
            raise ImportError(f"{name} is gone; use {MOVED[name]}", name=name)


sys.meta_path.insert(0, Moved)


def lazy(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that imports a name when it is used.

    Its public names have blanks between them, by the module below it that has them.
    """
    module_of = {name: module for module, text in names.items() for name in text.split()}

    def getattr_(name: str) -> Any:
        if name in module_of:
            value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        else:
            full = f"{package}.{name}"
            try:
                found = not name.startswith("_") and find_spec(full) is not None
            except ImportError as error:
                raise AttributeError(str(error)) from None
            if not found:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = import_module(full)
        setattr(sys.modules[package], name, value)
        return value

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return getattr_, dir_
