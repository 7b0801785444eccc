"""The maps of the problems' folders and the way of `solve` are what the code is today."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

import maps


def test_maps_are_of_today() -> None:
    """`python docs/maps.py` would change no page."""
    assert {
        path.name for path, text in maps.pages().items() if path.read_text("utf-8") != text
    } == set()


def test_places_in_papers_are_found() -> None:
    """Sections and algorithms in docstrings are listed, words that only look like them are not."""
    folder = maps.SRC / "dlsched" / "problems"
    assert "section 4" in maps.places(folder / "reclaiming" / "heuristics" / "lyra_loop.py")
    assert maps.places(folder / "dispatch" / "programs" / "batch_search.py") == []
