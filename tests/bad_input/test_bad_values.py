"""Values of any type, anywhere, are refused with their place or taken exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from bad_input_data import (
    ELASTIC,
    GOOD,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched

REFUSED_NUMBERS = [
    True,
    "1",
    None,
    [],
    {},
    1j,
    b"1",
    object(),
    np.bool_(True),
    np.array([1, 2]),
    float("nan"),
    float("inf"),
    np.float64("nan"),
    np.float32("inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("1e999999999"),
    Decimal("-1e999999999"),
    Decimal("1e-999999999"),
    Fraction(1, 3),
    Fraction(10**400),
    Fraction(1, 10**400),
    10**5000,
    -(10**5000),
    1e16,
    -0.5,
]


@pytest.mark.parametrize("value", REFUSED_NUMBERS, ids=[type(v).__name__ for v in REFUSED_NUMBERS])
def test_refused_python_number(value: object) -> None:
    """Whatever Python passes for a number, it is taken or refused with its path, at once."""
    data = GOOD | {"jobs": [{"id": "a", "weight": value, "workers": []}]}
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(data)
    assert caught.value.path == "jobs[0].weight"
    assert caught.value.where == "the instance"


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (np.int8(3), 3),
        (np.uint64(3), 3),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(1.5), Fraction(3, 2)),
        (np.float16(0.25), Fraction(1, 4)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("0e999999999"), 0),
        (Fraction(1, 4), Fraction(1, 4)),
        (2.0, 2),
    ],
)
def test_accepted_python_number(value: Any, exact: Any) -> None:
    """Numbers of numpy and the standard library are as good as Python's own."""
    data = GOOD | {"jobs": [{"id": "a", "weight": value, "workers": []}]}
    weight = dlsched.load(data).jobs[0].weight  # type: ignore[attr-defined]
    assert weight == exact and type(weight) is type(exact)


def test_accepted_numpy_count() -> None:
    """A numpy integer counts things; a numpy float does not, whole or not."""
    assert dlsched.load(GOOD | {"demand": np.int64(2)}).demand == 2  # type: ignore[attr-defined]
    with pytest.raises(dlsched.InstanceError, match=r"demand: 2\.0 is not a whole number"):
        dlsched.load(GOOD | {"demand": np.float64(2)})


def test_accepted_containers() -> None:
    """Tuples and read-only mappings stand for lists and objects."""
    servers = tuple(MappingProxyType(server) for server in GOOD["servers"])
    same = dlsched.load(MappingProxyType(GOOD | {"servers": servers}))
    assert same.sha256 == dlsched.load(GOOD).sha256


ODD_VERSIONS = [np.array([1, 1]), 1.0, "1", [1], float("nan"), 10**5000]


@pytest.mark.parametrize("version", ODD_VERSIONS, ids=[type(v).__name__ for v in ODD_VERSIONS])
def test_odd_version(version: object) -> None:
    """A version of any type is compared without a stumble."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | {"dlsched": version})
    assert caught.value.path == "dlsched"


def test_self_reference() -> None:
    """Data that contains itself ends in an error, not in a recursion."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(dlsched.InstanceError, match=r"servers\[0\]: is not an object"):
        dlsched.load(GOOD | {"servers": loop})


def spots(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of every value in JSON data."""
    yield path
    for key, value in (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    ):
        yield from spots(value, (*path, key))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "s1", "a", "\x00", "\u202e"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "gpus", "server", "x", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
EVERY_SPOT = [(data, path) for data in (GOOD, ELASTIC) for path in spots(data) if path]


@settings(max_examples=400, deadline=None)
@given(spot=st.sampled_from(EVERY_SPOT), value=JSON | st.just("delete"))
def test_any_value_anywhere(spot: tuple[dict[str, Any], tuple[Any, ...]], value: Any) -> None:
    """Any JSON value in place of any field gives an instance or an InstanceError."""
    good, path = spot
    data = json.loads(json.dumps(good))
    parent = data
    for step in path[:-1]:
        parent = parent[step]
    if value == "delete":
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    try:
        loaded = dlsched.load(data)
    except dlsched.InstanceError as error:
        assert error.problem and error.remedy and len(str(error)) < 600
    else:
        assert dlsched.load(loaded.to_data()).sha256 == loaded.sha256
