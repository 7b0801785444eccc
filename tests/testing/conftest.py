"""What several tests of the testing kit rely on."""

from collections.abc import Iterator

import hypothesis
import pytest


@pytest.fixture
def unshrunk() -> Iterator[None]:
    """Let hypothesis report the first instance that fails, which saves most of its time."""
    before = hypothesis.settings._current_profile
    hypothesis.settings.register_profile("unshrunk", phases=[hypothesis.Phase.generate])
    hypothesis.settings.load_profile("unshrunk")
    yield
    hypothesis.settings.load_profile(before)
