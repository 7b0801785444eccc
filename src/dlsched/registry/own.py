"""The decorator with which this library's own packages register their methods."""

from collections.abc import Callable
from typing import Any, TypeVar

from dlsched.registry.lookup import method as register
from dlsched.registry.methods import trust

F = TypeVar("F", bound=Callable[..., Any])


def method(problem: str, **stated: Any) -> Callable[[F], F]:
    """Register a function as `dlsched.method` does, as one that may certify bounds and prove.

    For the problems of this package only: what it certifies is not called a claim any more, so it
    must be re-checked in exact arithmetic.
    """

    def decorate(function: F) -> F:
        trust(function, problem)
        return register(problem, **stated)(function)

    return decorate
