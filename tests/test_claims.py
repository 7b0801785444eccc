"""Claims and charts say what figures, papers and tests say, and pages are what they say."""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from markdown.extensions.toc import slugify

import dlsched
from dlsched import registry

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "claims"))

import cells  # noqa: E402
import render  # noqa: E402
import rows  # noqa: E402

PAPERS = {name: rows.paper(name) for name in rows.PAPERS}
CLAIMS = [(name, claim) for name, said in PAPERS.items() for claim in said["claims"]]
OBJECTIONS = [(name, each) for name, said in PAPERS.items() for each in said.get("objections", [])]
TEXTS = ROOT.parent / "shared" / "papers"
"""The papers' texts, where a machine has them."""
FIRST = {"lyra": 1, "muri": 43, "hadar": 61, "mast": 82, "synergy": 102, "": 121}
"""The first number of each paper's rows when they got names; later rows have higher ones."""

_PLACES = re.compile(
    r"\b(sections?|figures?|tables?|eqs?\.|lines?|algorithms?|theorems?|solutions?|versions?|traces?|"
    r"seeds?|rows?|footnotes?|phases?|stages?|steps?|priority) "
    r"(\(?[\d.]+'?\)?(, | and | to | or )?)+",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
_NUMBER = re.compile(r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?(?![\w])")


def test_pages_are_rendered() -> None:
    """Pages are what the script writes today, and every figure page is in the navigation."""
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == render.claims_page()
    for name in rows.PAPERS:
        page = ROOT / "docs" / "objections" / f"{name}.md"
        assert page.read_text(encoding="utf-8") == render.objections_page(name)
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.name for path in cells.FIGURES.glob("*.md")}
    assert {page for page in pages if f"figures/{page}" not in navigation} == set()


def test_names_of_rows_stay() -> None:
    """A name is its paper's and of one row alone, and none that was published is gone."""
    names = [claim["id"] for _, claim in CLAIMS]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(rf"{name}-\d+", claim["id"]) for name, claim in CLAIMS)
    limits = zip(FIRST, FIRST.values(), [*FIRST.values()][1:], strict=False)
    published = {f"{name}-{n}" for name, first, end in limits for n in range(first, end)}
    assert len(published) == 120
    assert published - set(names) == set()


def test_links_to_figures_resolve() -> None:
    """Each link of the pages is to a heading of a figure page."""
    pages = {path.name: path.read_text(encoding="utf-8") for path in cells.FIGURES.glob("*.md")}
    headings = {
        page: {slugify(line.replace("`", ""), "-") for line in re.findall(r"(?m)^#+ (.*)$", text)}
        for page, text in pages.items()
    }
    texts = [render.claims_page(), *map(render.objections_page, rows.PAPERS)]
    links = re.findall(r"/figures/([\w.]+)#([^)]*)\)", "\n".join(texts))
    assert len(links) > len(CLAIMS)
    assert {(page, anchor) for page, anchor in links if anchor not in headings[page]} == set()


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_rows_are_whole(name: str, claim: dict[str, Any]) -> None:
    """A row has every field, inputs, grades and a reading of the lists, and commands that exist."""
    assert set(rows.FIELDS) <= set(claim) <= {*rows.FIELDS, "cells", "quoted"}
    assert all(claim.values())
    assert claim["inputs"] in rows.INPUTS
    assert set(claim["parts"].values()) <= set(rows.GRADES)
    assert set(claim["reading"].split(" and ")) <= set(rows.READINGS)
    for command in re.split("; | and ", claim["command"]):
        program, script, *named = command.split()
        assert (ROOT / script).is_file()
        assert program == "python" or (program == "pytest" and not named)
        assert not named or set(named[1:]) <= set(cells.sections(named[0]))


@pytest.mark.parametrize(
    ("inputs", "graded", "verdict"),
    [
        ("other", "so; so", "holds"),
        ("other", "so; same way", "same direction, other inputs"),
        ("the paper's", "so; same way", "holds in part"),
        ("other", "same way; otherwise", "holds in part"),
        ("other", "so; open", "holds in part"),
        ("other", "otherwise; open", "does not hold"),
        ("the paper's", "open; open", "cannot be tested"),
    ],
)
def test_verdicts_follow_from_grades(inputs: str, graded: str, verdict: str) -> None:
    """Each verdict has one rule, and every one is on the page with its rule."""
    parts = dict(enumerate(graded.split("; ")))
    assert rows.verdict({"inputs": inputs, "parts": parts}) == verdict
    head = (ROOT / "benchmarks" / "claims" / "head.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| ([a-z ,]+) \|", head, re.MULTILINE)) >= set(rows.VERDICTS)


