"""What finding and checking share is what docs/proofs.md lists: functions called, modules imported.

Functions are those that the interpreter calls while proofs are checked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import networkx as nx
import pytest

import dlsched
from dlsched import Run, library, registry
from dlsched.proofs.document import read_proof
from test_architecture import MODULES, graph

ROOT = Path(__file__).parents[1]
SOURCES = Path(dlsched.__file__).parent
NAMES = (
    "lyra-fig5",
    "lyra-fig6",
    "lyra-fig6-loan",
    "workers-two-readings",
    "muri-fig4",
    "interleaving-24",
    "hadar-section2",
    "utility-8x20",
    "utility-small-06",
    "synergy-two-servers",
    "mast-two-regions",
    "placement-small-03",
    "mast-ten-gpus",
)
"""Instances whose shipped proofs have the forms of all problems."""


class Row(NamedTuple):
    """A line of the page's table: names of modules, packages or functions, and the reason."""

    names: tuple[str, ...]
    users: str
    reason: str

    def has(self, function: str) -> bool:
        """Whether a function, or a module, is one of these, or in one of them."""
        return any(_within(function, name) for name in self.names)


def _within(function: str, name: str) -> bool:
    """Whether a function or module is the one of a name, or in it; ``*`` stands for any part."""
    pattern = name.replace(".", r"\.").replace("*", r"\w+") + r"(\..*)?"
    return re.fullmatch(pattern, function) is not None


@cache
def tables() -> tuple[list[Row], list[Row]]:
    """Return the rows of what is shared, and of what the check alone has."""
    text = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
    section = text.split("### What finding and checking share")[1].split("\n## ")[0]
    found = []
    for line in section.splitlines():
        if line.startswith("| `"):
            first, users, reason = (cell.strip() for cell in line.strip("|").split("|"))
            found.append(Row(tuple(re.findall("`([^`]+)`", first)), users, reason))
    return [r for r in found if r.users != "the check"], [
        r for r in found if r.users == "the check"
    ]


@contextmanager
def recording(seen: set[str]) -> Iterator[None]:
    """Add the functions of dlsched that are called within the block, without its own name."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCES)):
            module = ".".join(Path(code.co_filename).relative_to(SOURCES).with_suffix("").parts)
            if not module.endswith("__init__") and code.co_qualname != "<module>":
                seen.add(f"{module}.{code.co_qualname}")

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


@cache
def checking() -> frozenset[str]:
    """Return the functions called while proofs are checked."""
    seen: set[str] = set()
    for name in NAMES:
        instance, file = dlsched.load(name), library.proof_file(name)
        assert file is not None
        proof = read_proof(file)
        with recording(seen):
            dlsched.check_proof(instance, proof)
    return frozenset(seen)


@cache
def finding() -> frozenset[str]:
    """Return the functions called by all methods, and by what chooses forms for proofs.

    A form that a search for a proof has built, and what it is to prove, are the check's by design.
    """
    seen: set[str] = set()
    for name in NAMES:
        instance = dlsched.load(name)
        owner = registry.problem(instance.problem)
        best = dlsched.solve(instance).solution
        for method in owner.methods:
            with recording(seen), suppress(dlsched.DlschedError):
                dlsched.solve(instance, method, time_limit=5)
        if owner.has_module("form_choices"):
            choices = owner.module("form_choices").choices
            for level in range(len(owner.levels)):
                with recording(seen):
                    list(choices(instance, best, level, Run()))
    return frozenset(seen)


def _unlisted(functions: set[str], rows: list[Row]) -> list[str]:
    return sorted({f for f in functions if not any(row.has(f) for row in rows)})


def test_what_the_check_calls_is_listed() -> None:
    """Every function that a check calls is in a row; a row has a user, a reason, known modules."""
    shared, own = tables()
    assert _unlisted(set(checking()), [*shared, *own]) == []
    shared, own = tables()
    assert len(shared) > 10 and own
    for row in [*shared, *own]:
        assert row.names and row.users and row.reason
        for name in row.names:
            assert any(_within(m, name) or _within(name, m) for m in MODULES), name


def imported(name: str) -> list[str]:
    """Return the modules of a problem that its forms and its model reach by imports."""
    package = f"problems.{name}."
    tops = [
        f"{package}{part}" for part in ("programs.forms", "model") if f"{package}{part}" in MODULES
    ]
    reached = set(tops).union(*(nx.descendants(graph(), top) for top in tops))
    return sorted(module for module in reached if module.startswith(package))


@pytest.mark.parametrize("name", dlsched.list_problems())
def test_what_forms_import_is_listed(name: str) -> None:
    """So is every module of the problem that its forms and its model reach by imports."""
    names = [name for rows in tables() for row in rows for name in row.names]
    missing = [m for m in imported(name) if not any(_within(m, n) or _within(n, m) for n in names)]
    assert missing == []


@pytest.mark.slow
def test_what_is_shared_is_listed() -> None:
    """What finding calls, too, is in a row of what is shared; no row is without such a function.

    A module that a problem's forms or model only import may have a row, too.
    """
    shared, own = tables()
    both = set(checking() & finding())
    assert _unlisted(both, shared) == []
    used = both.union(*map(imported, dlsched.list_problems()))
    assert [row.names for row in shared if not any(map(row.has, used))] == []
    alone = {f for f in finding() if any(row.has(f) for row in own)}
    assert _unlisted(alone, shared) == []
