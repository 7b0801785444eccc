"""Every Python block of the README and the docs runs."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dlsched
from dlsched import registry
from dlsched.registry import registered
from dlsched.testing.documents import run_blocks

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.parent.name != "problems"]
"""The problems' own pages are a check of `dlsched.testing.check_problem`."""
LONG = {"thousand.md"}
"""Pages whose blocks take more than ten seconds."""
FEWER = {"SEEDS = 125\n": "SEEDS = 5\n"}
"""What a page does at full length, and a test with less."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=pytest.mark.slow if page.name in LONG else (),
        )
        for page in PAGES
    ],
)
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks run from top to bottom in one namespace, at the project's root."""
    monkeypatch.chdir(ROOT)
    for name in registry.problem_names():  # what a page registers is gone after it
        monkeypatch.setitem(registered.METHODS, name, registry.problem(name).methods)
    skipped = run_blocks(page, FEWER)
    if skipped:
        print(f"{page.name}: not run: {skipped}")


def test_api_page_has_every_public_name() -> None:
    """The reference lists what `dlsched` exports: each name once, and no other."""
    text = (ROOT / "docs" / "api.md").read_text()
    listed = re.findall(r"^::: dlsched\.(\w+)$", text[: text.index("## Sweeps")], re.M)
    assert listed[:4] == ["load", "solve", "verify", "compare"]
    assert sorted(listed) == sorted(dlsched.__all__)


def test_api_page_links_the_fields_of_every_problem() -> None:
    """Each problem has a page of fields, and the reference links it."""
    text = (ROOT / "docs" / "api.md").read_text()
    linked = re.findall(r"\[(\w+)\]\(fields/(\w+)\.md\)", text)
    assert sorted(linked) == [(name, name) for name in sorted(registry.BUILT_IN)]


def test_pictures_page_has_every_colouring() -> None:
    """The table has a row for each problem, with what its pictures can be coloured by."""
    text = (ROOT / "docs" / "tutorials" / "pictures.md").read_text()
    rows = re.findall(r"^\| (\w+) \|.*\| ([^|]*) \|$", text, re.M)
    stated = {name: set(re.findall(r"`(\w+)`", last)) for name, last in rows}
    for name in registry.BUILT_IN:
        draw = importlib.import_module(f"dlsched.problems.{name}.pictures.draw")
        assert stated[name] == {*draw.COLOR_BY, *getattr(draw, "COLOR_BY_OF_MANY", ())}, name


def test_problem_page_has_every_name_of_the_schema() -> None:
    """The page on adding a problem lists what `dlsched.schema` exports, and no other name."""
    text = (ROOT / "docs" / "add-a-problem.md").read_text()
    table = text[text.index("`dlsched.schema` has") : text.index("## 3. Check")]
    cells = re.findall(r"^\| (`.*?) \|", table, re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(dlsched.schema.__all__)


def test_instances_page_is_what_the_index_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of instances is what its program writes today."""
    monkeypatch.syspath_prepend(ROOT / "instances")
    written = importlib.import_module("page").text()
    assert (ROOT / "docs" / "instances.md").read_text() == written


def test_pages_of_fields_are_what_the_schema_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of fields are what their program writes today, with a meaning for every field."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    written = importlib.import_module("fields").page
    for name in registry.problem_names():
        text = (ROOT / "docs" / "fields" / f"{name}.md").read_text()
        assert text == written(name), "run: make schema"
        assert not re.search(r"\|\s*\|$", text, re.M), "a field has no meaning"


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path: Path) -> None:
    """The site builds strictly, loads nothing from elsewhere, and has its pictures and figures."""
    pytest.importorskip("mkdocs", reason="the site's builder is an optional extra")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(
        build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    pages = {str(page.relative_to(tmp_path)) for page in tmp_path.rglob("*.html")}
    for name in registry.problem_names():
        assert {f"{folder}/{name}.html" for folder in ("problems", "models", "figures")} <= pages
        shown = (tmp_path / "problems" / f"{name}.html").read_text()
        assert f"pictures/{name}.svg" in shown
        for picture in (f"{name}-gap", f"{name}-time"):
            assert f"pictures/{picture}-light.svg" in shown
            assert f"pictures/{picture}-dark.svg" in shown
    loaded = re.compile(r'<(?:script|img|link)[^>]*(?:src|href)="(https?://[^"]*)"')
    for page in pages:
        assert not loaded.findall((tmp_path / page).read_text()), page
