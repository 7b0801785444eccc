"""Solving compiles no loop for other types than those declared."""

from __future__ import annotations

from typing import Any

import pytest

import dlsched
from dlsched.registry import problem
from dlsched.solvers.compilation import entries

SOLVED: dict[str, tuple[tuple[str, ...], list[dict[str, Any]]]] = {
    "interleaving": (
        ("column_generation", "aggregated", "swap", "regroup", "lagrangian"),
        [{"jobs": 20}, {"jobs": 30, "grouping": "cover", "cluster": 16}],
    ),
    "utility": (
        ("dantzig_wolfe", "insertion", "hadar", "hadar_pooled", "lagrangian"),
        [{"jobs": 4, "slots": 8, "gpus": 9}],
    ),
}
"""Methods of a problem, and parameters of the instances to solve."""


@pytest.mark.parametrize("name", SOLVED)
def test_solving_compiles_nothing_beyond_the_declared_signatures(name: str) -> None:
    """Every call of a compiled function has the types that it was compiled for."""
    methods, variants = SOLVED[name]
    for options in variants:
        made = dlsched.generate(name, 1, **options)
        for method in methods:
            dlsched.solve(made, method)
    owner = problem(name)
    modules = {part for method in methods for part in owner.methods[method].preload}
    compiled = [
        entry
        for module in modules
        if module.startswith(".")
        for entry in entries(owner.package + module)
    ]
    assert len(compiled) > 2
    for entry in compiled:
        assert len(entry.compiled.signatures) == len(entry.signatures)