def test_rows_are_short() -> None:
    """The cells of a row, but its name and section, have at most 45 words."""
    shown = {c["id"]: re.sub(r"\]\([^)]*\)", "", " ".join(render.cells_of(c))) for _, c in CLAIMS}
    assert {row: text for row, text in shown.items() if len(text.split()) > 45} == {}


def test_arithmetic_of_printed_figures() -> None:
    """What follows from printed figures alone: MAST's section 5.4, Hadar's section VI-C."""
    a_day = 24 * 3600 * 1000 / 5.5
    assert [round(300 / 34, 1), round(a_day / 1e6, 1)] == [8.8, 15.7]
    assert round((a_day / 100_000) ** 0.5, 1) == 12.5
    assert [round(1.56 / 1.20, 2), round(1.62 / 1.21, 2)] == [1.30, 1.34]


@pytest.mark.parametrize(("name", "row"), [*CLAIMS, *OBJECTIONS])
def test_numbers_are_read_from_somewhere(name: str, row: dict[str, Any]) -> None:
    """A number is a cell's, the paper's, the setting's, or that of the test that is named.

    Every cell is used, and numbers that are quoted from the paper are in its text.
    """
    texts = [row.get(field, "") for field in ("ours", "measured", "because", "answer")]
    known = [row.get(field, "") for field in ("claim", "printed", "text", "setting", "objection")]
    tests = [ROOT / word for word in row.get("command", "").split() if "tests/" in word]
    known += [row.get("command", "")]
    known += [test.read_text(encoding="utf-8") for test in tests]
    sources = _numbers(" ".join([*known, *row.get("quoted", [])]).replace("_", ""))
    assert _numbers(" ".join(rows.unfilled(text) for text in texts)) - sources == set()
    used = " ".join(re.findall(r"\{([^{}]*)\}", " ".join(texts)))
    assert {each for each in row.get("cells", {}) if not re.search(rf"\b{each}\b", used)} == set()
    if (TEXTS / f"{name}.txt").is_file():
        text = (TEXTS / f"{name}.txt").read_text(encoding="utf-8").replace(",", "")
        for printed in row.get("quoted", []):
            number = re.escape(printed.replace(",", ""))
            assert re.search(rf"(?<![\d.]){number}(?!\d)", text), printed


def test_worst_cases_are_so() -> None:
    """Each instance of the page has today the value, the optimum and the gap that its line has."""
    wrong = []
    for section, tables in cells.measured("worst_cases").items():
        for line in tables["0"]:
            method, data = line["method"].text, line["instance"].text.strip("`")
            kind = registry.problem(section).instance
            instance = kind.model_validate(json.loads(data) | {"name": "worst"})
            found = [float(dlsched.solve(instance, m).objective[0]) for m in (method, "exact")]
            gap = 100 * abs(found[0] - found[1]) / max(map(abs, found))
            printed = [f"{found[0]:.4g}", f"{found[1]:.4g}", f"{gap:.3g}"]
            if printed != [line[c].text.split()[0] for c in ("value", "optimum", "gap")]:
                wrong.append((section, method, printed))
    assert wrong == []


def _numbers(text: str) -> set[str]:
    plain = _PLACES.sub("", _CODE.sub("", text))
    return {found.replace(",", "").rstrip(".") for found in _NUMBER.findall(plain)}


UNCHARTED = {"shares", "configurations"}
"""Shares has no heuristic; configurations has no figures yet."""


@pytest.mark.parametrize("name", [n for n in registry.problem_names() if n not in UNCHARTED])
def test_every_problem_has_a_chart(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It has at least two lines and two sizes, and gaps are no less than 0."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    gaps = importlib.import_module("charts").gaps(name)
    assert gaps.shape >= (2, 2) and gaps.shape[1] >= 2
    assert gaps.index.is_monotonic_increasing and (gaps >= 0).all(axis=None)
