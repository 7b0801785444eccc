"""Hypothesis strategies for small instances, by problem: ``strategies.reclaiming(max_jobs=4)``.

They shrink to small readable examples.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dlsched.extras import require
from dlsched.registry import Problem, is_problem, problem, problem_names


def small_of(owner: Problem) -> dict[str, Any]:
    """Return from which values each parameter of a problem's generator is drawn for tests.

    They are ``SMALL`` of the module ``generate``; none if it has none.
    """
    return getattr(owner.module("generate"), "SMALL", {}) if owner.has_module("generate") else {}


def instances_of(owner: Problem) -> Callable[..., Any]:
    """Return ``instances`` of a problem's module ``strategy``, or what draws from its generator.

    `OptionError` is raised if it has neither that module nor ``SMALL``.
    """
    small = small_of(owner)
    if owner.has_module("strategy") or not small:
        instances: Callable[..., Any] = owner.module("strategy").instances
        return instances
    from hypothesis import strategies as st

    def generated(seed: int, **parameters: Any) -> Any:
        return owner.module("generate").generate(np.random.default_rng(seed), **parameters)

    drawn = {name: st.sampled_from(values) for name, values in small.items()}
    return lambda: st.builds(generated, st.integers(0, 2**32 - 1), **drawn)


def __getattr__(name: str) -> Any:
    """Return the function that makes a problem's strategy."""
    if not is_problem(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("hypothesis", f"dlsched.testing.strategies.{name}")
    return instances_of(problem(name))


def __dir__() -> list[str]:
    """Return the names of the problems."""
    return problem_names()
