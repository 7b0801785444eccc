"""What the checker says of changed solutions, and of changed instances: reports.txt of a problem.

There an instance, and a solution of it, are JSON. A line below changes them by ``path = value``, or
removes what is at a path with ``-``; the lines below it are all that is said: the violations, the
error with its place and remedy, or why there is no solution. After ``worth`` they are the levels of
the solution's objective that are not 0, and some details, exactly; without a solution those of the
optimum.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from changed_documents import FILES, Case, cases, changed

import dlsched


def said(instance: Any, solution: Any = None) -> list[str]:
    """Return the violations of a solution, an error, or why an instance has no solution."""
    try:
        if solution is not None:
            found = dlsched.verify(instance, solution).violations
            return [f"{v.kind} {v.where}: {v.message} [{v.amount}]" for v in found]
        result = dlsched.solve(instance)
        return [f"{result.status}: {result.reason}"] * (result.status == "infeasible")
    except dlsched.InstanceError as error:
        return [f"{error.path}: {error.problem}; {error.remedy}"]


def require_worth(report: Any, line: str) -> None:
    """Require that the levels that are not 0 are those of a line, and details as it has them."""
    pairs = [text.split() for text in line.removeprefix("worth").split(",") if text]
    stated = {name: Fraction(number) for name, number in pairs}
    details = {name: report.details[name] for name in stated if name in report.details}
    levels = {name: Fraction(value) for name, value in report.objective.as_dict().items() if value}
    assert details == {name: float(stated[name]) for name in details}
    assert levels == {name: value for name, value in stated.items() if name not in details}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_nothing_is_said_without_a_change(file: Path) -> None:
    """The documents of a file are right; each has several lines of changes."""
    documents = [case.base for case in cases(file)]
    assert len(documents) > 5
    for i, base in enumerate(documents):
        assert base in documents[:i] or said(**base) == []


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{f.parent.name}: {case.changes}") for f in FILES for case in cases(f)],
)
def test_all_is_said_of_a_change(case: Case) -> None:
    """Violations with kind, place, message and amount; errors with place, problem and remedy."""
    documents, expected = changed(case.base, case.changes), case.expected
    found = said(**documents)
    if expected and expected[0].startswith("worth"):
        solved = "solution" not in documents
        report = dlsched.solve(**documents) if solved else dlsched.verify(**documents)
        assert found == [] and (not solved or report.status == "optimal")
        require_worth(report, expected[0])
        return
    if expected and expected[0].endswith(": ..."):  # the words are pydantic's
        found = [text.partition(":")[0] + ": ..." for text in found]
    assert found == expected
