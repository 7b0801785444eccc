"""Instances, solutions and changes of them, as test_reports.py says how a reports.txt has them."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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
        where, value = re.fullmatch(r"(\w+ \S+) (?:-|= (.*))", change).groups()
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


def documents(problem: str) -> dict[str, Any]:
    """Return the first instance of a problem's file, and the solution of it."""
    return next(cases(Path(__file__).parent / problem / "reports.txt")).base
