"""Tests outside tests/internal/ use what docs/api.md lists, so that the inside may change."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
INTERNAL = TESTS / "internal"
DOTTED = re.compile(r"dlsched(?:\.\w+)+")
IMPORT = re.compile(
    r"^\s*(?:from (dlsched[\w.]*) import \(?([\w, ]+)|import (dlsched[\w.]*))", re.M
)
FILES = sorted(path for path in TESTS.rglob("*.py") if INTERNAL not in path.parents)


@cache
def public() -> set[str]:
    """Return the names of the pages of names, and all of each module that a table there names."""
    pages = [ROOT / "docs" / "api.md", *sorted((ROOT / "docs" / "api").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    text = re.sub(r"^::: dlsched\.problems\.\w+\.definition.*", "", text, flags=re.M)
    listed = set(re.findall(r"^::: (dlsched[\w.]*)", text, re.M)) | {"dlsched"}
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `dlsched")]
    listed |= set(re.findall(r"`(dlsched[\w.]*)`", " ".join(rows)))
    names = set(listed)
    for name in sorted(listed):
        if is_module(name):
            module = import_module(name)
            shown = re.search(rf"^::: {name}\n    options:\n((?:      .*\n)+)", text, re.MULTILINE)
            members = re.findall(r"\b[A-Za-z]\w+", shown[1].partition("show_")[0]) if shown else []
            given = members if members[1:] else dir(module)
            names |= {f"{name}.{member}" for member in getattr(module, "__all__", given)}
    return names


@cache
def is_module(name: str) -> bool:
    """Return whether a module has this name."""
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def used(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of what a file takes from dlsched, in texts of code as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dlsched":
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.startswith("dlsched"))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if DOTTED.fullmatch(node.value) and is_module(node.value.rpartition(".")[0]):
                yield node.lineno, node.value
            for home, names, module in IMPORT.findall(node.value):
                parts = [name.split(" as ")[0].strip() for name in names.split(",") if name.strip()]
                yield from ((node.lineno, f"{home}.{part}") for part in parts)
                yield from ((node.lineno, name) for name in [module] if name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_only_public_names_are_used(path: Path) -> None:
    """What a test takes is on docs/api.md, or in `__all__` of a module that is."""
    private = [f"line {line}: {name}" for line, name in used(path) if name not in public()]
    assert not private, f"move the test to tests/internal or use public names: {private}"
