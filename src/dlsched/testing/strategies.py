"""Hypothesis strategies for small instances, by problem: ``strategies.reclaiming(max_jobs=4)``.

They shrink to small readable examples.
"""

from __future__ import annotations

from typing import Any

from dlsched.extras import require
from dlsched.registry import is_problem, problem, problem_names


def __getattr__(name: str) -> Any:
    """Return the function ``instances`` of the problem's module ``strategy``."""
    if not is_problem(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("hypothesis", f"dlsched.testing.strategies.{name}")
    return problem(name).module("strategy").instances


def __dir__() -> list[str]:
    """Return the names of the problems."""
    return problem_names()
