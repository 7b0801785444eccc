"""What a value of a user's class has beside its data: attributes, and the entries of the class."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from enum import Enum
from types import (
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
    functools.partialmethod: ("func", "args", "keywords"),
}
"""By the type of a class's entry, what of it may be the user's."""
_DESCRIPTORS = (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
_COMPILED = ("_abc", "_collections")
"""Modules whose objects in a class say nothing that its text does not."""


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object by name, those in slots included."""
    known: dict[str, Any] = {}
    for parent in type(value).__mro__:
        for name, entry in vars(parent).items():
            if isinstance(entry, MemberDescriptorType) and hasattr(value, name):
                known[name] = getattr(value, name)
    return known | dict(getattr(value, "__dict__", {}))


def members_of(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the functions and the data of a class by name; of an enumeration its values."""
    hidden, members = "__", {}
    if issubclass(owner, Enum):
        hidden, members = "_", dict(owner.__members__)
    for name, entry in members.items():
        yield name, entry.value
    for name, entry in vars(owner).items():
        for part in _unwrapped(entry):
            data = not name.startswith(hidden) and name not in members and _says_more(part)
            if data or isinstance(part, FunctionType):
                yield name, part


def _unwrapped(entry: Any) -> list[Any]:
    for kind, names in _WRAPPERS.items():
        if isinstance(entry, kind):
            return [part for name in names if (part := getattr(entry, name)) is not None]
    return [entry]


def _says_more(entry: Any) -> bool:
    return not isinstance(entry, _DESCRIPTORS) and type(entry).__module__ not in _COMPILED
