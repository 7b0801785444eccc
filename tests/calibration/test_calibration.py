"""Generators draw what the papers print of their workloads."""

import importlib
from pathlib import Path
from typing import Any

import pytest

FOUND = [
    (file.stem.removeprefix("printed_"), marginal)
    for file in sorted(Path(__file__).parent.glob("printed_*.py"))
    for marginal in importlib.import_module(file.stem).MARGINALS
]


@pytest.mark.parametrize(
    ("generator", "marginal"), FOUND, ids=[f"{name}: {m.name}" for name, m in FOUND]
)
def test_the_mean_over_ten_seeds_is_in_its_band(generator: str, marginal: Any) -> None:
    """The bands are stated beside the printed numbers, on docs/calibration.md as well."""
    assert marginal.low <= marginal.obtained() <= marginal.high, generator
