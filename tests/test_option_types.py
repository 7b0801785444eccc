"""Options and parameters of generators: a wrong type is one error with name and remedy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import OptionError, registry
from dlsched.registry.option_types import validate_types

WRONG = {
    "bool": ("yes", 1, None, 0.0),
    "int": ("x", 1.5, True, None, float("nan"), [1], {}),
    "int | None": ("x", 1.5, True, float("nan"), [1], {}),
    "float": ("x", True, None, float("nan"), [1.0], 1j),
    "float | None": ("x", True, float("nan"), [1.0], 1j),
    "str": (1, None, True, b"x", ["x"]),
    "Mapping[int, float]": (1, "x", None, [1], {"1": 0.5}, {1: "x"}, {1.5: 1}, {True: 1}),
    "Mapping[int, float] | None": (1, "x", [1], {"1": 0.5}, {1: "x"}, {True: 1}),
    "Mapping[str, Any] | None": (1, "x", [1], {1: 1}),
    "Sequence[float]": (1, "x", None, [1, "x", 2], {"a": 1}, [None]),
    "tuple[float, float]": (1, "xy", None, (1,), (1, 2, 3), (1, "x"), (True, 1)),
    "Sequence[Mapping[str, float]] | Mapping[str, Sequence[Mapping[str, float]]] | None": (
        1, "x", [1], {"a": 1}, [{"a": "x"}], {"a": [{"b": True}]}, {1: []},
    ),
}  # fmt: skip
"""By annotation: values of another type."""


def parameters() -> Iterator[tuple[str, Callable[..., Any], inspect.Parameter, bool]]:
    """Yield every option of every method, and every parameter of every generator."""
    for name in registry.BUILT_IN:
        owner = registry.problem(name)
        for method in owner.methods.values():
            for parameter in method.parameters:
                if parameter.name in method.options:
                    yield f"{name} {method.name}", method.function, parameter, True
        generate = owner.module("generate").generate
        for parameter in [*inspect.signature(generate).parameters.values()][1:]:
            yield name, generate, parameter, False


def test_every_parameter_has_its_type_checked() -> None:
    """Defaults suit, every value of another type is refused by name, and none goes unchecked."""
    count = 0
    for label, function, parameter, _ in parameters():
        wrong = WRONG[str(parameter.annotation)]
        validate_types(function, {parameter.name: parameter.default})
        for value in wrong:
            with pytest.raises(OptionError, match=rf"^{parameter.name}=.* must be [^\n]+$"):
                validate_types(function, {parameter.name: value})
                pytest.fail(f"{label} takes {parameter.name}={value!r}")
            count += 1
    assert count > 600


def test_calls_check_types() -> None:
    """`solve` and `generate` refuse a wrong type before anything runs, and say what is right."""
    instance = dlsched.generate("placement", tables=3, regions=2, jobs=4)
    with pytest.raises(OptionError, match=r"^moves='x' must be a whole number, or None$"):
        dlsched.solve(instance, "annealing", moves="x")
    with pytest.raises(OptionError, match=r"^days=1.5 must be a whole number, or None$"):
        dlsched.solve(instance, "hill_climbing", days=1.5)
    with pytest.raises(OptionError, match=r"^sizes=.* must be a mapping from whole numbers to num"):
        dlsched.generate("reclaiming", sizes={"1": 0.5})
    with pytest.raises(OptionError, match=r"^hours=\(1,\) must be 2 numbers$"):
        dlsched.generate("elastic", hours=(1,))
    with pytest.raises(OptionError, match=r"^readers=3 must be a list of numbers$"):
        dlsched.generate("placement", readers=3)
    for seed in ("x", -1, None, 1.5, True):
        with pytest.raises(OptionError, match="must be a whole number from 0"):
            dlsched.generate("placement", seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [3, np.int64(3), np.int32(3)])
def test_whole_numbers_of_other_libraries_are_taken(value: int) -> None:
    """NumPy's whole numbers are whole numbers, and numbers as well."""
    dlsched.generate("reclaiming", servers=value, spread=value / 10, demand=value)


def test_fractions_are_numbers() -> None:
    """An exact share is a number."""
    dlsched.generate("reclaiming", servers=4, spread=Fraction(1, 3), demand=1)
