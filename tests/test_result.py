"""Results: levels, gaps and what is said about them; the way to JSON and back."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import dlsched
from dlsched.results.objective import Bound, ByLevel, Level, gap, relative_gap

LEVELS = (Level("few", "min", "jobs"), Level("many", "max", "GPUs"))


def test_names() -> None:
    """Entries are found by the names of their levels; a bound says value, kind and source."""
    value = ByLevel(LEVELS, (1, 2))
    assert (value.few, value.many, value.as_dict()) == (1, 2, {"few": 1, "many": 2})
    with pytest.raises(AttributeError, match=r"no level 'cost'; the levels are \['few', 'many'\]"):
        _ = value.cost
    assert not hasattr(value, "cost")
    with pytest.raises(ValueError, match="2 levels, 1 entries"):
        ByLevel(LEVELS, (1,))
    assert str(Bound(Fraction(7, 2), "certified", "dual vector")) == "3.5 (certified, dual vector)"


def test_better_by_senses() -> None:
    """Less is better at the first level, more at the second, and the first decides."""
    order = [(2, 9), (1, 4), (1, 5), (1, 6), (0, 0)]
    for (i, a), (j, b) in product(enumerate(order), repeat=2):
        assert ByLevel(LEVELS, a).better_than(ByLevel(LEVELS, b)) == (i > j)


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (0, 0, 0), (0.0, 0, 0), (4, 3, 0.25), (3, 4, 0.25), (0, 5, 1), (-2, -4, 0.5), (-1, 1, 2),
        (Fraction(1, 3), Fraction(1, 3), 0), (Fraction(1, 3), 0.0, 1), (10**15, 10**15 + 1, 1e-15),
    ],
)  # fmt: skip
def test_relative_gap(value: Any, bound: Any, expected: float) -> None:
    """The gap is |v - b| / max(|v|, |b|), and 0 when both are 0."""
    assert relative_gap(value, bound) == pytest.approx(expected, rel=1e-9)
    assert relative_gap(bound, value) == relative_gap(value, bound)


def test_gap_stops_at_the_first_level_that_is_open() -> None:
    """A level's gap is stated only if every earlier level is at its bound."""
    known = ByLevel(LEVELS, (Bound(4, "claimed", "x"), Bound(8, "certified", "y")))
    assert gap((4, 6), known) == (0, 0.25)
    assert gap((5, 6), known) == (pytest.approx(0.2), None)
    assert gap((4, 6), ByLevel(LEVELS, (None, known[1]))) == (None, None)
    assert gap((4, 6), ByLevel(LEVELS, (known[0], None))) == (0, None)
    assert gap((4, 8), ByLevel(LEVELS, (4, 8))) == (0, 0)  # bare values serve as bounds


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", "[" * 100_000, '{"problem": 5}', '{"problem": "reclaiming"}']
)
def test_what_is_no_result_is_refused(text: str) -> None:
    """One error says what to give, whatever the text is."""
    with pytest.raises(dlsched.InstanceError, match=r"the text that Result\.to_json"):
        dlsched.read_result(text)


def test_a_damaged_result_names_the_field() -> None:
    """A field that every version wrote is missing, or is of another kind."""
    data = dlsched.solve(dlsched.load("lyra-fig5"), "lyra").to_data()
    later = {"solution", "termination", "limits", "proof", "variant", "spent"}
    for name in sorted(data.keys() - later):
        rest = {key: value for key, value in data.items() if key != name}
        with pytest.raises(dlsched.InstanceError, match=f"the result: {name}: is missing"):
            dlsched.read_result(json.dumps(rest))
    for name, value in {"status": "solved", "seconds": [1], "gap": {}, "bound": 3}.items():
        with pytest.raises(dlsched.InstanceError, match="the result: "):
            dlsched.read_result(json.dumps(data | {name: value}))
