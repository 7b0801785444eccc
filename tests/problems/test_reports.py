"""What the checker says of changed solutions, and of changed instances: reports.txt of a problem.

There an instance, and a solution of it, are JSON. A line below changes them by ``path = value``, or
removes what is at a path with ``-``; the lines below it are all that is said: the violations, the
error with its place and remedy, or why there is no solution.
"""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dlsched

FILES = sorted(Path(__file__).parent.glob("*/reports.txt"))


class Case(NamedTuple):
    """A line of a file: what is changed, to what, and what is said then."""

    base: dict[str, Any]
    changes: str
    expected: list[str]


def cases(file: Path) -> Iterator[Case]:
    """Yield the lines of changes; without changes nothing is said."""
    text = re.sub(r"^#.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    base: dict[str, Any] = {}
    for block in re.findall(
        r"^(?:\w+: \{$.*?^\}|\S.*?)\n(?=\S|\Z)", text, re.MULTILINE | re.DOTALL
    ):
        first, *rest = block.splitlines()
        name, opened, _ = first.partition(": {")
        if opened and not name.count(" "):
            base = {} if name == "instance" else base
            base = base | {name: json.loads("{" + "\n".join(rest))}
        else:
            yield Case(base, first, [line.strip() for line in rest])


def changed(base: dict[str, Any], changes: str) -> dict[str, Any]:
    """Return the documents with the changes of a line."""
    documents = copy.deepcopy(base)
    for change in changes.split(" ;; "):
        where, value = re.fullmatch(r"(\w+ \S+) (?:-|= (.*))", change).groups()  # type: ignore[union-attr]
        *steps, last = re.findall(r"[^ .\[\]]+", where)
        place = documents
        for step in steps:
            place = place[int(step) if isinstance(place, list) else step]
        key: Any = int(last) if isinstance(place, list) else last
        if value is None:
            del place[key]
        else:
            place[key] = json.loads(value)
    return documents


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
    found = said(**changed(case.base, case.changes))
    if case.expected and case.expected[0].endswith(": ..."):  # the words are pydantic's
        found = [text.partition(":")[0] + ": ..." for text in found]
    assert found == case.expected
