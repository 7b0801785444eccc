"""Unique names for tables: of generated instances, of instances in one table, of methods."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.registry.methods import Method, MethodLike, function_name, module_of

MOST_CHARACTERS = 80
"""The parameters take at most this much of a name; what is cut off is replaced by a digest."""
_WORDS = ("True", "False", "None", "nan", "inf")


def labelled(stem: str, parameters: Mapping[str, Any]) -> str:
    """Return a name that carries parameters, as ``reclaiming-servers=64``.

    Different parameters give different names; long ones end in a digest of all parameters.
    """
    text = "".join(f"-{name}={_value(value)}" for name, value in parameters.items())
    if len(text) > MOST_CHARACTERS:
        digest = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:8]
        text = f"{text[: MOST_CHARACTERS - len(digest) - 1]}-{digest}"
    return stem + text


def _value(value: Any) -> str:
    """Return a value's text: 1 and "1" differ, and identifiers have no quotes."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str):
        return value if value.isidentifier() and value not in _WORDS else repr(value)
    return str(value)


def method_labels(methods: Sequence[MethodLike]) -> list[str]:
    """Return the names of methods for a table; different callables get different names."""
    labels = [_name(m) for m in methods]
    for longer in (_full_name, lambda m: f"{_full_name(m)} at {id(m):#x}"):
        known: dict[str, MethodLike] = {}
        shared = set()
        for method, label in zip(methods, labels, strict=True):
            first = known.setdefault(label, method)
            if first is not method and first != method:
                shared.add(label)
        for i, method in enumerate(methods):
            if labels[i] in shared and not isinstance(method, str):
                labels[i] = longer(method)
    return labels


def _name(method: MethodLike) -> str:
    if isinstance(method, str):
        return method
    return method.name if isinstance(method, Method) else function_name(method)


def _full_name(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{module_of(function)}.{name}"


def distinguish(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, where different instances with one name get 8 digits of their digest added.

    The identity of an instance is ``instance_sha256``. If a run failed before the instance existed,
    it is the digest in another row with the same name and ``source``, else the source.
    """
    known = {_place(row): row["instance_sha256"] for row in rows if row.get("instance_sha256")}
    identities = []
    owners: dict[str, set[str]] = {}
    for row in rows:
        identity = row.get("instance_sha256") or known.get(_place(row))
        if not identity:
            source = str(row.get("source")).encode(errors="backslashreplace")
            identity = hashlib.sha256(source).hexdigest()
        identities.append(str(identity))
        owners.setdefault(row["instance"], set()).add(str(identity))
    named = []
    for row, identity in zip(rows, identities, strict=True):
        name = row["instance"]
        shared = len(owners[name]) > 1
        named.append(row | {"instance": f"{name} ({identity[:8]})"} if shared else row)
    return named


def _place(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row["instance"], row.get("source")
