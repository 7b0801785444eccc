"""Every problem fulfils what `dlsched.testing.check_problem` asks."""

from pathlib import Path

import pytest

import dlsched
from contract import PROBLEMS
from dlsched.registry import problem
from dlsched.testing import CHECKS, check_problem

ROOT = Path(__file__).parents[2]
ONCE = (
    "parts",
    "methods",
    "generator",
    "labels",
    "model_levels",
    "deterministic",
    "card",
)
"""Checks that draw nothing."""


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    ("check", "examples"),
    [
        pytest.param(c, n, marks=[pytest.mark.slow] * (n > 3))
        for c in CHECKS
        for n in (3, 60)
        if n == 3 or c not in ONCE
    ],
)
def test_conformance(name: str, check: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem passes the check, and the check had something to look at."""
    monkeypatch.chdir(ROOT)
    found = check_problem(name, checks=[check], examples=examples)
    found.raise_if_any()
    nameable = getattr(problem(name).module("model"), "NAMEABLE", True)
    assert found.passed == [check] or (check.startswith("variant_") and not nameable)


def test_unknown_checks_are_refused() -> None:
    """The error names the checks that there are."""
    with pytest.raises(dlsched.OptionError, match="must be among parts, methods"):
        check_problem("reclaiming", checks=["speed"])
