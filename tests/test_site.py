"""What the site's builder adds to pages, and what scripts write of notebooks and folders."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = DOCS.parent / "benchmarks" / "figures"
PAGE = """# A page

```python
import dlsched

print(dlsched.load("lyra-table4").name)
```

Words.

```python
axes = dlsched.plot(dlsched.solve("lyra-table4"))
```

<!-- not run: needs another machine -->
```python
dlsched.plot("nothing")
```
"""


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script in docs."""
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module(name)


def test_what_a_block_draws_is_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block of three draws; its picture has a wide and a narrow version and says what it is."""
    snippets = module("snippets", monkeypatch)
    text, pictures = snippets.illustrated(PAGE, "tutorials/page.md")
    wide, narrow = "tutorials-page-1-0-wide.svg", "tutorials-page-1-0-narrow.svg"
    assert set(pictures) == {wide, narrow}
    (image,) = re.findall(r'<img src="([^"]*)" alt="([^"]*)"', text)
    assert image[0] == f"../pictures/{wide}" and image[1].startswith("lyra-table4: 2 jobs")
    assert text.index("dlsched.solve(") < text.index(wide) < text.index("not run")
    widths = [re.search(rb'width="([0-9.]+)pt"', pictures[name]) for name in (wide, narrow)]
    assert [float(width[1]) for width in widths if width] == [504, 252]
    assert text.replace(text[text.index("\n<div") : text.index("</div>") + 8], "") == PAGE
    assert snippets.draws(PAGE) and not snippets.draws(PAGE[: PAGE.index("Words")])


def test_pages_of_figures_have_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page of figures begins with a picture; the columns drawn exist and have numbers."""
    figure_charts = module("figure_charts", monkeypatch)
    problems = {path.stem for path in (DOCS / "problems").glob("*.md")}
    pages = {path.stem for path in FIGURES.glob("*.md")}
    assert pages <= problems | set(figure_charts.names()), "docs/figure_charts.py: add the page"
    for name in set(figure_charts.names()) - {"peers", "claims"}:
        spec = figure_charts.bars_of(name)
        rows = next(iter(figure_charts._tables(name).values()))[0]
        for column in (*spec.names, *spec.values):
            assert column in rows[0], (name, column)
        for column in spec.values:
            assert any(figure_charts.number(row[column]) is not None for row in rows), column


def test_multiples_and_gaps_are_in_different_tables() -> None:
    """The first table of each problem of the peers has no gap, the second nothing but gaps."""
    text = (FIGURES / "peers.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        times, _, gaps = section.partition("Gaps left at the limit:")
        assert "%" not in times
        cells = [
            cell.strip()
            for line in gaps.splitlines()
            if line.startswith("| ") and not line.startswith("| instance")
            for cell in line.strip("|").split("|")[1:]
        ]
        assert all(re.fullmatch(r"([\d.]+ %)?", cell) for cell in cells), cells


def test_maps_are_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/maps.py` would change no page."""
    maps = module("maps", monkeypatch)
    assert {
        path.name for path, text in maps.pages().items() if path.read_text("utf-8") != text
    } == set()


def test_places_in_papers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sections and algorithms in docstrings are listed, words that only look like them are not."""
    maps = module("maps", monkeypatch)
    folder = maps.SRC / "dlsched" / "problems"
    assert "section 4" in maps.places(folder / "reclaiming" / "heuristics" / "lyra_loop.py")
    assert maps.places(folder / "dispatch" / "programs" / "batch_search.py") == []


FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TIME = re.compile(r"\b\d+(\.\d+)?(e-\d+)? ?(s|ms|µs|seconds)\b")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_was_run(path: Path) -> None:
    """Every cell of a notebook has been run, in order, none has failed, and pictures are there."""
    nbformat = pytest.importorskip("nbformat", reason="notebooks are an optional extra")
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not any(out.output_type == "error" for out in cell.outputs)
        if "dlsched.plot" in cell.source:
            assert "image/svg+xml" in cell.outputs[-1].data, cell.source


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_prints_what_it_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that is run again prints the same, but for times."""
    pytest.importorskip("nbclient", reason="notebooks are an optional extra")
    monkeypatch.syspath_prepend(FOLDER.parent)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel's own shows pictures
    import notebook_pages

    said = notebook_pages.printed(notebook_pages.read(path))
    now = notebook_pages.printed(notebook_pages.run(notebook_pages.read(path)))
    assert [_timeless(cell) for cell in now] == [_timeless(cell) for cell in said]


def _timeless(cell: list[str]) -> list[str]:
    return [TIME.sub("T", text) for text in cell]
