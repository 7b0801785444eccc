"""What the tests of traces share: the recorded ones, where they are."""

from collections.abc import Callable
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[3].parent / "shared" / "data" / "muri"


@pytest.fixture
def recorded() -> Callable[[str], Path]:
    """Return the file of a recorded trace; skip the test where there is none."""

    def find(name: str) -> Path:
        path = RECORDED / name
        if not path.exists():
            pytest.skip(f"the recorded trace {name} is not here (../shared/data/muri)")
        return path

    return find
