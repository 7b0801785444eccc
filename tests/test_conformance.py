"""Every problem fulfils what `dlsched.testing.check_problem` asks."""

from __future__ import annotations

from pathlib import Path

import pytest

import dlsched
from dlsched.testing import CHECKS, check_problem

ROOT = Path(__file__).parents[1]


IN_NEW_PROCESSES = "threads"
"""The check that takes seconds for each problem."""
LONG_PAGES = ("interleaving", "placement", "reclaiming", "sensitivity", "workers")
"""Problems the blocks of whose pages take a second or more."""
LONG_VARIANTS = ("dispatch", "placement")
"""Problems whose variants take seconds, of which `test_variants_agree` draws some in each run."""
QUICK = 2
"""Drawn instances of each check in every run of the tests."""
RUNS = [
    pytest.param(
        name,
        check,
        examples,
        marks=[pytest.mark.slow]
        * (
            examples > QUICK
            or check == IN_NEW_PROCESSES
            or (check == "page" and name in LONG_PAGES)
            or (check.startswith("variant_") and name in LONG_VARIANTS)
        ),
    )
    for check in CHECKS
    for examples in (QUICK, 60)
    for name in dlsched.list_problems()
]


@pytest.mark.parametrize(("name", "check", "examples"), RUNS)
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
