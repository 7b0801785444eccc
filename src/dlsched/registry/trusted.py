"""Which functions this library itself registered as methods: the only ones whose proofs it trusts.

What such a method calls certified or proved is reported so; what any other one says is a claim. The
functions are known by identity: a module's name, an attribute or an object that says it equals one
of them makes no function of another package one of ours.
"""

from collections.abc import Callable
from typing import Any

_OWN: dict[int, tuple[Callable[..., Any], str]] = {}
"""The functions with their problems, by `id`, which stays theirs as long as they are kept here."""


def trust(function: Callable[..., Any], problem: str) -> None:
    """Record a function as this library's own method of a problem."""
    _OWN[id(function)] = function, problem


def is_trusted(function: object, problem: str) -> bool:
    """Whether this library itself registered this very function as a method of a problem."""
    known, registered_for = _OWN.get(id(function), (None, ""))
    return known is function and registered_for == problem
