"""Results survive the way to JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.reclaiming.instances.generate import examples
from dlsched.results.objective import number_from_data, number_to_data

NUMBERS = st.one_of(
    st.integers(),
    st.fractions(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
)


@settings(derandomize=True)
@given(NUMBERS)
def test_numbers(number: Any) -> None:
    """Every number comes back equal: thirds, tenths, and integers beyond a double."""
    assert number_from_data(json.loads(json.dumps(number_to_data(number)))) == number


START = {"dlsched": 1, "problem": "reclaiming", "instance": "lyra-fig5", "returned": ["1", "2"]}


@pytest.mark.parametrize(
    "arguments",
    [
        {"time_limit": 1e-6},
        {"method": "random", "seed": 5},
        {"method": "lp"},
        {"levels": 1, "gap": 0.1},
        {"start": START},
        {"instance": dlsched.generate("reclaiming", servers=3, demand=5)},
    ],
)
def test_round_trip_of_odd_results(arguments: dict[str, Any]) -> None:
    """Stopped, seeded, partial, started and infeasible results come back, too."""
    result = dlsched.solve(**{"instance": examples()[0]} | arguments)
    assert dlsched.read_result(result.to_json()) == result
    if "instance" in arguments:
        assert result.solution is None and result.status is dlsched.Status.INFEASIBLE


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
    for name in sorted(data.keys() - {"solution", "termination", "limits", "proof"}):
        rest = {key: value for key, value in data.items() if key != name}
        with pytest.raises(dlsched.InstanceError, match=f"the result: {name}: is missing"):
            dlsched.read_result(json.dumps(rest))
    for name, value in {"status": "solved", "seconds": [1], "gap": {}, "bound": 3}.items():
        with pytest.raises(dlsched.InstanceError, match="the result: "):
            dlsched.read_result(json.dumps(data | {name: value}))
