"""The notebooks in docs run, and print what the files say that they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks are an optional extra")

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TIME = re.compile(r"\b\d+(\.\d+)?(e-\d+)? ?(s|ms|µs|seconds)\b")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_was_run(path: Path) -> None:
    """Every cell of a notebook has been run, in order, none has failed, and pictures are there."""
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
