"""Hostile numbers: units far apart in every pair of fields, many digits, ties and near ties."""

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import dlsched
from contract import (
    PROBLEMS,
    Path,
    assert_nothing_false,
    drawn,
    examples,
    field,
    methods,
    optimum,
    places,
    solved,
    with_value,
)

POWERS = (-9, -3, 3, 9, 12, 15)
"""Of ten; a field is in one unit, another in another."""
MOST = 10**15
"""The largest number that documents may have."""


def scaled(data: Any, kind: Path, factor: Any) -> Any:
    """Return a document with one field, wherever it stands, multiplied exactly."""
    for path, value in places(data):
        if field(path) == kind and is_number(value):
            number = Fraction(str(value)) * (factor() if callable(factor) else factor)
            data = with_value(data, path, min(number, Fraction(MOST)))
    return data


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@cache
def amounts(name: str) -> tuple[Path, ...]:
    """Return the fields that may have decimals, in the examples and some drawn instances."""
    found: dict[Path, bool] = {}
    for instance in [*examples(name), *drawn(name, 25)]:
        data = instance.to_data()
        for path, value in places(data):
            if is_number(value) and path[0] != "dlsched" and field(path) not in found:
                found[field(path)] = loads(with_value(data, path, Fraction(value) + Fraction(1, 4)))
    return tuple(kind for kind, may in found.items() if may)


def loads(data: Any) -> bool:
    """Whether a document is an instance."""
    try:
        dlsched.load(data)
    except dlsched.InstanceError:
        return False
    return True


def hostile(name: str, seed: int) -> Iterator[Any]:
    """Yield instances with two fields in other units, of many digits, and nearly tied."""
    rng = random.Random(seed)
    pairs = list(itertools.combinations_with_replacement(amounts(name), 2))
    source = drawn(name, 40)
    first, second = pairs[seed % len(pairs)]
    factors: list[Any] = [
        (Fraction(10) ** rng.choice(POWERS), Fraction(10) ** rng.choice(POWERS)),
        (lambda: Fraction(repr(rng.uniform(1, 2))), lambda: Fraction(repr(rng.uniform(1, 2)))),
        (Fraction(1, 10**300), Fraction(10) ** rng.choice(POWERS)),
        (lambda: 1 + Fraction(rng.choice((-1, 0, 1)), 10 ** rng.choice((9, 12, 15))), 1),
    ]
    for one, other in factors:
        data = scaled(scaled(rng.choice(source).to_data(), first, one), second, other)
        if loads(data):
            yield dlsched.load(data)


def examine(name: str, seeds: range) -> int:
    """Assert that no method says anything false; return on how many instances it was tried."""
    if not amounts(name):
        pytest.skip("all numbers are counts")
    looked = 0
    for seed in seeds:
        for instance in hostile(name, seed):
            best = optimum(instance)
            looked += 1
            for method in methods(name):
                result = solved(instance, method)
                if result is None:
                    continue
                try:
                    assert_nothing_false(result, best)
                except AssertionError as error:
                    raise AssertionError(f"{method} on {instance.to_data()}") from error
    return looked


QUICK = 5


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_false_is_said_of_hostile_numbers(name: str) -> None:
    """No bound is beaten, no optimum is false, no disagreement is raised: by brute force."""
    assert examine(name, range(QUICK)) > QUICK


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_false_is_said_of_every_pair_of_fields(name: str, part: int) -> None:
    """Every two fields that may have decimals are in units far apart, of many digits, or tied."""
    pairs = len(amounts(name)) * (len(amounts(name)) + 1) // 2
    assert examine(name, range(QUICK + part, QUICK + max(16, pairs), 8))
