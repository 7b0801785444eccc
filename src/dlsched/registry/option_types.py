"""What the value of an option must be, by the annotation of its parameter.

pydantic reads the annotation, so unions, lists and mappings are checked, too. Numbers are taken as
they are: NumPy's and fractions are numbers, texts and truth values are not.
"""

import inspect
import numbers
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import PlainValidator, TypeAdapter, ValidationError

from dlsched.errors import OptionError, spelled
from dlsched.run import is_usable
from dlsched.schema.quantities import Number


class _Plain(NamedTuple):
    """How one value of a type and how several are called, and what they are instances of."""

    one: str
    several: str
    kind: type

    def validate(self, value: object) -> object:
        """Return a value as it is; raise ValueError for one of another type, NaN, or too large."""
        truth = isinstance(value, bool) and self.kind is not bool
        if truth or not isinstance(value, self.kind) or not is_usable(value):
            raise ValueError
        return value


_PLAIN: Mapping[Any, _Plain] = {
    bool: _Plain("True or False", "truth values", bool),
    int: _Plain("a whole number", "whole numbers", numbers.Integral),
    float: _Plain("a number", "numbers", numbers.Real),
    Number: _Plain("a number", "numbers", numbers.Real),
    str: _Plain("a text", "texts", str),
}


def validate_types(function: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Check that values suit the annotations of a function's parameters.

    `OptionError` is raised if one does not; it names the parameter, and says what it must be.
    """
    for name, parameter in inspect.signature(function).parameters.items():
        if name in values:
            annotation = _resolved(function, name, parameter.annotation)
            try:
                _adapter(annotation).validate_python(values[name])
            except ValidationError:
                message = f"{name}={spelled(values[name])} must be {_one(annotation)}"
                raise OptionError(message) from None


def _resolved(function: Callable[..., Any], name: str, annotation: object) -> Any:
    """Return a parameter's annotation, which may be a text, as a type; without one `Any`."""
    if annotation is inspect.Parameter.empty:
        return Any
    names = getattr(function, "__globals__", {})
    return get_type_hints(SimpleNamespace(__annotations__={name: annotation}), names)[name]


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(_exactly(annotation))


def _parts(annotation: Any) -> tuple[Any, ...]:
    """Return the types in an annotation; a whole number or a fraction is a number."""
    parts = get_args(annotation)
    others = tuple(part for part in parts if part not in get_args(Number))
    return (float, *others) if len(parts) - len(others) == len(get_args(Number)) else parts


def _exactly(annotation: Any) -> Any:
    """Return an annotation in which numbers, texts and truth values are taken as they are."""
    if annotation in _PLAIN:
        return Annotated[Any, PlainValidator(_PLAIN[annotation].validate)]
    parts = _parts(annotation)
    origin = get_origin(annotation)
    if not parts:
        return annotation
    exact = tuple(part if part is Ellipsis else _exactly(part) for part in parts)
    return Union[exact] if origin in (Union, UnionType) else origin[exact]  # noqa: UP007


def _one(annotation: Any) -> str:
    """Return what one value of a type is, in words."""
    if annotation in _PLAIN:
        return _PLAIN[annotation].one
    parts = _parts(annotation)
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return ", or ".join(_one(part) for part in parts)
    if annotation is NoneType:
        return "None"
    if origin is tuple:
        return f"{len(parts)} {_several(parts[0])}"
    if parts and issubclass(origin, Mapping):
        return f"a mapping from {_several(parts[0])} to {_several(parts[1])}"
    return f"a list of {_several(parts[0])}" if parts else "of another type"


def _several(annotation: Any) -> str:
    """Return what several values of a type are, in words."""
    if annotation in _PLAIN:
        return _PLAIN[annotation].several
    if annotation is Any:
        return "values"
    single = _one(annotation).removeprefix("a ")
    return single.replace("list", "lists").replace("mapping", "mappings")
