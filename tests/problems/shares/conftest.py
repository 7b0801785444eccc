"""Gavel's published rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlsched.problems.shares import Rates, read_rates

MEASURED = Path(__file__).parents[3].parent / "shared" / "data" / "gavel"


@pytest.fixture(scope="session")
def published() -> Rates:
    """Give Gavel's published rates, where they are."""
    if not MEASURED.exists():
        pytest.skip("the measured throughputs are not here (../shared/data/gavel)")
    return read_rates(
        MEASURED / "isolated_throughputs.json", MEASURED / "colocated_throughputs.json.gz"
    )
