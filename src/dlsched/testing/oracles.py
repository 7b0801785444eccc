"""Brute force of every problem, by the problem's name: ``oracles.reclaiming(instance)``.

An oracle enumerates solutions and evaluates them with the checker; it uses nothing else of the
problem's package, so it is independent of the model and of the structured exact methods. It
returns the optimal objective, or ``None`` if there is no solution.
"""

from typing import Any

from dlsched.registry import is_problem, problem, problem_names


def __getattr__(name: str) -> Any:
    """Return the function ``brute_force`` of the problem's module ``oracle``."""
    if not is_problem(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return problem(name).module("oracle").brute_force


def __dir__() -> list[str]:
    """Return the names of the problems."""
    return problem_names()
