"""Values of any type, anywhere, are refused with their place or taken exactly."""

from __future__ import annotations

import functools
import itertools
import json
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from bad_input_data import ELASTIC, GOOD, changed, paths
from hypothesis import strategies as st

import dlsched
from drawing import drawn

REFUSED: list[object] = [
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
]
REFUSED += [float("nan"), float("inf"), np.float64("nan"), np.float32("inf")]
REFUSED += [Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999999"), Decimal("-1e999999999")]
REFUSED += [Decimal("1e-999999999"), Fraction(1, 3), Fraction(10**400), Fraction(1, 10**400)]
REFUSED += [10**5000, -(10**5000), 1e16, -0.5]


@pytest.mark.parametrize("value", REFUSED, ids=[type(v).__name__ for v in REFUSED])
def test_refused_python_number(value: object) -> None:
    """Whatever Python passes for a number, it is taken or refused with its path, at once."""
    data = GOOD | {"jobs": [{"id": "a", "weight": value, "workers": []}]}
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(data)
    assert (caught.value.where, caught.value.path) == ("the instance", "jobs[0].weight")


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


def test_accepted_counts_and_containers() -> None:
    """A NumPy integer counts; tuples and read-only mappings are containers."""
    assert dlsched.load(GOOD | {"demand": np.int64(2)}).demand == 2  # type: ignore[attr-defined]
    servers = tuple(MappingProxyType(server) for server in GOOD["servers"])
    same = dlsched.load(MappingProxyType(GOOD | {"servers": servers}))
    assert same.sha256 == dlsched.load(GOOD).sha256


LOOP: list[Any] = []
LOOP.append(LOOP)
ODD_FIELDS = [
    *(("dlsched", v, "dlsched") for v in (np.array([1, 1]), 1.0, "1", [1], float("nan"), 10**5000)),
    ("servers", LOOP, "servers[0]"),
    ("demand", np.float64(2), "demand"),
]


@pytest.mark.parametrize(("field", "value", "path"), ODD_FIELDS, ids=range(len(ODD_FIELDS)))
def test_odd_fields(field: str, value: object, path: str) -> None:
    """A version of any type is compared without a stumble, data that contains itself refused."""
    with pytest.raises(dlsched.InstanceError) as caught:
        dlsched.load(GOOD | {field: value})
    assert caught.value.path == path


DELETED = object()
ODD = [None, True, 0, -1, 2.5, 1e300, "", "s1", "a", "\x00", "\u202e", [], {}, [[]], [{}], DELETED]
JSON = st.recursive(
    st.sampled_from(ODD[:-1]) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "gpus", "server", "x", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
PLACES = [(data, path) for data in (GOOD, ELASTIC) for path in paths(data)]


def assert_loaded_or_refused(good: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    """Assert that a document with one value changed or deleted is refused, or loads twice alike."""
    data = changed(json.loads(json.dumps(good)), path, value)
    if value is DELETED:
        parent = functools.reduce(lambda entry, step: entry[step], path[:-1], data)
        del parent[path[-1]]
    try:
        loaded = dlsched.load(data)
    except dlsched.InstanceError as error:
        assert error.problem and error.remedy and len(str(error)) < 600
    else:
        assert dlsched.load(loaded.to_data()).sha256 == loaded.sha256


@drawn(100, st.tuples(st.sampled_from(PLACES), JSON))
def test_any_value_anywhere(drawn: Any) -> None:
    """Any JSON value in place of any field gives an instance or an InstanceError."""
    (good, path), value = drawn
    assert_loaded_or_refused(good, path, value)


def test_odd_values_everywhere() -> None:
    """So does each of some odd values in each place, or none in it."""
    for place, value in itertools.product(PLACES, ODD):
        assert_loaded_or_refused(*place, value)
