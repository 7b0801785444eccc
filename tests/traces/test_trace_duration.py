"""Durations as people write them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched import OptionError
from dlsched.traces import parse_duration
from dlsched.traces.duration import format_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3d", 259200),
        ("12h", 43200),
        ("90m", 5400),
        ("45s", 45),
        ("3600", 3600),
        ("1d12h", 129600),
        ("1w 2d 3h 4m 5s", 788645),
        ("1.5h", 5400),
        ("0.25", 0.25),
        (" 2D ", 172800),
        ("0", 0),
    ],
)
def test_known_durations(text: str, seconds: float) -> None:
    """Every unit counts its seconds, alone and together."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "d", "-3d", "3x", "12h1d", "1d1d", "1e3", "nan", "inf", "3d12", "1,5h", "٣d", "1.d"],
)
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    """The message shows the text and how durations are written."""
    with pytest.raises(OptionError, match="is not a duration; write one as 3d"):
        parse_duration(text)
    with pytest.raises(OptionError, match="longer than 1e15"):
        parse_duration("999999999999999w")


@given(st.integers(0, 10**10))
def test_spelling_is_read_back(milliseconds: int) -> None:
    """What `format_duration` writes denotes the same number of milliseconds."""
    text = format_duration(Fraction(milliseconds, 1000))
    assert parse_duration(text) == milliseconds / 1000
