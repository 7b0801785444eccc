"""The file of figures keeps the sections that are not measured again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Give the module, which writes into a temporary folder."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import figures

    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    monkeypatch.setattr(figures, "machine", lambda: "this one")
    return figures


def test_sections_that_are_not_measured_are_kept(figures: ModuleType, tmp_path: Path) -> None:
    """What another process writes while a section is measured stays, whatever its name."""

    def other() -> Iterator[str]:
        yield "of the other process"

    def own() -> Iterator[str]:
        figures.write("drawn", sections, ["load-1.3"])
        yield "of this one"

    sections = {"methods": own, "load-1.3": other}
    figures.write("drawn", sections, ["methods"])
    text = (tmp_path / "drawn.md").read_text()
    assert "of this one" in text and "of the other process" in text


@pytest.mark.parametrize(
    ("status", "before", "after", "changed"),
    [
        ("R090\tsrc/a.py\tsrc/b.py", '"""A."""\nimport x\nn = 1\n', '"""B."""\nn = 1  # one\n', []),
        ("M\tsrc/a.py", "def f():\n    return 1\n", 'def f():\n    """One."""\n    return 1\n', []),
        ("M\tsrc/a.py", "n = 1\n", "n = 2\n", ["src/a.py"]),
        ("A\tsrc/a.py", "", "", ["src/a.py"]),
        ("D\tsrc/a.py", "", "", ["src/a.py"]),
    ],
)
def test_code_that_says_the_same_is_not_stale(
    monkeypatch: pytest.MonkeyPatch, status: str, before: str, after: str, changed: list[str]
) -> None:
    """A move and new docstrings, comments or imports leave figures current; other code does not."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import stale

    def git(command: str, *arguments: str) -> str:
        if command == "diff":
            return f":100644 100644 old new {status}"
        return before if arguments[-1] == "old" else after

    monkeypatch.setattr(stale, "git", git)
    stale.statements.cache_clear()
    assert stale.changes("old", "src") == changed
