"""The page of claims is what its entries say, and every entry is whole."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("render", ROOT / "benchmarks/claims/render.py")
assert SPEC is not None and SPEC.loader is not None
RENDER = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(RENDER)
CLAIMS = [(paper, claim) for paper, claims in RENDER.papers() for claim in claims]


def test_page_is_rendered() -> None:
    """docs/claims.md equals what the script writes today."""
    assert (ROOT / "docs" / "claims.md").read_text() == RENDER.page()


def test_there_are_at_least_thirty() -> None:
    """At least thirty claims, some of every paper."""
    assert len(CLAIMS) >= 30
    assert len({paper for paper, _ in CLAIMS}) == 5


@pytest.mark.parametrize("claim", [claim for _, claim in CLAIMS])
def test_entries_are_whole(claim: dict[str, str]) -> None:
    """An entry has every field, a verdict of the list, and a command whose file exists."""
    assert set(claim) == set(RENDER.FIELDS)
    assert all(claim.values())
    assert claim["verdict"] in RENDER.VERDICTS
    for word in claim["command"].split():
        if word.endswith(".py"):
            assert (ROOT / word).is_file()
