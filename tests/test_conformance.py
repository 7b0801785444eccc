"""Every problem fulfils what `dlsched.testing.check_problem` asks."""

from __future__ import annotations

from pathlib import Path

import pytest

import dlsched
from dlsched.testing import CHECKS, check_problem

ROOT = Path(__file__).parents[1]


IN_NEW_PROCESSES = "threads"
"""The check that takes seconds for each problem."""
QUICK = 2
"""Drawn instances of each check in every run of the tests."""
RUNS = [
    pytest.param(
        check, examples, marks=[pytest.mark.slow] * (check == IN_NEW_PROCESSES or examples > QUICK)
    )
    for check in CHECKS
    for examples in (QUICK, 60)
]


@pytest.mark.parametrize(("check", "examples"), RUNS)
@pytest.mark.parametrize("name", dlsched.list_problems())
def test_conformance(name: str, check: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem passes the check, and the check had something to look at."""
    monkeypatch.chdir(ROOT)
    found = check_problem(name, checks=[check], examples=examples)
    found.raise_if_any()
    assert found.passed == [check]


def test_unknown_checks_are_refused() -> None:
    """The error names the checks that there are."""
    with pytest.raises(dlsched.OptionError, match="must be among parts, layers, methods"):
        check_problem("reclaiming", checks=["speed"])
