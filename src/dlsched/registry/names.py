"""The names of the problems, here and by entry points of others, and of methods that are gone."""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

BUILT_IN = (
    *("reclaiming", "elastic", "interleaving", "utility", "placement"),
    *("sensitivity", "workers", "dispatch", "shares", "configurations"),
)
"""The problems of this package, each a folder of this name under ``dlsched.problems``."""

METHODS_GROUP, PROBLEMS_GROUP = "dlsched.methods", "dlsched.problems"
"""Entry-point groups: modules that register methods, and objects of type `Problem` by name."""

PACKAGE = "dlsched.problems"
"""The package that has the problems of `BUILT_IN`."""


def entries(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group that installed packages have."""
    known = known_entries.get(group)
    return _entries(group, entry_points, _installed()) if known is None else known


known_entries: dict[str, Iterable[EntryPoint]] = {}
"""Those that this process was told of when it began."""


@lru_cache
def _entries(
    group: str, read: Callable[..., Iterable[EntryPoint]], installed: tuple[object, ...]
) -> tuple[EntryPoint, ...]:
    """Read them once for what is installed: a file of every package is parsed for each group."""
    return tuple(read(group=group))


def _installed() -> tuple[object, ...]:
    """Return the folders of modules with their times, which installing a package changes."""
    found = []
    for path in map(os.path.abspath, sys.path):  # "" is the working directory
        with suppress(OSError):
            found.append((path, os.stat(path).st_mtime_ns))
    return tuple(found)


def problem_names() -> list[str]:
    """Return the names of the problems: those of this package, then those of others."""
    others = sorted({entry.name for entry in entries(PROBLEMS_GROUP)})
    return [*BUILT_IN, *(name for name in others if name not in BUILT_IN)]


def is_problem(name: str) -> bool:
    """Whether there is a problem of this name; entry points are read only if it is not built in."""
    return name in BUILT_IN or name in problem_names()


RETIRED: dict[tuple[str, str], str] = {
    ("dispatch", "aggregated"): "exact, or lp",
    ("dispatch", "clusters"): "classes",
    ("elastic", "completion_rates"): 'the policy lyra with elastic="completion_rates"',
    ("elastic", "prices"): "dp",
    ("placement", "milp"): "refinement",
    ("placement", "relaxation"): "relaxation_tree with nodes=0",
    ("placement", "short_annealing"): "annealing",
    ("reclaiming", "scf_updated"): "scf",
    ("sensitivity", "balance"): "price_round",
    ("simulation", "antman"): "the authors' own, benchmarks/published of the repository",
    ("simulation", "forked"): "hadare",
    ("simulation", "hadare_copies"): "hadare",
    ("simulation", "list_order"): "backfill with order=priority, or srsf",
    ("utility", "fifo"): "srtf",
    ("utility", "forked"): "hadare",
    ("utility", "hadar_committed"): "hadar",
    ("utility", "hadar_pooled"): "hadar",
    ("utility", "hadare_copies"): "hadare",
    ("variants", "search"): "exact",
    ("workers", "chosen_first"): "exact, or confined_first",
    ("workers", "first_fit"): "exact, or confined_first",
    ("workers", "per_server"): "milp",
}
"""By problem, ``simulation`` or ``variants``, and name: what to use instead, kept until 0.2."""
